"""Probes of check and explain: their answers in small worlds must agree with the oracle and the paths."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from grantpath import cypher
from grantpath.engine import Authorizer, Unknown
from grantpath.graph.language.statement import Check, parse_check

from ..conftest import Tenants
from ..oracle import Oracle, OracleError, oracle
from ..support.small_tenants import ROOT_NAME, WORLDS, Small
from .probe import Probe

AROUND: tuple[str, ...] = ("types", "names", "joining", "roles", "places", "below")
INSIDE = "catalog:c <-CHILD_OF- schema:c.s <-CHILD_OF- table:c.s.t"
# check, and the paths that explain it
PATHS = {
    "user:direct can load_table on table:c.s.t": [
        "user:direct -ALLOW SELECT_TABLE-> table:c.s.t",
        f"user:direct -MEMBER_OF-> group:visitors -ALLOW USE_CATALOG-> metalake:main <-CHILD_OF- {INSIDE}",
        f"user:direct -MEMBER_OF-> group:visitors -ALLOW USE_SCHEMA-> {INSIDE}",
    ],
    "user:grouped can SELECT_TABLE on table:c.s.t": [
        "user:grouped -MEMBER_OF-> group:in -MEMBER_OF-> group:out -ALLOW SELECT_TABLE-> table:c.s.t"
    ],
    "user:hatted can SELECT_TABLE on table:c.s.t": [
        "user:hatted -HAS_ROLE-> role:lower -HAS_ROLE-> role:upper -ALLOW SELECT_TABLE-> table:c.s.t"
    ],
    "user:denied cannot SELECT_TABLE on table:c.s.t": [
        "user:denied -MEMBER_OF-> group:bad -HAS_ROLE-> role:banned -DENY SELECT_TABLE-> schema:c.s "
        "<-CHILD_OF- table:c.s.t",
    ],
    "user:boss can drop_table on table:d.s.w": [
        "user:boss -OWNS-> metalake:main <-CHILD_OF- catalog:d <-CHILD_OF- schema:d.s <-CHILD_OF- table:d.s.w"
    ],
}


@dataclass
class Twin:
    """A small world in the oracle and in the graph, next to another one."""

    small: Small
    oracle: Oracle
    graph: Authorizer
    checks: list[Check]

    def is_allowed(self, check: Check) -> bool:
        return self.oracle.check(check.subject, check.name, check.object, check.with_, check.as_role)


def twin(tenants: Tenants, policy: str, given: Small | None = None, root: str = ROOT_NAME) -> Twin:
    """The world of a policy, or the given one."""
    small, world = given or WORLDS[policy], oracle(policy, root)
    wrong = [fact for fact in small.facts if world.given(fact) != "done"]
    assert not wrong, wrong
    tenants(policy, small.neighbour, root)
    graph = tenants(policy, small.facts, root)
    made = Twin(small, world, graph, [])
    for text in small.checks:
        check, allowed = parse_check(text)
        assert made.is_allowed(check) is allowed, f"{policy}: the oracle differs in {text!r}"
        made.checks.append(check)
    return made


def probes(worlds: list[Twin]) -> Iterator[Probe]:
    """The expected answers; the fastest first, the many explanations last."""
    for world in worlds:
        yield checks(world)
        yield from _unknown(world)
        for query in ("check", "who", "which", "explain", "remedy"):
            yield _heeding(world, query)
    for text, paths in PATHS.items():
        yield paths_of(worlds[0], text, paths)
    yield Probe("explain shows one way of several", "explain", lambda: len(_diamond(worlds[0])), lambda: 1)
    yield Probe("remedy knows what is held", "remedy", lambda: _held(worlds[0]), lambda: HELD)
    denied = ("user:denied", "DENY SELECT_TABLE schema")
    yield Probe("explain follows who acts", "explain", lambda: len(_ways(worlds[0], *denied, "role:lower")), lambda: 0)
    yield Probe(
        "explain looks below for what was asked",
        "explain",
        lambda: [len(_ways_below(worlds[0], name)) for name in ("SELECT_TABLE", "MODIFY_TABLE")],
        lambda: [2, 1],
    )
    yield Probe("explain shows nodes", "explain", lambda: _shown(worlds[0]), lambda: SHOWN)
    for world in worlds:
        for check in world.checks:
            yield explanation(world, check)


def checks(world: Twin) -> Probe:
    """The decisions of the world's checks."""
    return Probe(
        f"checks, {world.oracle.policy}",
        "check",
        lambda: [bool(each) for each in world.graph.check_many(world.checks)],
        lambda: [world.is_allowed(check) for check in world.checks],
    )


def _unknown(world: Twin) -> Iterator[Probe]:
    def look(check: Check) -> str:
        try:
            return str(world.graph.check_many([check])[0].allowed)
        except Unknown:
            return "unknown"

    def wanted(check: Check) -> str:
        try:
            return str(world.is_allowed(check))
        except OracleError:
            return "unknown"

    for text in world.small.unknown:
        check, _ = parse_check(text)
        yield Probe(text, "check", partial(look, check), partial(wanted, check))


# ---- half a change -----------------------------------------------------------------------------------------------
def _heeding(world: Twin, query: str) -> Probe:
    check = world.checks[0]
    graph, type_ = world.graph, check.object.partition(":")[0]
    nothing_around: dict[str, Any] = {key: [] for key in AROUND}
    asks = {
        "check": lambda: graph.check_many([check]),
        "who": lambda: list(graph.who(check.name, check.object)),
        "which": lambda: list(graph.which(type_, check.subject, check.name)),
        "explain": lambda: graph.ask("explain", subject=check.subject, role=None, places=[], facts=[], below=[]),
        "remedy": lambda: graph.ask("remedy", subject=check.subject, together=True, **nothing_around),
    }
    return heeding(graph, query, asks[query])


BEGUN = "MATCH (mark:Revision {root: $root}) SET mark.begun = $revision"
SETTLED = "MATCH (mark:Revision {root: $root}) SET mark.revision = $revision, mark.begun = $revision"


def heeding(graph: Authorizer, query: str, ask: Any) -> Probe:
    """Whether a question detects, and therefore repairs, the mark of a writer that died."""
    root = graph.tenant

    def stored() -> int:
        return int(cypher.load("read_marks").run(graph.store.execute, root=root)[0]["revision"])

    def look() -> bool:
        revision = stored()
        graph.store.execute(BEGUN, {"root": root, "revision": revision + 1})
        try:
            ask()
            return stored() == revision + 1
        finally:
            graph.store.execute(SETTLED, {"root": root, "revision": revision + 1})

    return Probe(f"{query} heeds a mark, {graph.policy.name}", query, look, lambda: True)


# ---- explanations ------------------------------------------------------------------------------------------------
def paths_of(world: Twin, text: str, paths: list[str]) -> Probe:
    """The paths of a check."""
    check, allowed = parse_check(text)

    def look() -> tuple[bool, list[str]]:
        told = world.graph.explain(check.subject, check.name, check.object)
        return told.decision.allowed, told.paths

    return Probe(f"explain {text}", "explain", look, lambda: (allowed, sorted(paths)))


def explanation(world: Twin, check: Check) -> Probe:
    """Mutants must explain as the unchanged queries, which test_explain.py and test_remedies.py verify."""

    def look() -> tuple[list[str], list[str]]:
        told = world.graph.explain(check.subject, check.name, check.object, with_=check.with_, as_role=check.as_role)
        return told.paths, told.remedy

    return Probe(f"explain {check}, {world.oracle.policy}", "explain remedy", look, look)


HELD = ["role:lower", "role:banned", "role:upper", "role:wide"]  # directly held roles come first


def _held(world: Twin) -> list[str]:
    around: dict[str, Any] = {key: ["role"] if key == "types" else [] for key in AROUND}
    return list(world.graph.ask("remedy", subject="user:denied", together=True, **around)["held"])


def _ways(world: Twin, subject: str, fact: str, role: str | None = None) -> list[dict[str, Any]]:
    on = "table:c.s.t"
    places = [{"at": ref.partition(":")[0], "ref": ref, "of": on} for ref in (on, "schema:c.s")]
    row = world.graph.ask("explain", subject=subject, role=role, places=places, facts=[fact], below=[])
    return list(row["paths"])


def _ways_below(world: Twin, privilege: str) -> list[dict[str, Any]]:
    below = [{"at": "schema", "ref": "schema:c.s", "types": ["table"], "privileges": [privilege]}]
    return list(world.graph.ask("explain", subject="user:direct", role=None, places=[], facts=[], below=below)["paths"])


def _diamond(world: Twin) -> list[dict[str, Any]]:
    return _ways(world, "user:diamond", "ALLOW CREATE_TABLE schema")


SHOWN = [
    ["user:denied", "group:bad", "role:banned"],
    ["role:banned", "schema:c.s"],
    ["table:c.s.t", "schema:c.s"],
]


def _shown(world: Twin) -> list[list[str]]:
    """The nodes that Browser draws of the one DENY, path by path."""
    (way,) = _ways(world, "user:denied", "DENY SELECT_TABLE schema")
    return [[node["ref"] for node in path.nodes] for path in way["path"] if path]
