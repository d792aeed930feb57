"""Asks the queries of cypher/questions/, and compares the rows with what follows from the facts of a random world."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from grantpath import cypher
from grantpath.engine import Authorizer

from ..oracle import Oracle
from ..oracle.notation import Ref
from .twin import Twin

Row = Mapping[str, Any]
Case = tuple[dict[str, Any], Collection[tuple[Any, ...]]]  # parameters without the root, and the wanted rows


def rows_of(graph: Authorizer, name: str, **parameters: Any) -> list[Row]:
    """All rows of a question to this root."""
    return list(cypher.load(name).run(graph.store.read, root=graph.tenant, **parameters))


def refs(path: list[Any]) -> list[str]:
    """The references of the nodes of a path."""
    return [str(node["ref"]) for node in path[::2]]


def agree(
    worlds: Iterable[Twin],
    name: str,
    columns: str,
    cases: Callable[[Twin], Iterable[Case]],
    each: Callable[[Twin, Row], bool] = lambda twin, row: True,
) -> None:
    """Every case gives exactly the wanted rows, in these columns, and each row passes a further check.

    Without a row there is one that says why; and the worlds have cases with rows.
    """
    found = 0
    for twin in worlds:
        twin.rng.seed(f"{twin.label} {name}")  # the same cases, regardless of the tests that ran before
        for parameters, wanted in cases(twin):
            rows = rows_of(twin.graph, name, **parameters)
            what = (twin.label, parameters, [row["says"] for row in rows])
            answers = [row for row in rows if row["says"] is None]
            got = sorted((tuple(map(plain, (row[column] for column in columns.split()))) for row in answers), key=repr)
            assert got == sorted((tuple(map(plain, row)) for row in wanted), key=repr), what
            assert len(rows) - len(answers) == (not answers), what
            assert [dict(row) for row in answers if not each(twin, row)] == [], what
            found += len(answers)
    assert found, f"no world has an answer to {name}"


def plain(value: object) -> object:
    """References as text, and lists as tuples."""
    if isinstance(value, Ref):
        return str(value)
    return tuple(map(plain, value)) if isinstance(value, list | tuple) else value


# ---- what follows from the facts -------------------------------------------------------------------------------
def subjects(world: Oracle) -> list[Ref]:
    """All existing users, groups, roles and service principals."""
    kinds = ("user", "group", "role", "service_principal")
    return sorted(each for each in world.existing if each.type in kinds)


def users(world: Oracle) -> list[Ref]:
    """All existing users and service principals."""
    return sorted(each for each in world.existing if each.type in ("user", "service_principal"))


def members(world: Oracle, container: Ref) -> set[Ref]:
    """All that belong to a group or role, directly or through others, without itself."""
    return {each for each in subjects(world) if container in world.reach(each)} - {container}


def steps(world: Oracle, start: Ref, end: Ref) -> int:
    """The number of memberships on the shortest path."""
    near, count = {start}, 0
    while end not in near:
        near |= {each for one in near for each in world.containers.get(one, ())}
        count += 1
    return count


def counting(world: Oracle, privilege: str, on: Ref) -> list[tuple[Ref, Ref]]:
    """Where grants of the privilege count for the object: pairs of it, or what is above it, and that or its tag."""
    types = world.privileges.get(privilege, ())
    above = world.upward(on)
    tagged = [pair for pair in world.tags if pair[0] in above and {each.type for each in pair} <= {*types}]
    return [*((each, each) for each in above), *tagged]


def holds(world: Oracle, subject: Ref, privilege: str, places: Iterable[Ref]) -> bool:
    """By plain grants: an ALLOW on one of the places, and no DENY."""
    reach = world.reach(subject)
    found = {
        effect for effect, name, place, by in world.grants if name == privilege and place in places and by in reach
    }
    return found == {"allow"}


def securable(world: Oracle) -> list[Ref]:
    """Everything in the object tree: the objects, and subjects that can be owned or granted on."""
    granted = {type_ for types in world.privileges.values() for type_ in types}
    others = {"user", "group", "role", "service_principal"} - granted - {*world.ownable}
    return sorted(each for each in world.existing if each.type not in others)


def inside(world: Oracle, place: Ref) -> set[Ref]:
    """The place, and everything that exists below it."""
    return {each for each in securable(world) if place in world.upward(each)}
