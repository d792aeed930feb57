"""Probes of explain.cypher: each kind of path (grants above, grants below, membership only), by acting principal."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from grantpath.engine import Authorizer

from .probe import Probe, always
from .probes_marks import answers
from .probes_questions import Twin

TABLE, SCHEMA = "table:c.s.t", "schema:c.s"
WIDE = 51  # one more than explain shows of one fact
GROUPS = sorted(f"group:k{number}" for number in range(WIDE))


@dataclass(frozen=True)
class Asked:
    """A question about a subject: places with their object, facts, and grants below."""

    subject: str
    facts: list[str] = field(default_factory=list)
    role: str | None = None
    places: list[tuple[str, str]] = field(default_factory=list)
    below: list[tuple[str, str]] = field(default_factory=list)  # a place, and a privilege on tables below it


HELD = ["role:staff", "group:mixed-out", "group:mixed", "user:mixed"]
# each way: fact, members and links from the subject to the holder, edge and place, up, down
WAYS: list[tuple[Asked, list[list[Any]]]] = [
    (
        Asked("user:admin", ["HOLDS =role:service_admin"]),
        [["HOLDS =role:service_admin", ["user:admin", "role:service_admin"], ["HAS_ROLE"], None, None, [], []]],
    ),
    (Asked("user:former", ["HOLDS =role:service_admin"]), []),
    (
        Asked("user:grouped", ["HOLDS group", "HOLDS user"], places=[("group:out", TABLE), ("user:hatted", TABLE)]),
        [["HOLDS group", ["user:grouped", "group:in", "group:out"], ["MEMBER_OF", "MEMBER_OF"], None, None, [], []]],
    ),
    (
        Asked("user:mixed", ["ALLOW SELECT_TABLE table"], "role:staff", [(TABLE, TABLE)]),
        [
            [
                *("ALLOW SELECT_TABLE table", HELD[::-1], ["MEMBER_OF", "MEMBER_OF", "HAS_ROLE"]),
                *("ALLOW SELECT_TABLE", TABLE, [], [TABLE]),
            ]
        ],
    ),
    (
        Asked("user:owner", ["OWNS table"], places=[("table:c.s.u", "table:c.s.u")]),
        [["OWNS table", ["user:owner"], [], "OWNS", "table:c.s.u", [], ["table:c.s.u"]]],
    ),
    # with an active role, the subject's own grants do not count
    (
        Asked(
            "user:hatted",
            ["ALLOW CREATE_TABLE schema", "HOLDS user"],
            "role:lower",
            [(SCHEMA, TABLE), ("user:hatted", "")],
        ),
        [],
    ),
    (
        Asked("user:hatted", below=[("catalog:c", "MODIFY_TABLE")]),
        [
            [
                *("ALLOW MODIFY_TABLE table below catalog", ["user:hatted"], [], "ALLOW MODIFY_TABLE", "table:c.s.u"),
                *(["table:c.s.u", SCHEMA, "catalog:c"], []),
            ]
        ],
    ),
    (Asked("user:hatted", role="role:lower", below=[("catalog:c", "MODIFY_TABLE")]), []),
    (
        Asked("user:hatted", role="role:lower", below=[("catalog:c", "SELECT_TABLE")]),
        [
            [
                *("ALLOW SELECT_TABLE table below catalog", ["user:hatted", "role:lower", "role:upper"]),
                *(["HAS_ROLE", "HAS_ROLE"], "ALLOW SELECT_TABLE", TABLE, [TABLE, SCHEMA, "catalog:c"], []),
            ]
        ],
    ),
]

CATALOG = [("catalog:kc", "catalog:kc")]
# the principals with an edge: at most 50 of each fact, and only those that the subject belongs to count
MANY = [
    (Asked("user:kx", ["ALLOW USE_CATALOG catalog"], places=CATALOG), GROUPS[: WIDE - 1]),
    (Asked("user:ky", ["ALLOW USE_CATALOG catalog"], places=CATALOG), ["group:last"]),
    (Asked("user:ky", below=[("catalog:kc", "SELECT_TABLE")]), ["group:last"]),
    (Asked("user:ky", ["HOLDS group"], places=[(group, "") for group in (*GROUPS, "group:last")]), ["group:last"]),
]


def probes(world: Twin, wide: Authorizer) -> Iterator[Probe]:
    """`world` is the lakehouse; in `wide`, user:kx is in many groups that all have one grant, and user:ky in one."""
    for asked, wanted in WAYS:
        yield Probe(f"ways of {asked}", "explain", partial(_ways, world, asked), always(wanted))
    for asked, principals in MANY:
        yield Probe(f"principals of {asked}", "explain", partial(_principals, wide, asked), always(principals))


def wide_facts() -> list[str]:
    """One user in many groups and one in the last of them, each with the same grant."""
    return [
        *("add user:kx", "add catalog:kc", *(f"member user:kx of {group}" for group in GROUPS)),
        *("add schema:kc.s", "add table:kc.s.t", "member user:ky of group:last"),
        *(f"allow USE_CATALOG on catalog:kc to {group}" for group in (*GROUPS, "group:last")),
        *(f"allow SELECT_TABLE on table:kc.s.t to {group}" for group in (*GROUPS, "group:last")),
    ]


def _parameters(asked: Asked) -> dict[str, Any]:
    return {
        "subject": asked.subject,
        "role": asked.role,
        "facts": asked.facts,
        "places": [{"at": ref.partition(":")[0], "ref": ref, "of": of} for ref, of in asked.places],
        "below": [
            {"at": ref.partition(":")[0], "ref": ref, "types": ["table"], "privileges": [privilege]}
            for ref, privilege in asked.below
        ],
    }


def _ways(world: Twin, asked: Asked) -> list[list[Any]]:
    [row] = answers(world.graph, "explain", **_parameters(asked))
    assert all(way["by"] == way["members"][-1] and None not in way["path"] for way in row["paths"])
    columns = ("fact", "members", "links", "edge", "place", "up", "down")
    return sorted(([way[column] for column in columns] for way in row["paths"]), key=str)


def _principals(graph: Authorizer, asked: Asked) -> list[str]:
    [row] = answers(graph, "explain", **_parameters(asked))
    return sorted(path["by"] for path in row["paths"])
