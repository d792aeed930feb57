"""Compares the graph with an import that replaces all facts of a root."""

from collections.abc import Collection, Iterator

import numpy as np

from grantpath.engine.change.deltas import Delta
from grantpath.engine.policy.policy import Policy
from grantpath.engine.transfer.delta_of_import import delta_of_import
from grantpath.engine.transfer.import_delta import DeltaBuilder, Marks
from grantpath.engine.transfer.import_plan import ImportDelta, Plan, Removals, table_of
from grantpath.engine.transfer.reference_numbers import ABSENT
from grantpath.engine.transfer.rows import Edges, Links, ResolvedRows
from grantpath.engine.transfer.tables import Ints, Problems
from grantpath.graph.distinct_numbers import distinct
from grantpath.graph.errors import InvalidInput
from grantpath.graph.guard.store import Store


class ReplacingDeltaBuilder(DeltaBuilder):
    """The additions and removals of a replacement: only the root, the built-in subjects and the tables remain.

    A replacement of some tables (`replaced`) keeps the facts of the others. An entity that one of these facts names
    stays, too, with the objects above it: without it, the fact could not stay.
    """

    def __init__(
        self, store: Store, tenant: str, policy: Policy, rows: ResolvedRows, replaced: Collection[str]
    ) -> None:
        self._replaced = replaced
        super().__init__(store, tenant, policy, rows)

    def check(self, problems: Problems) -> None:
        super().check(problems)
        problems.raise_any()
        self._keep_an_owner()

    def _keep_an_owner(self) -> None:
        """Raises InvalidInput if the root has an owner now, and would have none afterwards: a drop of the owner is
        refused, too."""
        root, owns = self.names.root, self._rows.label("OWNS")
        old = self._old_edges(np.empty(0, dtype=np.int64))
        owners = old[(old[:, 1] == root) & (old[:, 2] == owns), 0].tolist()
        after: list[Links | Edges] = [*self._rows.links, self._presets(), self._kept_edges()]
        kept = any(((links.end == root) & (links.label == owns)).any() for links in after)
        if owners and not kept:
            texts = self.names.texts
            raise InvalidInput(
                f"nothing is loaded: {texts[owners[0]]} owns {texts[root]}, and the tables have no owner of it, but "
                "the root must keep an owner; list it in owners"
            )

    def _read_known(self) -> Iterator[tuple[int, int, bool]]:
        self._all: Ints | None = None
        rows = self._ask("load_every_entity", root=self._tenant)
        yield from [(self.names.foreign(row["ref"]), row["node"], row["created"]) for row in rows]

    def _staying(self) -> Marks:
        fixed = {self.names.root, *(self.names.known(ref) for ref in self._policy.builtins)}
        self._fixed: Marks = np.isin(np.arange(len(self.names)), list(fixed))
        self._kept = self._kept_marks()
        return self._fixed | (self._created & self._kept)

    def _kept_marks(self) -> Marks:
        """Marks the entities of the tables that are not replaced, and the entities and names that a kept fact names,
        with what is above them."""
        other = np.array([self._table(type_) not in self._replaced for type_ in self.names.all_types], dtype=np.bool_)
        kept: Marks = self._created & other[self.names.type_codes()]
        edges = self._kept_edges()
        for number in distinct(np.concatenate([edges.start, edges.end])).tolist():
            if not kept[number]:
                kept[self.names.upwards(number)] = True
        return kept

    def _kept_edges(self) -> Edges:
        """The existing edges of the tables that are not replaced."""
        old = self._old_edges(np.empty(0, dtype=np.int64))
        edges = Edges(old[:, 0], old[:, 1], old[:, 2])
        other = np.array([table_of(label) not in ("", *self._replaced) for label in self._rows.labels], dtype=np.bool_)
        edges = edges.only(other[edges.label])
        return edges.only(~self._comes_with_policy(edges))

    def staying(self) -> tuple[str, ...]:
        """The entities that the tables do not list, and that stay because a kept fact names them."""
        mine = np.flatnonzero(self._created & self._kept & ~self._listed & ~self._fixed).tolist()
        names = self.names
        return tuple(sorted(names.texts[at] for at in mine if self._table(names.types[at]) in self._replaced))

    def _wanted_names(self) -> Marks:
        wanted = super()._wanted_names()
        wanted |= self._kept & ~self._existing
        return wanted

    def _climb(self, above: dict[str, set[str]]) -> None:
        presets, texts = self._presets(), self.names.texts
        member = presets.only(presets.label == self._rows.label("MEMBER"))
        for start, end in zip(member.start.tolist(), member.end.tolist(), strict=True):
            above.setdefault(texts[start], set()).add(texts[end])

    def _old_edges(self, starts: Ints) -> Ints:
        """All edges of the root."""
        if self._all is None:
            self._all = super()._old_edges(np.arange(len(self.names), dtype=np.int64))
        return self._all

    def _edges(self, added: Ints) -> tuple[Edges, Removals]:
        edges, former = super()._edges(added)
        old, lost, names = self._old_edges(added), self._lost(added), self._wanted_names()
        stays = self._existing | names
        lost &= stays[old[:, 0]] & stays[old[:, 1]]  # the others are removed with their entities
        nodes = self.node[~stays & (self.node != ABSENT)].tolist()
        demotions = self.node[names & (self.node != ABSENT) & self._created].tolist()
        return edges, Removals(old[lost, 3].tolist(), nodes, demotions, former.replaced)

    def _lost(self, added: Ints) -> Marks:
        """Marks the existing edges that must not exist after the import."""
        listed, old = self._all_edges(added), self._old_edges(added)
        facts = self._facts()  # may add labels, on whose number keys depend
        exact, fact = (self._key(old[:, 0], old[:, 1], label) for label in (old[:, 2], facts[old[:, 2]]))
        said = [each for each in listed if self._says_ends(each)]
        others = [each for each in listed if not self._says_ends(each)]
        kept = np.isin(fact, self._keys(others, facts)) & ~np.isin(fact, self._keys(said, facts))
        lost: Marks = ~kept & ~np.isin(exact, self._keys(said))
        return lost

    def _all_edges(self, added: Ints) -> list[Links | Edges]:
        entities = np.flatnonzero(self._existing)
        return [*super()._all_edges(entities), self._presets(), self._kept_edges()]

    def recorded(self, delta: ImportDelta, every: bool = False) -> Delta:
        old, lost = self._old_edges(delta.created), self._lost(delta.created)
        gone = np.flatnonzero(self._created & ~self._existing)
        removed = (gone, Edges(old[:, 0], old[:, 1], old[:, 2]).only(lost))
        return delta_of_import(
            self._policy, self._rows, (np.concatenate([delta.entities, delta.created]), delta.edges), removed, every
        )

    def plan(self, delta: ImportDelta) -> Plan:
        old, lost = self._old_edges(delta.created), self._lost(delta.created)
        edges = Edges(old[:, 0], old[:, 1], old[:, 2])
        mine = self._created & ~self._fixed
        held = self._listing(np.flatnonzero(mine), edges)
        removed = self._listing(np.flatnonzero(mine & ~self._existing), edges.only(lost))
        counts = held.counts
        # a folder of a root without tags needs no table of them
        expected = [name for name in self._replaced if name != "tags" or counts.get(name)]
        missing = [name for name in expected if self._rows.tables[name].source is None]
        return Plan(super().plan(delta).added, removed, counts, missing)
