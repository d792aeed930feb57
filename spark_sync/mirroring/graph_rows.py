"""The rows of the mirror's queries: in this process as columns of references, in Spark's tasks as Arrow batches."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from grantpath.engine.change.ending import end_due
from grantpath.engine.facts.set.graph_ranges import HIGHEST, LOWEST
from grantpath.engine.policy.policy import Policy
from grantpath.engine.tenants.one_revision import GuardedAsk
from grantpath.engine.tenants.tenant_state import Entity
from grantpath.graph.guard.store import Store
from grantpath.graph.guard.transaction import query_by_name
from grantpath.graph.language.reference import parse

# One row is an entity (ref, word: its type, key, exists, builtin), a membership (ref, word: its kind, other) or a fact
# (ref: the principal, word, other: the object). A row of `range` describes how a range was read (exists: whether the
# root and its policy were the wanted ones); see parallel_reader.py.
RAW = pa.schema(
    [
        ("what", pa.string()),
        ("ref", pa.string()),
        ("word", pa.string()),
        ("other", pa.string()),
        ("key", pa.binary()),
        ("exists", pa.bool_()),
        ("builtin", pa.bool_()),
        ("range", pa.int64()),
        ("revision", pa.int64()),
    ]
)
RAW_DDL = (
    "what string, ref string, word string, other string, key binary, exists boolean, builtin boolean, range bigint, "
    "revision bigint"
)


@dataclass(frozen=True)
class Graph:
    """One tenant's graph, or a range of it, as columns of references."""

    entities: list[Entity]
    member: list[str]
    member_of: list[str]
    kind: list[str]  # MEMBER_OF, HAS_ROLE
    principal: list[str]
    fact: list[str]  # `ALLOW SELECT_TABLE`, `OWNS`, `TAGGED` (the principal is the tag), `ALLOW SELECT_TABLE#tag`
    object: list[str]


def guarded_ask(store: Store, root: str) -> GuardedAsk:
    """A function that runs a guarded query about the tenant."""

    def read_guarded(text: str, parameters: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        return [store.read_guarded(text, parameters)]

    store.ends_by(end_due)
    guarded = query_by_name(read_guarded, root)

    def ask(query: str, **parameters: Any) -> Mapping[str, Any]:
        [row] = guarded(query, **parameters)
        return row

    return ask


TagTypes = Mapping[str, list[str]]  # the parameters of mirror_grants.cypher about tags


def tag_types(policy: Policy) -> TagTypes:
    """The types of a policy's tags, and the privileges that hold for what has a tag."""
    return {"tags": [*policy.file.tags], "by_tag": [*policy.names.by_tag]}


def read_graph(store: Store, root: str, tags: TagTypes, low: str = LOWEST, high: str = HIGHEST) -> Graph:
    """The entities whose references are from `low` on and before `high`, and the edges that begin at these entities.

    The root may change meanwhile: compare its revision marks before and after. Raises Unavailable.
    """
    rows = query_by_name(store.read_all, root)  # type: ignore[arg-type]  # rows are streamed, not listed
    graph = Graph([], [], [], [], [], [], [])
    for row in rows("mirror_entities", low=low, high=high):
        graph.entities.extend(Entity(ref, row["type"], row["exists"], row["builtin"]) for ref in row["refs"])
    for row in rows("mirror_members", low=low, high=high):
        graph.member.extend(row["refs"])
        graph.member_of.extend(row["containers"])
        graph.kind.extend([row["kind"]] * len(row["refs"]))
    for row in rows("mirror_grants", low=low, high=high, **tags):
        graph.principal.extend(row["refs"])
        graph.fact.extend([row["fact"]] * len(row["refs"]))
        graph.object.extend(row["objects"])
    return graph


@dataclass(frozen=True)
class TreeKeys:
    """Sort keys of entities: their byte order is the order of the tree.

    A key consists of the segments of a path and their types, each followed by a byte that cannot be part of them. The
    key of an ancestor is a prefix of the key.
    """

    paths: Mapping[tuple[str, int], tuple[str, ...]]  # by type and segments: the types from below the root down to it
    one_segment: frozenset[str]
    root_type: str

    @staticmethod
    def of(policy: Policy) -> "TreeKeys":
        names = policy.names
        paths = {
            (type_, length): names.types_up(type_, length)[-2::-1]
            for type_ in names.types
            for length in names.lengths(type_)
            if type_ != names.root
        }
        return TreeKeys(paths, frozenset(names.one_segment), names.root)

    def key(self, ref: str, type_: str) -> bytes:
        """The key of an entity; empty for the root object. Raises InvalidReference."""
        if type_ == self.root_type:
            return b""
        segments = parse(ref, self.one_segment).segments
        down = self.paths[type_, len(segments)]
        return "".join(f"{name}\0{kind}\0" for name, kind in zip(segments, down, strict=True)).encode()


def raw_batches(graph: Graph, keys: TreeKeys, number: int) -> Iterator[pa.RecordBatch]:
    """The rows of a range of a graph, in the form of RAW. `number` is the number of the range."""
    entities = graph.entities
    if entities:
        yield raw_batch(
            "entity",
            len(entities),
            ref=[each.ref for each in entities],
            word=[each.type for each in entities],
            key=[keys.key(each.ref, each.type) for each in entities],
            exists=[each.exists for each in entities],
            builtin=[each.builtin for each in entities],
            range=[number] * len(entities),
        )
    edges = (
        ("member", graph.member, graph.kind, graph.member_of),
        ("fact", graph.principal, graph.fact, graph.object),
    )
    for what, refs, words, others in edges:
        if refs:
            yield raw_batch(what, len(refs), ref=refs, word=words, other=others, range=[number] * len(refs))


def raw_batch(what: str, rows: int, **columns: list[Any]) -> pa.RecordBatch:
    """Rows of one kind; columns that are not given are empty."""
    arrays = [
        pa.array(columns[field.name], field.type) if field.name in columns else pa.nulls(rows, field.type)
        for field in RAW
    ]
    arrays[0] = pa.array([what] * rows, pa.string())
    return pa.RecordBatch.from_arrays(arrays, schema=RAW)
