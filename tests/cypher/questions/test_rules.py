"""Questions about the rule of an operation: why, which DENY, and what a grant would open, as the oracle decides."""

from collections.abc import Iterator, Mapping
from typing import Any

from ...conftest import Tenants
from ...oracle import Oracle
from ...support.catalogue import Case, agree, inside, plain, refs, rows_of, users
from ...support.random_world import Check, random_checks
from ...support.twin import Twin


def plain_checks(twin: Twin, count: int) -> list[Check]:
    """Checks without second objects."""
    return [check for check in random_checks(twin.world, twin.rng, count) if not check[3]]


def elsewhere(says: str | None) -> bool:
    return says is not None and says.startswith("not answered here")


def test_why_a_user_can(worlds: list[Twin]) -> None:
    """There are ways exactly if the answer is yes, and each fact is true."""
    yes = no = 0
    for twin in worlds:
        for subject, name, on, _, _ in plain_checks(twin, 60):
            rows = rows_of(twin.graph, "why_a_user_can", subject=subject, operation=name, object=on)
            what = (twin.label, subject, name, on, [dict(row) for row in rows])
            if elsewhere(rows[0]["says"]):
                continue
            allowed = twin.world.check(subject, name, on)
            assert (rows[0]["way"] is not None) is allowed, what
            assert allowed == (rows[0]["says"] is None), what
            yes, no = yes + allowed, no + (not allowed)
            assert all(_is_true(twin.world, subject, on, row) for row in rows if row["by"]), what
    assert yes > 20
    assert no > 20


def _is_true(world: Oracle, subject: str, asked_on: str, row: Mapping[str, Any]) -> bool:
    """Whether the fact of a row exists, and its paths lead from the subject to the grantee and to the place."""
    by, on = world.resolve(str(row["by"])), world.resolve(str(row["object"]))
    held, granted = map(refs, row["paths"])
    types = {on.type}  # of the places where the fact holds
    match str(row["fact"]).replace("#", " #").split(" "):
        case ["OWNS", type_]:
            there = world.owners.get(on) == by
        case [effect, name, type_]:
            there = (effect.lower(), name, on, by) in world.grants
        case [effect, name, tag_type, type_]:
            there = (effect.lower(), name, on, by) in world.grants and tag_type == f"#{on.type}"
            above = world.upward(world.resolve(asked_on))
            types = {tagged.type for tagged, tag in world.tags if tag == on and tagged in above}
    leads = [held[0], held[-1], *granted] == [subject, str(by), str(by), str(on)]
    return there and leads and type_ in types and by in world.reach(world.resolve(subject))


def test_which_deny_stops_a_user(worlds: list[Twin]) -> None:
    """DENYs are listed exactly if the answer is no, and yes without any; revoking those of one way makes it yes."""
    stopped = 0
    for twin in worlds:
        world = twin.world
        free = world.clone()
        free.grants = {grant for grant in world.grants if grant[0] == "allow"}
        checks = plain_checks(twin, 40)
        denied: list[Check] = [
            (str(user), name, str(on), {}, None)
            for user in users(world)
            for on in sorted({each for grant in world.grants - free.grants for each in inside(world, grant[2])})
            if not world.hidden(on)
            for name, keys in world.names_on(on.type)
            if not keys and not world.check(str(user), name, str(on)) and free.check(str(user), name, str(on))
        ]
        checks += twin.rng.sample(denied, min(len(denied), 30))
        for subject, name, on, _, _ in checks:
            rows = rows_of(twin.graph, "which_deny_stops_a_user", subject=subject, operation=name, object=on)
            what = (twin.label, subject, name, on, [dict(row) for row in rows])
            if elsewhere(rows[0]["says"]):
                continue
            wanted = not world.check(subject, name, on) and free.check(subject, name, on)
            assert (rows[0]["way"] is not None) is wanted, what
            stopped += wanted
            for way in {row["way"] for row in rows if row["way"]}:
                less = world.clone()
                less.grants = world.grants - {
                    ("deny", row["privilege"], world.resolve(row["object"]), world.resolve(row["by"]))
                    for row in rows
                    if row["way"] == way
                }
                assert len(less.grants) < len(world.grants), what
                assert less.check(subject, name, on), what
    assert stopped > 10


def test_what_a_grant_here_would_open(worlds: list[Twin]) -> None:
    """By trying: the operations that the oracle allows after the grant, and not before."""

    def cases(twin: Twin) -> Iterator[Case]:
        world = twin.world
        grantees = [each for each in sorted(world.existing) if each.type == "user" and "user" in world.grantees]
        for _ in range(16 if grantees else 0):
            subject = twin.rng.choice(grantees)
            name = twin.rng.choice(sorted({grant[1] for grant in world.grants}))
            on = twin.rng.choice([each for each in sorted(world.existing) if each.type in world.privileges[name]])
            after = world.clone()
            assert after.given(f"allow {name} on {on} to {subject}") == "done"
            asked = [op for op, keys in world.names_on(on.type) if not keys and op in world.operations]
            yield (
                {"subject": str(subject), "privilege": name, "object": str(on)},
                [
                    (op,)
                    for op in asked
                    if after.check(str(subject), op, str(on)) and not world.check(str(subject), op, str(on))
                ],
            )

    agree(worlds, "what_a_grant_here_would_open", "operation", cases)


def test_operations_that_need_more_than_these_questions_read_are_not_answered(worlds: list[Twin]) -> None:
    twin = next(twin for twin in worlds if twin.world.policy == "lakehouse")
    subject, on = "user:strong", "table:quiet.s.t"
    for query in ("why_a_user_can", "which_deny_stops_a_user"):
        [row] = rows_of(twin.graph, query, subject=subject, operation="associate_tag", object=on)
        assert elsewhere(row["says"]), row
        [row] = rows_of(twin.graph, query, subject=subject, operation="fly", object=on)
        assert plain(row["says"]) == "fly is unknown on a table"


def test_the_root_is_above_a_group_that_is_not_in_the_tree(tenant: Tenants) -> None:
    graph = tenant(
        "gravitino",
        ["add role:helpdesk", "member user:ann of role:helpdesk", "add user:bob", "add group:readers"],
    )
    manages = "allow MANAGE_GROUPS on metalake:ml to role:helpdesk"
    asked = {"subject": "user:ann", "operation": "change_group_members", "object": "group:readers"}
    assert rows_of(graph, "why_a_user_can", **asked)[0]["way"] is None
    graph.change(manages)
    [row] = rows_of(graph, "why_a_user_can", **asked)
    assert (row["fact"], row["by"]) == ("ALLOW MANAGE_GROUPS metalake", "role:helpdesk")
    graph.change(manages.replace("allow", "deny"))
    [row] = rows_of(graph, "which_deny_stops_a_user", **asked)
    assert (row["privilege"], row["by"], row["object"]) == ("MANAGE_GROUPS", "role:helpdesk", "metalake:ml")
