"""A snapshot as a GraphFrame: its vertices and edges are the graph's, and motifs, degrees and algorithms work."""

import importlib.util
import logging
import random
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from grantpath.engine import Authorizer
from grantpath.graph.client.connection import Connection
from grantpath.graph.errors import InvalidInput, ServerError
from grantpath.spark_sync import Snapshot
from grantpath.spark_sync.mirroring.mirror import mirror_tenant
from grantpath.spark_sync.session import graph_frame, spark_session

from ..conftest import Tenants
from ..support.random_world import random_world
from ..support.small_estate import facts_of

pytestmark = [
    pytest.mark.spark,
    # GraphFrames 0.8 uses deprecated names of Spark
    *(
        pytest.mark.filterwarnings(f"ignore:{text}:UserWarning")
        for text in ("DataFrame constructor is internal", "DataFrame.sql_ctx is an internal property")
    ),
]
SEED = 8
Rows = set[tuple[Any, ...]]


@dataclass
class Mirrored:
    auth: Authorizer
    out: Path
    spark: SparkSession

    def edges(self, *relationships: str) -> Rows:
        return rows(Snapshot(self.out).graph(self.spark, relationships or None).edges)

    def dumped(self) -> dict[str, Rows]:
        """The edges by relationship, from a dump of the graph and from the references."""
        dump, policy = facts_of(self.auth), self.auth.policy
        kinds = {"role": "HAS_ROLE"}
        held = {(a, b, kinds.get(b.partition(":")[0], "MEMBER_OF"), None, None) for a, b in dump["members"]}
        owned = {(owner, object_, "OWNS", None, None) for object_, owner in dump["owners"]}
        given = {(to, on, effect.upper(), effect.upper(), name) for effect, name, on, to in dump["grants"]}
        chains = [
            [each.text for _, each in policy.chain(policy.reference(ref, self.auth.root), self.auth.root)]
            for (ref,) in rows(Snapshot(self.out).graph(self.spark).vertices.select("id"))
        ]
        inside = {(chain[0], chain[1], "CHILD_OF", None, None) for chain in chains if len(chain) > 1}
        tagged = {(object_, tag, "TAGGED", None, None) for object_, tag in dump["tags"]}
        every = held | owned | tagged | given | inside
        return {kind: {row for row in every if row[2] == kind} for kind in graph_frame.RELATIONSHIPS}


def rows(frame: DataFrame) -> Rows:
    found = [tuple(row) for row in frame.collect()]
    assert len(found) == len(set(found)), "duplicates"
    return set(found)


@pytest.fixture(scope="module")
def mirrored(
    server: Connection, module_tenant: Tenants, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mirrored]:
    auth = module_tenant("lakehouse", random_world("lakehouse", random.Random(SEED), 160), root="main")
    out = tmp_path_factory.mktemp("graph") / "a[b] graph"
    mirror_tenant(server, auth.tenant, out, print)
    yield Mirrored(auth, out, spark_session.engine(print).spark)


def test_vertices_are_the_objects_and_subjects(mirrored: Mirrored) -> None:
    graph = Snapshot(mirrored.out).graph(mirrored.spark)
    assert graph.vertices.columns == ["id", "type", "name", "exists"]
    found = rows(graph.vertices)
    dump = facts_of(mirrored.auth)
    created = {ref for (ref,) in (*dump["objects"], *dump["subjects"])}
    assert created | {mirrored.auth.root.text} <= {ref for ref, _, _, exists in found if exists}
    for ref, type_, name, _ in found:
        parsed = mirrored.auth.policy.reference(ref, mirrored.auth.root)
        assert (parsed.type, parsed.name) == (type_, name), ref


def test_edges_are_those_of_the_graph(mirrored: Mirrored) -> None:
    graph = Snapshot(mirrored.out).graph(mirrored.spark)
    assert graph.edges.columns == ["src", "dst", "relationship", "effect", "privilege"]
    dumped = mirrored.dumped()
    assert all(dumped.values()), "the world has no edge of some relationship"
    found = rows(graph.edges)
    builtin = set(mirrored.auth.policy.builtins)
    extra = found - set().union(*dumped.values())
    assert set().union(*dumped.values()) <= found
    assert {row for row in extra if not {row[0], row[1]} & builtin} == set()


def test_relationships_filter_the_edges(mirrored: Mirrored) -> None:
    every = mirrored.edges()
    for wanted in (("ALLOW",), ("DENY", "OWNS"), ("MEMBER_OF", "CHILD_OF"), ("HAS_ROLE",)):
        assert mirrored.edges(*wanted) == {row for row in every if row[2] in wanted}
    plan = Snapshot(mirrored.out).graph(mirrored.spark, ("CHILD_OF",)).edges.inputFiles()
    assert {Path(each).parent.name for each in plan} == {"objects"}
    source = Snapshot(mirrored.out)
    with pytest.raises(InvalidInput, match="'GRANTS' is not a relationship; the relationships are MEMBER_OF, HAS_ROLE"):
        source.graph(mirrored.spark, ["GRANTS"])
    with pytest.raises(InvalidInput, match="is a string; write a list"):
        source.graph(mirrored.spark, "ALLOW")
    with pytest.raises(InvalidInput, match="name at least one"):
        source.graph(mirrored.spark, [])


def test_motif_finds_what_users_have_by_a_group_or_role(mirrored: Mirrored) -> None:
    graph = Snapshot(mirrored.out).graph(mirrored.spark, ("MEMBER_OF", "HAS_ROLE", "ALLOW"))
    found = graph.find("(u)-[m]->(r); (r)-[g]->(o)").where("m.effect is null and g.effect = 'ALLOW'")
    motifs = rows(found.select("u.id", "r.id", "g.privilege", "o.id"))
    dumped = mirrored.dumped()
    held = dumped["MEMBER_OF"] | dumped["HAS_ROLE"]
    assert motifs == {(u, r, p, o) for u, r, *_ in held for to, o, _, _, p in dumped["ALLOW"] if to == r}
    assert motifs


def test_degrees_count_direct_relationships(mirrored: Mirrored) -> None:
    graph = Snapshot(mirrored.out).graph(mirrored.spark, ("ALLOW", "DENY"))
    dumped = mirrored.dumped()
    given = dumped["ALLOW"] | dumped["DENY"]
    assert rows(graph.outDegrees) == set(Counter(src for src, *_ in given).items())
    assert rows(graph.inDegrees) == set(Counter(dst for _, dst, *_ in given).items())


def test_components_are_the_connected_vertices(mirrored: Mirrored) -> None:
    """Label propagation gives each vertex a label; a component is a set of connected vertices."""
    graph = Snapshot(mirrored.out).graph(mirrored.spark, ("MEMBER_OF", "HAS_ROLE"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = graph.labelPropagation(maxIter=3).select("id", "label").collect()
        components = {
            row.id: row.component
            for row in graph.connectedComponents(algorithm="graphx").select("id", "component").collect()
        }
    assert {row.id for row in labels} == set(components) == {ref for (ref,) in rows(graph.vertices.select("id"))}
    group = {ref: ref for ref in components}
    for src, dst, *_ in rows(graph.edges):
        old, new = group[src], group[dst]
        group = {ref: new if at == old else at for ref, at in group.items()}
    pairs = {(component, group[ref]) for ref, component in components.items()}
    assert len(pairs) == len(set(components.values())) == len(set(group.values()))


def test_session_without_graphframes_is_an_error(mirrored: Mirrored, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "graphframes" else found(name))
    with pytest.raises(ServerError, match=r"GraphFrames is not available in this session of Spark .*; install"):
        Snapshot(mirrored.out).graph(mirrored.spark)


@pytest.mark.slow
def test_rounds_of_the_closure_are_logged(
    mirrored: Mirrored,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    server: Connection,
) -> None:
    caplog.set_level(logging.INFO, logger="grantpath.spark")
    for method, name in (("graphframes", "GraphFrames"), ("joins", "plain DataFrame joins")):
        caplog.clear()
        monkeypatch.setenv("GRANTPATH_CLOSURE", method)
        mirror_tenant(server, mirrored.auth.tenant, tmp_path / method, print)
        texts = [each.getMessage() for each in caplog.records if each.name == "grantpath.spark"]
        assert texts[0].startswith(f"round 1 of the closure by {name}: ")
        pairs = _pairs_of_containers(tmp_path / method)
        assert texts[-2].startswith(f"the closure of groups and roles by {name} has {pairs:,} pairs, in ")
        assert not [text for text in texts if "user:" in text]


def _pairs_of_containers(out: Path) -> int:
    """The number of rows of the closure whose subject has members: a group or a role."""
    source = Snapshot(out)
    members = source.table("members")
    containers = {*members["target"].to_pylist()}
    return sum(each in containers for each in source.table("closure")["subject"].to_pylist())
