"""Probes of privilege.cypher: it must decide as the oracle, and return the given paths."""

from collections.abc import Iterator
from functools import partial
from itertools import product

from neo4j.graph import Path

from grantpath import cypher
from grantpath.graph.language.statement import Check

from ..agreement.test_privilege_query import ask, readable
from .probe import Probe, always
from .probes_facts import as_name
from .probes_questions import Twin

# of each question the paths: from the subject to the grantee, the grant, from the object up to its place
PATHS = {
    ("user:grouped", "SELECT_TABLE", "table:c.s.t"): [["user:grouped group:in group:out", "ALLOW", "table:c.s.t"]],
    ("user:mixed", "SELECT_TABLE", "table:c.s.t"): [
        ["user:mixed group:mixed group:mixed-out role:staff", "ALLOW", "table:c.s.t"]
    ],
    ("user:denied", "SELECT_TABLE", "table:c.s.t"): [
        ["user:denied group:bad role:banned", "DENY", "table:c.s.t schema:c.s"],
        ["user:denied role:lower role:upper", "ALLOW", "table:c.s.t"],
    ],
    ("user:rooter", "SELECT_TABLE", "table:c.s.t"): [
        ["user:rooter", "ALLOW", "table:c.s.t schema:c.s catalog:c metalake:main"],
        ["user:rooter", "DENY", "table:c.s.t schema:c.s"],
    ],
}


def probes(lakehouse: Twin, cdap: Twin) -> Iterator[Probe]:
    for world in (lakehouse, cdap):
        asked = checks(world)
        wanted = [world.oracle.check(each.subject, each.name, each.object) for each in asked]
        assert any(wanted) and not all(wanted)
        yield Probe(f"privileges, {world.oracle.policy}", "privilege", partial(decided, world, asked), always(wanted))
    for question, paths in PATHS.items():
        yield Probe(f"paths of {question}", "privilege", partial(_paths, lakehouse, *question), always(paths))
    diamond = partial(_paths, lakehouse, "user:diamond", "CREATE_TABLE", "schema:c.s")
    yield Probe("one path of two", "privilege", lambda: len(diamond()), always(1))
    yield Probe("a name has no privilege", "privilege", partial(_as_name, lakehouse), always([True, False]))


def checks(world: Twin) -> list[Check]:
    """Each privilege that the world's facts grant, for the subjects and on the objects of its checks."""
    asked = readable(world.graph.policy)
    granted = {fact.split()[1] for fact in world.small.facts if fact.split()[0] in ("allow", "deny")}
    pairs = dict.fromkeys((check.subject, check.object) for check in world.checks)
    return [
        Check(subject=subject, name=name, object=ref)
        for (subject, ref), (name, type_) in product(pairs, asked)
        if name in granted and type_ == ref.partition(":")[0]
    ]


def decided(world: Twin, asked: list[Check]) -> list[bool]:
    """The decisions of privilege.cypher."""
    parameters = readable(world.graph.policy)
    return [ask(world.graph, parameters, each) for each in asked]


def _as_name(world: Twin) -> list[bool]:
    """The decision for a user, and while the user is only a name."""
    check = Check(subject="user:spared", name="SELECT_TABLE", object="table:c.s.t")
    before = decided(world, [check])
    with as_name(world.graph, check.subject):
        return before + decided(world, [check])


def _paths(world: Twin, subject: str, name: str, ref: str) -> list[list[str]]:
    given = readable(world.graph.policy)[name, ref.partition(":")[0]]
    rows = cypher.load("privilege").run(
        lambda text, asked: world.graph.store.transaction(lambda tx: [row["paths"] for row in tx.run(text, asked)]),
        root=world.graph.tenant,
        subject=subject,
        object=ref,
        **given,
    )
    [ways] = rows
    return sorted(
        [_nodes(membership), granted.relationships[0].type, _nodes(tree)] for membership, granted, tree in ways
    )


def _nodes(path: Path) -> str:
    return " ".join(node["ref"] for node in path.nodes)
