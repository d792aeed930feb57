"""Writes the facts that an import adds, in batches: entities, then the edges between them; notes what it removes."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from grantpath.engine.policy.policy import Policy
from grantpath.engine.transfer.batch_writer import BatchWriter
from grantpath.engine.transfer.import_delta import DeltaBuilder
from grantpath.engine.transfer.import_plan import ImportDelta, Removals
from grantpath.engine.transfer.reference_numbers import ABSENT
from grantpath.engine.transfer.rows import Edges, label_parts
from grantpath.engine.transfer.tables import Ints
from grantpath.graph.guard.bulk_write import Bulk
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
        types, levels = self._names.type_codes()[numbers], self._builder.levels(numbers)
        for level, code in dict.fromkeys(zip(levels.tolist(), types.tolist(), strict=True)):
            type_ = self._names.all_types[code]
            same = {"type": type_, "labels": self._policy.labels(type_), "exists": exists}
            for part in _parts(numbers[(types == code) & (levels == level)]):
                writer.put("load_entities", len(part), self._taking(part), **same, **self._entities(part))
            writer.settle()  # the next type, or level of a type in itself, needs the ids of its parents

    def _entities(self, part: Ints) -> dict[str, Any]:
        at, names = part.tolist(), self._names
        above = [names.parents[number] for number in at]
        nodes = self._builder.node[above].tolist()
        return {
            "parents": [None if parent == ABSENT else node for parent, node in zip(above, nodes, strict=True)],
            "refs": [names.texts[number] for number in at],
            "names": [names.names[number] for number in at],
        }

    def _taking(self, part: Ints) -> Callable[[Mapping[str, Any]], None]:
        """A function that takes the database ids of these new entities."""

        def take(row: Mapping[str, Any]) -> None:
            self._builder.node[part[row["entities"]]] = row["nodes"]

        return take

    # ---- edges ---------------------------------------------------------------------------------------------------
    def _write_edges(self, writer: BatchWriter, edges: Edges) -> None:
        words = np.array([label_parts(label)[0] for label in self._labels], dtype=np.str_)
        member = words == "MEMBER"
        chosen = member[edges.label]
        self._write_members(writer, edges.only(chosen))
        self._write_grants(writer, edges.only(~chosen), words)

    def _write_members(self, writer: BatchWriter, edges: Edges) -> None:
        is_role = np.array([self._policy.file.types[type_].kind == "role" for type_ in self._names.all_types])
        to_role = is_role[self._names.type_codes()][edges.end]
        for at in range(0, len(to_role), BATCH):
            part, role = edges.only(slice(at, at + BATCH)), to_role[at : at + BATCH]
            groups, roles = (
                {**self._pairs(some), "labels": some.label.tolist()} for some in (part.only(~role), part.only(role))
            )
            writer.put("load_members", len(role), groups=groups, roles=roles, until=self._until())

    def _write_grants(self, writer: BatchWriter, edges: Edges, words: npt.NDArray[np.str_]) -> None:
        privileges = [label_parts(label)[1] for label in self._labels]
        for at in range(0, len(edges.label), BATCH):
            part = edges.only(slice(at, at + BATCH))
            word = words[part.label]
            allow, deny, owns, tags = (part.only(word == each) for each in ("ALLOW", "DENY", "OWNS", "TAGGED"))
            writer.put(
                "load_grants",
                len(word),
                privileges=privileges,
                until=self._until(),
                allow={**self._pairs(allow), "labels": allow.label.tolist()},
                deny={**self._pairs(deny), "labels": deny.label.tolist()},
                owns=self._pairs(owns),
                tags=self._pairs(tags),
            )

    def _until(self) -> list[str | None]:
        """The end of each label."""
        return [label_parts(label)[2] or None for label in self._labels]

    def _pairs(self, edges: Edges) -> dict[str, list[int]]:
        """The database ids of both ends."""
        node = self._builder.node
        return {"starts": node[edges.start].tolist(), "ends": node[edges.end].tolist()}


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
