"""Probes of the queries of roots, tenant states and mirrors."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from grantpath import cypher
from grantpath.engine import Authorizer
from grantpath.engine.policy import policy
from grantpath.engine.tenants import registry
from grantpath.graph.client.connection import Connection
from grantpath.graph.guard.store import Store
from grantpath.spark_sync.mirroring.graph_reader import read
from grantpath.spark_sync.mirroring.graph_rows import Graph, read_graph

from .probe import Probe, always
from .probes_history import marked
from .probes_questions import Twin, heeding

# that hold grants before they are created
NAMES = {
    "cdap": {"dataset:n.missing", "dataset:half.missing", "kerberos_principal:ghost"},
    "lakehouse": {"user:former"},
}


def probes(kept: Authorizer, twins: list[Twin], server: Connection) -> Iterator[Probe]:
    for twin in twins:
        yield Probe(f"state, {twin.oracle.policy}", "tenant_state", partial(_state, twin), partial(_facts, twin))
        files = "mirror_entities mirror_members mirror_grants mirror_bound"
        yield Probe(f"ranges, {twin.oracle.policy}", files, partial(_ranges, twin), partial(_expected_ranges, twin))
        yield Probe(f"size, {twin.oracle.policy}", "mirror_size", partial(_sizes, twin), partial(_expected_sizes, twin))
        yield Probe(
            f"mirror, {twin.oracle.policy}",
            "mirror_entities mirror_members mirror_grants",
            partial(_mirror, twin, server),
            partial(_facts, twin),
        )
    yield heeding(kept, "tenant_state", lambda: kept.ask("tenant_state"))
    yield heeding(kept, "revision", kept.revision_now)
    yield Probe("the revision", "revision", lambda: kept.revision_now() - marked(kept), always(0))
    yield from _roots(kept, twins)


# ---- facts -------------------------------------------------------------------------------------------------------
def _facts(twin: Twin) -> tuple[list[tuple[str, str, bool, bool]], list[tuple[str, str, str]]]:
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
    return sorted(entities), sorted({*edges, *_presets(twin)})


def _presets(twin: Twin) -> Iterator[tuple[str, str, str]]:
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


def _state(twin: Twin) -> tuple[list[Any], list[Any]]:
    row = twin.graph.ask("tenant_state")
    edges = [(e["source"], " ".join(filter(None, (e["kind"], e["privilege"]))), e["target"]) for e in row["edges"]]
    return sorted((e["ref"], e["type"], e["exists"], e["builtin"]) for e in row["entities"]), sorted(edges)


def _mirror(twin: Twin, server: Connection) -> tuple[list[Any], list[Any]]:
    _, _, graph = read(server, twin.graph.tenant, _say_nothing)
    return _of_graph(graph)


def _of_graph(graph: Graph) -> tuple[list[Any], list[Any]]:
    edges = [*zip(graph.member, graph.kind, graph.member_of, strict=True)]
    edges += zip(graph.principal, graph.fact, graph.object, strict=True)
    return sorted((e.ref, e.type, e.exists, e.builtin) for e in graph.entities), sorted(edges)


RANGE = 4  # entities of a range of a mirror
MANY = 50  # ranges, more than any of these tenants has: a bound that does not rise would give them without end


def _ranges(twin: Twin) -> list[tuple[list[Any], list[Any]]]:
    """The ranges of a mirror, each with its entities and edges."""
    store, tenant, low = twin.graph.store, twin.graph.tenant, ""
    found = []
    while True:
        rows = cypher.load("mirror_bound").run(store.read, root=tenant, low=low, rows=RANGE)
        high = rows[0]["bound"] if len(rows) == 1 else "~"
        found.append(_of_graph(read_graph(store, tenant, low, high)))
        if not rows or len(found) > MANY:
            return found
        low = high


def _expected_ranges(twin: Twin) -> list[tuple[list[Any], list[Any]]]:
    entities, edges = _facts(twin)
    parts = [entities[at : at + RANGE] for at in range(0, len(entities), RANGE)]
    begins = [{ref for ref, *_ in part} for part in parts]
    return [(part, [edge for edge in edges if edge[0] in refs]) for part, refs in zip(parts, begins, strict=True)]


def _sizes(twin: Twin) -> list[Any]:
    load, tenant = cypher.load("mirror_size"), twin.graph.tenant
    return [load.run(twin.graph.store.read, root=tenant, most=most) for most in (10**6, 7)]


def _expected_sizes(twin: Twin) -> list[Any]:
    entities, edges = _facts(twin)
    first = {ref for ref, *_ in entities[:7]}
    some = sum(edge[0] in first for edge in edges)
    return [[{"entities": len(entities), "facts": len(edges)}], [{"entities": min(len(entities), 7), "facts": some}]]


def _say_nothing(_: str) -> None:
    pass


# ---- roots -------------------------------------------------------------------------------------------------------
def _roots(kept: Authorizer, twins: list[Twin]) -> Iterator[Probe]:
    store = kept.store
    for twin in (*(twin.graph for twin in twins), kept):
        known = {
            "policy": twin.policy.name,
            "digest": twin.policy.digest,
            "source": twin.policy.source,
            "writing": None,
        }
        yield Probe("a root's policy", "tenant_policy", partial(registry.find, store, twin.tenant), always(known))
    yield Probe("listed", "list_tenants tenant_sizes", partial(_listed, store), always(LISTED))
    cdap = next(twin for twin in twins if twin.oracle.policy == "cdap").graph
    refs = ["namespace:n", "dataset:n.missing", "namespace:empty", "namespace:none"]
    yield Probe(
        "what exists",
        "entity_exists",
        lambda: [registry.exists(store, cdap.tenant, ref) for ref in refs],
        always([True, False, False, False]),
    )
    yield Probe("names", "similar_names", lambda: [_like(cdap, *like) for like in LIKE], lambda: list(LIKE.values()))


LIKE = {
    ("namespace", "namespace:i", 9): ["namespace:bare", "namespace:half", "namespace:n", "namespace:tall"],
    ("namespace", "namespace:n", 2): ["namespace:half", "namespace:n", "namespace:tall"],
    ("namespace", "namespace:i", 1): ["namespace:half", "namespace:n"],
    ("namespace", "namespace:half", 1): ["namespace:half", "namespace:n"],
    ("dataset", "dataset:n", 9): ["dataset:half.one", "dataset:half.two", "dataset:n.d"],
    ("user", "namespace:", 3): ["user:all", "user:app", "user:byrole"],
}


def _like(graph: Authorizer, type_: str, ref: str, limit: int) -> list[str]:
    parameters = {"root": graph.tenant, "type": type_, "ref": ref, "limit": limit}
    return sorted(graph.store.read(cypher.load("similar_names").text, parameters)[0]["known"])


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
SIZES = {"subjects": 4, "objects": 5, "members": 3, "owners": 1, "grants": 3, "changes": len(SIZED)}
LISTED = [
    ("metalake:listed-a", "lakehouse", len(SIZED), False, SIZES),
    ("metalake:listed-b", "lakehouse", len(SIZED), False, SIZES),
    ("metalake:listed-c", "lakehouse", 1, True, {**dict.fromkeys(SIZES, 0), "changes": 1}),
]


def _listed(store: Store) -> list[tuple[object, ...]]:
    """Two tenants with different names, and a dropped one."""
    model = policy.load("lakehouse")
    names = [name for name, *_ in LISTED]
    try:
        for name in names:
            registry.create(store, name, model, model.root(name))
            Authorizer(store, name, model, model.root(name)).given(SIZED if name != names[-1] else [f"drop {name}"])
        found = [(each.root, each.policy, each.revision, each.dropped, each.sizes) for each in registry.listed(store)]
        return [each for each in found if each[0] in names]
    finally:
        for name in names:
            registry.remove(store, name)
