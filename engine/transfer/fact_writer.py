"""Writes the facts that an import adds, in batches: entities, then the edges between them; notes what it removes."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from grantpath.engine.policy.policy import Policy
from grantpath.engine.transfer.batch_writer import BatchWriter
from grantpath.engine.transfer.import_delta import DeltaBuilder
from grantpath.engine.transfer.import_plan import ImportDelta, Removals
from grantpath.engine.transfer.rows import ABSENT, Edges
from grantpath.engine.transfer.tables import Ints
from grantpath.graph.bulk_write import Bulk
from grantpath.graph.progress import ReportCount

BATCH = 10_000
FEW = 2_000  # entities that one transaction removes with all their edges


class FactWriter:
    """Writes the additions that `builder` found."""

    def __init__(self, builder: DeltaBuilder, labels: list[str], policy: Policy, progress: ReportCount) -> None:
        """`labels` are those of the edges, by number; `progress` receives ('writing', done, total)."""
        self._builder = builder
        self._names = builder.names
        self._labels = labels
        self._policy = policy
        self._progress = progress
        self._done = 0

    def write(self, bulk: Bulk, delta: ImportDelta) -> None:
        """Writes the additions of `delta`. Raises Inconsistent if another caller undid the load, Unavailable."""
        self._progress("writing", 0, delta.added)

        def written(count: int) -> None:
            self._done += count
            self._progress("writing", self._done, delta.added)

        with BatchWriter(bulk, written) as writer:
            self._write_entities(writer, delta.entities, None)
            self._write_entities(writer, delta.names, False)
            for part in _parts(delta.created):
                writer.put("load_created", len(part), nodes=self._builder.node[part].tolist())
            self._write_edges(writer, delta.edges)

    # ---- entities ------------------------------------------------------------------------------------------------
    def _write_entities(self, writer: BatchWriter, numbers: Ints, exists: bool | None) -> None:
        types = np.array([self._names.types[number] for number in numbers.tolist()], dtype=np.str_)
        for type_ in dict.fromkeys(types.tolist()):
            for part in _parts(numbers[types == type_]):
                rows = [self._entity(number) for number in part.tolist()]
                labels = self._policy.labels(type_)
                writer.put(
                    "load_entities", len(part), self._number, type=type_, labels=labels, exists=exists, rows=rows
                )
            writer.settle()  # the next type needs the ids of its parents

    def _entity(self, number: int) -> list[Any]:
        parent = self._names.parents[number]
        above = int(self._builder.node[parent]) if parent != ABSENT else None
        return [above, self._names.texts[number], self._names.names[number]]

    def _number(self, row: Mapping[str, Any]) -> None:
        """Takes the database ids of new entities."""
        self._builder.node[[self._names.known(ref) for ref in row["refs"]]] = row["nodes"]

    # ---- edges ---------------------------------------------------------------------------------------------------
    def _write_edges(self, writer: BatchWriter, edges: Edges) -> None:
        node, types = self._builder.node, self._policy.file.types
        words = np.array([label.partition(" ")[0] for label in self._labels], dtype=np.str_)
        is_role = np.array([types[type_].kind == "role" for type_ in self._names.types], dtype=np.bool_)
        for part in _parts(np.arange(len(edges.start), dtype=np.int64)):
            pairs = np.stack([node[edges.start[part]], node[edges.end[part]]], axis=1)
            label, role = edges.label[part], is_role[edges.end[part]]
            word = words[label]
            member = word == "MEMBER"
            members = {"groups": pairs[member & ~role].tolist(), "roles": pairs[member & role].tolist()}
            grants = {"owns": pairs[word == "OWNS"].tolist()}
            for effect in ("ALLOW", "DENY"):
                chosen = word == effect
                grants[effect.lower()] = [*map(self._grant, pairs[chosen].tolist(), label[chosen].tolist())]
            for query, lists in (("load_members", members), ("load_grants", grants)):
                if count := sum(map(len, lists.values())):
                    writer.put(query, count, **lists)

    def _grant(self, pair: list[int], label: int) -> list[Any]:
        return [*pair, self._labels[label].partition(" ")[2]]


def note_removals(bulk: Bulk, removals: Removals) -> None:
    """Records what is to be removed at the end of the load. Raises Inconsistent, Unavailable."""
    for at in range(0, len(removals.edges), BATCH):
        bulk.note_removals(removals.edges[at : at + BATCH], [], [])
    for at in range(0, len(removals.demotions), BATCH):
        bulk.note_removals([], [], removals.demotions[at : at + BATCH])
    for at in range(0, len(removals.nodes), FEW):
        bulk.note_removals([], removals.nodes[at : at + FEW], [])


def _parts(numbers: Ints) -> Iterator[Ints]:
    for at in range(0, len(numbers), BATCH):
        yield numbers[at : at + BATCH]
