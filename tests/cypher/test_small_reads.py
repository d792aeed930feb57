"""What queries that only read return in small worlds: the rows of the oracle's facts, and rows that are listed here."""

from collections.abc import Iterator
from typing import Any

import pytest

from grantpath import cypher
from grantpath.engine import Authorizer
from grantpath.engine.policy import policy
from grantpath.engine.tenants import registry
from grantpath.graph.client.connection import Connection
from grantpath.graph.guard.store import Store
from grantpath.spark_sync.mirroring.graph_rows import Graph, read_graph, tag_types
from grantpath.spark_sync.mirroring.mirror import read

from ..conftest import Tenants
from ..support.small_tenants import WORLDS
from .probes_marks import BEGUN, WANTED, answers, marked_as
from .probes_questions import Twin, heeding, twin

pytestmark = pytest.mark.slow

# that hold grants before they are created
NAMES = {
    "cdap": {"dataset:n.missing", "dataset:half.missing", "kerberos_principal:ghost"},
    "lakehouse": {"user:former"},
}


@pytest.fixture(scope="module")
def twins(module_tenant: Tenants) -> dict[str, Twin]:
    return {name: twin(module_tenant, name) for name in WORLDS}


# ---- facts -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", WORLDS)
def test_states_mirrors_and_their_ranges_have_the_facts_of_the_oracle(
    twins: dict[str, Twin], server: Connection, name: str
) -> None:
    world = twins[name]
    entities, edges = facts_of(world)
    assert state_of(world) == (entities, edges)
    assert rows_of(read(server, world.graph.tenant, lambda line: None)[2]) == (entities, edges)
    assert list(ranges_of(world)) == expected_ranges(entities, edges)
    first = {ref for ref, *_ in entities[:7]}
    some = sum(edge[0] in first for edge in edges)
    load = cypher.load("mirror_size")
    for most, size in (10**6, (len(entities), len(edges))), (7, (min(len(entities), 7), some)):
        rows = load.run(world.graph.store.read, root=world.graph.tenant, most=most)
        assert [(row["entities"], row["facts"]) for row in rows] == [size]


def facts_of(twin: Twin) -> tuple[list[tuple[str, str, bool, bool]], list[tuple[str, str, str]]]:
    """From the oracle: entities with type, whether they exist and are built in; edges."""
    world, builtins = twin.oracle, twin.graph.policy.builtins
    refs = {str(ref): True for ref in world.existing} | dict.fromkeys(NAMES.get(world.policy, ()), False)
    entities = [(ref, ref.partition(":")[0], there, ref in builtins) for ref, there in refs.items()]
    edges = [
        (str(member), "HAS_ROLE" if of.type == "role" else "MEMBER_OF", str(of))
        for member, all_of in world.containers.items()
        for of in all_of
    ]
    edges += [(str(owner), "OWNS", str(owned)) for owned, owner in world.owners.items()]
    edges += [(str(holder), f"{effect.upper()} {privilege}", str(at)) for effect, privilege, at, holder in world.grants]
    return sorted(entities), sorted({*edges, *presets(twin)})


def presets(twin: Twin) -> Iterator[tuple[str, str, str]]:
    """The edges of the policy's file."""
    root = str(twin.oracle.root)
    for ref, entry in twin.graph.policy.builtins.items():
        yield from ((ref, "HAS_ROLE", held) for held in entry.holds)
        yield from ((ref, f"ALLOW {privilege}", root) for privilege in entry.allow)
        if entry.owns:
            yield ref, "OWNS", root
        for holder in twin.oracle.existing:
            if holder.type in entry.held_by_every and str(holder) != ref:
                yield str(holder), "HAS_ROLE", ref


def state_of(twin: Twin) -> tuple[list[Any], list[Any]]:
    row = twin.graph.ask("tenant_state")
    edges = [(e["source"], " ".join(filter(None, (e["kind"], e["privilege"]))), e["target"]) for e in row["edges"]]
    return sorted((e["ref"], e["type"], e["exists"], e["builtin"]) for e in row["entities"]), sorted(edges)


def rows_of(graph: Graph) -> tuple[list[Any], list[Any]]:
    edges = [*zip(graph.member, graph.kind, graph.member_of, strict=True)]
    edges += zip(graph.principal, graph.fact, graph.object, strict=True)
    return sorted((e.ref, e.type, e.exists, e.builtin) for e in graph.entities), sorted(edges)


RANGE = 4  # entities of a range of a mirror
MANY = 50  # ranges, more than any of these tenants has: a bound that does not rise would give them without end


def ranges_of(twin: Twin) -> Iterator[tuple[list[Any], list[Any]]]:
    """The ranges of a mirror, each with its entities and edges."""
    store, tenant, low = twin.graph.store, twin.graph.tenant, ""
    for _ in range(MANY):
        rows = cypher.load("mirror_bound").run(store.read, root=tenant, low=low, rows=RANGE)
        assert len(rows) < 2
        high = rows[0]["bound"] if rows else "~"
        yield rows_of(read_graph(store, tenant, tag_types(twin.graph.policy), low, high))
        if not rows:
            return
        low = high


def expected_ranges(entities: list[Any], edges: list[Any]) -> list[tuple[list[Any], list[Any]]]:
    parts = [entities[at : at + RANGE] for at in range(0, len(entities), RANGE)]
    begins = [{ref for ref, *_ in part} for part in parts]
    return [(part, [edge for edge in edges if edge[0] in refs]) for part, refs in zip(parts, begins, strict=True)]


# by subject, its effective principals: through groups; by two ways; in another tenant only; a name; nothing
PRINCIPALS = {
    "user:grouped": ["group:in", "group:out", "user:grouped"],
    "user:diamond": ["group:left", "group:right", "group:top", "user:diamond"],
    "user:stranger": ["user:stranger"],
    "user:former": ["role:service_admin", "user:former"],
    "user:elsewhere": [],
}


@pytest.mark.parametrize("subject", PRINCIPALS)
def test_effective_principals_are_found_through_all_groups_and_roles(twins: dict[str, Twin], subject: str) -> None:
    [row] = answers(twins["lakehouse"].graph, "effective_principals", subjects=[subject])
    assert sorted(row["held"]) == PRINCIPALS[subject]


def test_owned_objects_are_those_of_the_subject_in_byte_order(twins: dict[str, Twin]) -> None:
    world, graph = twins["lakehouse"].oracle, twins["lakehouse"].graph
    owners = {str(owner) for owner in world.owners.values()}
    for subject in (*owners, "user:stranger", "user:elsewhere"):
        [row] = answers(graph, "owned_objects", subject=subject)
        assert row["owned"] == sorted(str(owned) for owned, owner in world.owners.items() if str(owner) == subject)
    assert len(owners) > 1


# ---- marks -------------------------------------------------------------------------------------------------------
MARKED = ("delta_part", "log", "log_deltas", "refusals", "revision", "tenant_state")


@pytest.mark.parametrize("query", MARKED)
def test_marks_are_returned_unchanged(twins: dict[str, Twin], query: str) -> None:
    graph = twins["lakehouse"].graph
    with marked_as(graph, BEGUN):
        [row] = answers(graph, query)
    columns = WANTED.keys() & {*row}
    assert columns >= {"revision", "begun", "revision_after", "begun_after"}
    assert {column: row[column] for column in columns} == {column: WANTED[column] for column in columns}


def test_reads_repair_the_mark_of_a_writer_that_died(twins: dict[str, Twin]) -> None:
    graph = twins["lakehouse"].graph
    reads = {
        "log": graph.log,
        "refusals": lambda: graph.log(refused=True),
        "revision": graph.revision_now,
        "tenant_state": lambda: graph.ask("tenant_state"),
    }
    assert {query: heeding(graph, query, ask).fails() for query, ask in reads.items()} == dict.fromkeys(reads)


LAST = "MATCH (change:Change {root: $root}) WITH change ORDER BY change.revision DESC LIMIT 1 "
REMOVE_HASH = LAST + "WITH change, change.hash AS hash REMOVE change.hash RETURN hash"
SET_HASH = LAST + "SET change.hash = $hash"


def test_end_of_a_chain_is_its_newest_hash(twins: dict[str, Twin]) -> None:
    """Also while the newest entry has none, and of a root of an older version, whose chain has the name of the root."""
    graph = twins["lakehouse"].graph
    with marked_as(graph, BEGUN):
        [row] = answers(graph, "log_tail")
        [removed] = graph.store.execute(REMOVE_HASH, {"root": graph.tenant})
        try:
            [older] = answers(graph, "log_tail")
        finally:
            graph.store.execute(SET_HASH, {"root": graph.tenant, "hash": removed["hash"]})
    with marked_as(graph, {**BEGUN, "made": None}):
        [unmade] = answers(graph, "log_tail")
    assert (row["unchained"], row["head"]) == (None, removed["hash"])
    assert older["head"] not in (None, row["head"])
    assert unmade["chain"] == f"{graph.tenant} "


# ---- roots -------------------------------------------------------------------------------------------------------
def test_roots_are_found_with_their_policies(twins: dict[str, Twin], store: Store) -> None:
    for graph in (world.graph for world in twins.values()):
        model = graph.policy
        known = {"policy": model.name, "digest": model.digest, "source": model.source, "writing": None}
        assert registry.find(store, graph.tenant) == known
        assert graph.revision_now() == cypher.load("read_marks").run(store.execute, root=graph.tenant)[0]["revision"]


def test_names_are_not_entities(twins: dict[str, Twin]) -> None:
    graph = twins["cdap"].graph
    refs = ["namespace:n", "dataset:n.missing", "namespace:empty", "namespace:none"]
    assert [registry.exists(graph.store.read, graph.tenant, ref) for ref in refs] == [True, False, False, False]
    assert answers(graph, "entity_exists", ref="namespace:n") == [{"ref": "namespace:n"}]


LIKE = {
    ("namespace", "namespace:i", 9): ["namespace:bare", "namespace:half", "namespace:n", "namespace:tall"],
    ("namespace", "namespace:n", 2): ["namespace:half", "namespace:n", "namespace:tall"],
    ("namespace", "namespace:i", 1): ["namespace:half", "namespace:n"],
    ("namespace", "namespace:half", 1): ["namespace:half", "namespace:n"],
    ("dataset", "dataset:n", 9): ["dataset:half.one", "dataset:half.two", "dataset:n.d"],
    ("user", "namespace:", 3): ["user:all", "user:app", "user:byrole"],
}


@pytest.mark.parametrize(("type_", "ref", "limit"), LIKE)
def test_similar_names_are_the_next_ones_of_their_type(
    twins: dict[str, Twin], type_: str, ref: str, limit: int
) -> None:
    [row] = answers(twins["cdap"].graph, "similar_names", type=type_, ref=ref, limit=limit)
    assert sorted(row["known"]) == LIKE[type_, ref, limit]


SIZED = [
    *(
        "add user:kx",
        "add group:kg",
        "add role:kr",
        "add catalog:kc",
        "add schema:kc.s",
        "add catalog:kd",
        "add tag:kt",
    ),
    *("member user:kx of group:kg", "member user:kx of role:kr", "member group:kg of role:kr"),
    *("owner user:kx of catalog:kc", "allow USE_CATALOG on catalog:kc to role:kr"),
    *("deny USE_CATALOG on catalog:kc to user:kx", "deny USE_CATALOG on catalog:kd to user:kx"),
]
SIZES = {"subjects": 4, "objects": 5, "members": 3, "owners": 1, "tags": 0, "grants": 3, "changes": len(SIZED)}
LISTED = [
    ("metalake:listed-a", "lakehouse", len(SIZED), False, SIZES),
    ("metalake:listed-b", "lakehouse", len(SIZED), False, SIZES),
    ("metalake:listed-c", "lakehouse", 1, True, {**dict.fromkeys(SIZES, 0), "changes": 1}),
]


def test_roots_are_listed_with_their_sizes(store: Store) -> None:
    """Two tenants with different names, and a dropped one."""
    model = policy.load("lakehouse")
    names = [name for name, *_ in LISTED]
    try:
        for name in names:
            registry.create(store, name, model, model.root(name))
            Authorizer(store, name, model, model.root(name)).given(SIZED if name != names[-1] else [f"drop {name}"])
        found = [(each.root, each.policy, each.revision, each.dropped, each.sizes) for each in registry.listed(store)]
        assert [each for each in found if each[0] in names] == LISTED
    finally:
        for name in names:
            registry.remove(store, name)


def test_root_that_is_being_changed_is_listed_at_its_last_revision(twins: dict[str, Twin]) -> None:
    graph = twins["cdap"].graph
    with marked_as(graph, BEGUN):
        rows = answers(graph, "list_tenants")
    assert [row["revision"] for row in rows if row["root"] == graph.tenant] == [BEGUN["revision"]]
