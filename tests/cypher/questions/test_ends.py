"""The question about facts that end: the rows are the statements with an end, in their order."""

import random

from ...conftest import Tenants
from ...support.catalogue import rows_of
from .test_unknown_names import COMPANY

MANY = 40


def test_what_ends(tenant: Tenants) -> None:
    rng = random.Random(7)
    ends = [f"2100-01-{day:02}T00:00:00Z" for day in range(1, 29)]
    graph, other = tenant("lakehouse", COMPANY), tenant("lakehouse", COMPANY)
    wanted: list[tuple[str, str, str | None, str, str]] = []
    for number in range(MANY):
        user, end = f"user:u{number}", rng.choice(ends)
        facts: list[tuple[str, str | None, str, str]] = [
            ("MEMBER", None, "group:readers", f"member {user} of group:readers"),
            ("MEMBER", None, "role:analyst", f"member {user} of role:analyst"),
            (
                "ALLOW",
                "SELECT_TABLE",
                "table:hr.public.staff",
                f"allow SELECT_TABLE on table:hr.public.staff to {user}",
            ),
            ("DENY", "USE_SCHEMA", "schema:hr.public", f"deny USE_SCHEMA on schema:hr.public to {user}"),
        ]
        fact, privilege, object_, statement = facts[number % len(facts)]
        graph.change_all([f"add {user}", f"{statement} until {end}"])
        wanted.append((end, fact, privilege, user, object_))
    other.change("member user:bob of role:analyst until 2100-01-01T00:00:00Z")
    graph.change("member user:bob of role:analyst")  # does not end
    wanted.sort(key=lambda each: (each[0], each[3], each[4]))
    columns = ("until", "fact", "privilege", "subject", "object")
    for limit in (MANY + 1, MANY, 7):
        rows = rows_of(graph, "what_ends", limit=limit)
        assert [tuple(row[column] for column in columns) for row in rows] == wanted[:limit]
        assert [[row["path"][0]["ref"], row["path"][2]["ref"]] for row in rows] == [
            [each[3], each[4]] for each in wanted[:limit]
        ]
    assert [each.subject for each in graph.ending()] == [each[3] for each in wanted]


def test_nothing_ends(tenant: Tenants) -> None:
    graph = tenant("lakehouse", COMPANY)
    [row] = rows_of(graph, "what_ends", limit=10)
    says = f"no grant and no membership ends in {graph.tenant}"
    assert (row["says"], row["until"], row["due"]) == (says, None, False)


def test_grant_is_not_implied_by_one_that_ends_earlier(tenant: Tenants) -> None:
    graph = tenant("lakehouse", COMPANY)
    narrow = "allow SELECT_TABLE on table:hr.public.staff to role:analyst"
    wide = "allow SELECT_TABLE on catalog:hr to role:analyst"
    early, late = "2100-01-01T00:00:00Z", "2100-01-02T00:00:00Z"
    for narrow_end, wide_end, implied in (
        (None, None, True),
        (None, late, False),
        (early, None, True),
        (early, early, True),
        (early, late, True),
        (late, early, False),
    ):
        for statement, end in ((narrow, narrow_end), (wide, wide_end)):
            graph.change(statement if end is None else f"{statement} until {end}")
        rows = [row for row in rows_of(graph, "grants_implied_by_another") if row["says"] is None]
        found = [(row["object"], row["granted_on"]) for row in rows]
        assert found == [("table:hr.public.staff", "catalog:hr")] * implied
