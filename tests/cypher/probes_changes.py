"""Probes of the queries that write: changes in new tenants, compared with facts that lead to the same state."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

from grantpath.engine import Authorizer, Invalid, Refused

from ..conftest import Tenants
from ..oracle import Oracle, oracle
from ..support.small_tenants import ROOT_NAME
from ..support.table_files import dump
from .probe import Probe, always
from .probes_marks import BEGUN, answers, marked_as

FILES = "add create_tenant drop grant join leave own revoke preconditions audit_write"


@dataclass(frozen=True)
class Rehearsal:
    """Changes, good and bad ones, and more that come later; what is left of them; which of them change nothing.

    No name occurs in another test: a broken write may reach into other tenants.
    """

    policy: str
    changes: list[str]
    left: list[str]
    then: list[str] = field(default_factory=list)
    idle: list[str] = field(default_factory=list)
    neighbour: list[str] = field(default_factory=list)


OBJECTS = [
    *("add catalog:kc", "add schema:kc.s", "add table:kc.s.t", "add table:kc.s.u", "add catalog:kd"),
    *("add schema:kd.s", "add table:kd.s.t"),
]
SUBJECTS = [
    *("add user:ka", "add user:kb", "add user:kc"),
    *("add group:kg", "add group:kh", "add group:ki", "add role:kr", "add role:kq"),
]
LAKEHOUSE = Rehearsal(
    "lakehouse",
    changes=[
        *OBJECTS,
        *SUBJECTS,
        # joined, joined again, and left: one of two
        *("member user:ka of group:kg", "member user:ka of group:kg", "member group:kg of group:kh"),
        *("member group:kh of group:ki", "member user:kb of group:kg", "member user:kb of role:kr"),
        *("member user:ka of role:kr", "member role:kr of role:kq", "member group:kh of role:kq"),
        *("member user:kc of group:kg", "member user:kc of role:kr"),
        *("remove user:kb from group:kg", "remove user:kb from group:kg", "remove user:kc from role:kr"),
        # one grant of several goes: of two effects, privileges, holders, places
        *(f"{grant} on table:kc.s.t to user:ka" for grant in ("allow SELECT_TABLE", "deny SELECT_TABLE")),
        *(f"{grant} on table:kc.s.t to user:ka" for grant in ("allow MODIFY_TABLE", "deny MODIFY_TABLE")),
        *("allow SELECT_TABLE on table:kc.s.t to user:kb", "allow SELECT_TABLE on table:kc.s.u to user:ka"),
        *("allow SELECT_TABLE on table:kc.s.t to user:ka", "deny SELECT_TABLE on table:kc.s.t to user:ka"),
        "allow USE_SCHEMA on table:kc.s.t to user:ka",
        *(
            "revoke allow SELECT_TABLE on table:kc.s.t from user:ka",
            "revoke deny MODIFY_TABLE on table:kc.s.t from user:ka",
        ),
        "revoke allow SELECT_TABLE on table:kc.s.t from user:ka",
        # owners follow each other; the same again
        *("owner user:ka of catalog:kc", "owner user:kb of catalog:kc", "owner user:kb of catalog:kc"),
        *("owner group:kg of table:kc.s.u", "owner user:ka of schema:kd.s"),
        # a DENY where an ALLOW already exists
        "deny SELECT_TABLE on table:kc.s.u to user:ka",
        # existing entities, and missing ones
        *("add table:kc.s.t", "add table:kc.none.t", "drop table:kc.s.none", "owner user:ka of table:kc.s.none"),
        "drop user:none",
        # dropping an entity drops its subtree, and nothing else
        "drop catalog:kd",
    ],
    then=[
        # cycles with existing memberships: of two groups, of three, of roles, of one
        *("member group:kh of group:kg", "member group:ki of group:kg", "member role:kq of role:kr"),
        *("member group:kg of group:kg", "drop role:kq"),
    ],
    idle=[
        *(
            "member user:ka of group:kg",
            "remove user:kb from group:kg",
            "allow SELECT_TABLE on table:kc.s.t to user:ka",
        ),
        *("deny SELECT_TABLE on table:kc.s.t to user:ka", "revoke allow SELECT_TABLE on table:kc.s.t from user:ka"),
        "owner user:kb of catalog:kc",
    ],
    left=[
        *OBJECTS[:4],
        *SUBJECTS[:-1],
        *("member user:ka of group:kg", "member group:kg of group:kh", "member group:kh of group:ki"),
        *("member user:kb of role:kr", "member user:ka of role:kr", "member user:kc of group:kg"),
        *("deny SELECT_TABLE on table:kc.s.t to user:ka", "allow MODIFY_TABLE on table:kc.s.t to user:ka"),
        *("allow SELECT_TABLE on table:kc.s.t to user:kb", "allow SELECT_TABLE on table:kc.s.u to user:ka"),
        *("owner user:kb of catalog:kc", "owner group:kg of table:kc.s.u"),
        "deny SELECT_TABLE on table:kc.s.u to user:ka",
    ],
    neighbour=[
        *(*OBJECTS, "add table:kc.s.none", *SUBJECTS, "add role:none", "add user:none", "add schema:kc.none"),
        *("member user:kb of group:kg", "member user:kc of role:kr", "owner user:ka of schema:kd.s"),
        *("owner user:kc of catalog:kc", "deny MODIFY_TABLE on table:kc.s.t to user:ka"),
        "allow SELECT_TABLE on table:kc.s.t to user:ka",
        *("member group:kg of group:ki", "member role:kq of role:kr", "member group:ki of role:kr"),
    ],
)
WHOLE = Rehearsal(
    "lakehouse",
    changes=[*OBJECTS, *SUBJECTS, "member user:ka of group:kg", f"drop metalake:{ROOT_NAME}"],
    left=[f"drop metalake:{ROOT_NAME}"],
)
CDAP = Rehearsal(
    "cdap",
    changes=[
        "add user:ka",
        *("allow READ on dataset:kn.d to user:ka", "allow READ on dataset:kn.e to user:ka"),
        *("allow WRITE on dataset:kn.d to user:ka", "allow READ on program:km.a.p to user:ka"),
        "allow READ on application:km.a to user:ka",
        # a name becomes an entity, and keeps its grants
        *("add namespace:kn", "add dataset:kn.d"),
        # the last grant takes the names along that nothing else needs
        *("revoke allow READ on dataset:kn.e from user:ka", "revoke allow READ on dataset:kn.d from user:ka"),
        "revoke allow READ on application:km.a from user:ka",
        *("allow READ on stream:ko.s to user:ka", "revoke allow READ on stream:ko.s from user:ka"),
        *(
            "allow READ on program:kp.a.p to user:ka",
            "add namespace:kp",
            "revoke allow READ on program:kp.a.p from user:ka",
        ),
        *("allow READ on namespace:kq to user:ka", "allow READ on dataset:kq.d to user:ka"),
        "revoke allow READ on dataset:kq.d from user:ka",
        # and so does who holds it
        *("add user:kh", "allow READ on dataset:kr.d to user:kh", "allow READ on stream:ks.s to user:kh"),
        *("allow WRITE on stream:ks.s to user:ka", "drop user:kh"),
    ],
    left=[
        *("add user:ka", "add namespace:kn", "add dataset:kn.d", "allow WRITE on dataset:kn.d to user:ka"),
        *("allow READ on program:km.a.p to user:ka", "add namespace:kp", "allow READ on namespace:kq to user:ka"),
        "allow WRITE on stream:ks.s to user:ka",
    ],
    neighbour=["add namespace:kn", "add namespace:ko", "add user:ka", "allow READ on stream:ko.s to user:ka"],
)
DELTASTREAM = Rehearsal(
    "deltastream",
    changes=[
        *("add user:ka", "add role:kr", "add role:kq", "add role:ks", "add database:kd", "add schema:kd.s"),
        *("member user:ka of role:kr", "owner role:kr of database:kd", "owner role:kq of schema:kd.s"),
        # who owns something stays
        *("drop role:kr", "drop role:ks", "owner role:kq of database:kd", "drop role:kr"),
    ],
    left=[
        *("add user:ka", "add role:kq", "add database:kd", "add schema:kd.s"),
        *("owner role:kq of database:kd", "owner role:kq of schema:kd.s"),
    ],
    neighbour=["add role:ks", "add database:kd", "owner role:ks of database:kd", "add role:kr"],
)
REHEARSALS = [LAKEHOUSE, WHOLE, CDAP, DELTASTREAM]

# ---- batches by an actor, whose rights change on the way -----------------------------------------------------------
BATCH_FACTS = [
    *("add user:kx", "add user:ky", "add role:kr", "add role:kq", "add group:kg", "add catalog:kc"),
    *("member user:kx of group:kg", "member group:kg of role:kr", "member role:kr of role:kq"),
    "allow MANAGE_GRANTS on metalake:main to role:kq",
]
BATCH = [
    "revoke allow MANAGE_GRANTS on metalake:main from role:kq",
    "allow USE_CATALOG on catalog:kc to role:kr",
]


def probes(scratch: Tenants) -> Iterator[Probe]:
    """Tests the outcome of each dry run, and that a batch sees its own removals."""
    for rehearsal in REHEARSALS:
        yield Probe(
            f"changes, {rehearsal.policy}",
            FILES,
            partial(_rehearse, scratch, rehearsal),
            partial(_expected, scratch, rehearsal),
        )
    yield Probe("single changes and their log", "grant join leave revoke", partial(_logged, scratch), always(LOGGED))
    yield Probe("marks", "preconditions", partial(_marks, scratch), always([STANDING, {**STANDING, "made": ""}]))
    yield Probe("the creator's role", "check", partial(_created, scratch), always(["role:kz"]))
    yield Probe("a list of the operator", "drop", partial(_listed, scratch), always(LISTED))
    yield Probe(
        "a batch that takes its own right away", "effective_principals", partial(_refused_at, scratch), always(1)
    )


def _rehearse(scratch: Tenants, rehearsal: Rehearsal) -> tuple[object, ...]:
    neighbour = scratch(rehearsal.policy, rehearsal.neighbour, ROOT_NAME)
    graph = scratch(rehearsal.policy, root=ROOT_NAME)
    problems = [*graph.given(rehearsal.changes), *graph.given(rehearsal.then)]
    outcomes = ["invalid" if problem else "done" for problem in problems]
    said = [(logged.revision, logged.statement, logged.actor) for logged in graph.log(limit=1_000)]
    return outcomes, dump(graph), said, dump(neighbour)


def _expected(scratch: Tenants, rehearsal: Rehearsal) -> tuple[object, ...]:
    """Compares outcomes with the oracle, and the state with that after the facts that lead to it directly."""
    world, straight = oracle(rehearsal.policy, ROOT_NAME), oracle(rehearsal.policy, ROOT_NAME)
    changes = [*rehearsal.changes, *rehearsal.then]
    outcomes = [world.given(change) for change in changes]
    assert {straight.given(fact) for fact in rehearsal.left} <= {"done"}
    assert world.existing == straight.existing, world.existing ^ straight.existing
    assert (world.grants, world.owners) == (straight.grants, straight.owners)
    assert _members(world) == _members(straight)
    made: list[tuple[int, str, None]] = []
    idle = list(rehearsal.idle)
    for change, outcome in zip(changes, outcomes, strict=True):
        again = change in idle and any(change == said for _, said, _ in made)
        if outcome == "done" and not again:
            made.append((len(made) + 1, change, None))
    return (
        outcomes,
        dump(_said(scratch, rehearsal, rehearsal.left)),
        made,
        dump(_said(scratch, rehearsal, rehearsal.neighbour)),
    )


def _members(world: Oracle) -> set[tuple[str, str]]:
    return {(str(member), str(of)) for member, all_of in world.containers.items() for of in all_of}


def _said(scratch: Tenants, rehearsal: Rehearsal, facts: list[str]) -> Authorizer:
    return scratch(rehearsal.policy, facts, ROOT_NAME)


def _logged(scratch: Tenants) -> list[object]:
    """Single changes, whose entry in the log is written together with the change."""
    graph = scratch("lakehouse", ["add user:ka", "add group:kg", "add catalog:kc"], ROOT_NAME)
    for statement in SINGLE:
        graph.change(statement)
    logged = graph.log(after=3)
    said = [(each.revision, each.statement, each.object, each.subject) for each in logged]
    return [*said, bool(graph.verify_log(logged[-1].hash)), len(graph.log(refused=True))]


SINGLE = ["member user:ka of group:kg", "remove user:ka from group:kg"]
SINGLE += ["allow USE_CATALOG on catalog:kc to user:ka", "revoke allow USE_CATALOG on catalog:kc from user:ka"]
NAMED = [("group:kg", "user:ka")] * 2 + [("catalog:kc", "user:ka")] * 2
LOGGED = [*((at, said, *named) for at, said, named in zip(range(4, 8), SINGLE, NAMED, strict=True)), True, 0]


def _marks(scratch: Tenants) -> list[object]:
    """The marks of a root during a commit, and of a root that an older version created."""
    graph, found = scratch("lakehouse", [], ROOT_NAME), list[object]()
    scratch("lakehouse", ["add user:kx"], ROOT_NAME)
    for made in (BEGUN["made"], None):
        with marked_as(graph, {**BEGUN, "made": made}):
            graph.store.execute(LOADING, {"root": graph.tenant, "load": "a load"})
            [row] = answers(graph, "preconditions")
            graph.store.execute(LOADING, {"root": graph.tenant, "load": None})
        found.append({name: row[name] for name in STANDING})
    return found


LOADING = "MATCH (mark:Revision {root: $root}) SET mark.loading = $load"
STANDING = {"revision": 3, "begun": 4, "made": "the making", "loading": "a load", "policy": "the digest"}


def _created(scratch: Tenants) -> list[str]:
    """An object that is created by an inherited privilege of a role belongs to the held role."""
    held = ["add role:kz", "add role:ka", "member role:kz of role:ka", "member user:kx of role:kz"]
    graph = scratch("deltastream", [*held, f"allow CREATE_DATABASE on organization:{ROOT_NAME} to role:ka"], ROOT_NAME)
    graph.change("add database:kd", by="user:kx")
    return [edge["source"] for edge in graph.ask("tenant_state")["edges"] if edge["target"] == "database:kd"]


def _listed(scratch: Tenants) -> tuple[object, ...]:
    """The remains of a dropped user that a list of the operator names."""
    given = ["add role:kr", "member user:ka of role:kr", "member user:ka of role:service_admin", "add user:kb"]
    graph = scratch("lakehouse", [*given, "allow USE_CATALOG on metalake:main to user:ka"], ROOT_NAME)
    graph.change_all(["drop user:ka", "drop user:kb"])
    found = graph.ask("tenant_state")
    return (
        [(each["ref"], each["exists"]) for each in found["entities"] if each["type"] == "user"],
        [(each["source"], each["target"]) for each in found["edges"]],
    )


LISTED = ([("user:ka", False)], [("user:ka", "role:service_admin")])


def _refused_at(scratch: Tenants) -> int | None:
    graph = scratch("lakehouse", BATCH_FACTS, ROOT_NAME)
    scratch("lakehouse", ["add user:kx"], ROOT_NAME)
    try:
        graph.change_all(BATCH, by="user:kx")
    except (Refused, Invalid) as error:
        return error.index
    return None
