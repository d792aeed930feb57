"""Compares an import with the graph: which facts are new, and which conflict with existing ones."""

from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from grantpath import cypher
from grantpath.engine.change.change_step import Kept
from grantpath.engine.change.deltas import Delta
from grantpath.engine.policy.policy import Policy
from grantpath.engine.transfer.delta_of_import import delta_of_import
from grantpath.engine.transfer.import_plan import ImportDelta, Plan, PlanListing, Removals
from grantpath.engine.transfer.reference_numbers import ABSENT
from grantpath.engine.transfer.rows import Edges, Links, Listed, ResolvedRows, fact_label, label_parts
from grantpath.engine.transfer.tables import SHOWN, Ints, Problems, Table
from grantpath.graph.distinct_numbers import distinct
from grantpath.graph.errors import InvalidInput
from grantpath.graph.guard.store import Store
from grantpath.graph.guard.transaction import Row
from grantpath.graph.language.near_names import CANDIDATES, nearest

SMALL = 10_000  # a graph with fewer entities is read completely
BATCH = 20_000
Marks = npt.NDArray[np.bool_]


class DeltaBuilder:
    """Computes the additions of an import from the state of the graph. The root's writer lock must be held."""

    def __init__(self, store: Store, tenant: str, policy: Policy, rows: ResolvedRows) -> None:
        self._store = store
        self._tenant = tenant
        self._policy = policy
        self._rows = rows
        self.names = rows.names
        self._owner: dict[int, str] = {}
        self._sorted: dict[str, list[str]] = {}  # by type, the names that exist or are listed
        found = list(self._read_known())  # may add to the names
        count = len(rows.names)
        self.node = np.full(count, ABSENT, dtype=np.int64)  # ids in the database
        self._created: Marks = np.zeros(count, dtype=np.bool_)
        for number, node, created in found:
            self.node[number] = node
            self._created[number] = created
        self._listed: Marks = np.zeros(count, dtype=np.bool_)
        for listed in rows.listed:
            self._listed[listed.refs] = True
        self._existing = self._staying() | self._listed

    # ---- reading -----------------------------------------------------------------------------------------------
    def _ask(self, query: str, **parameters: Any) -> list[Row]:
        loaded = cypher.load(query)
        return self._store.transaction(lambda tx: [dict(record) for record in loaded.run(tx.run, **parameters)])

    def _read_known(self) -> Iterator[tuple[int, int, bool]]:
        """For each entity of the graph that has a number: the number, the database id, and whether it is created."""
        few = [row["ref"] for row in self._ask("load_first_entities", root=self._tenant, limit=SMALL)]
        texts = self.names.texts if len(few) == SMALL else [ref for ref in few if self.names.known(ref) != ABSENT]
        for at in range(0, len(texts), BATCH):
            for row in self._ask("load_existing", root=self._tenant, refs=texts[at : at + BATCH]):
                number = self.names.known(row["ref"])
                if row["owner"] is not None:
                    self._owner[number] = row["owner"]
                yield number, row["node"], row["created"]

    def _staying(self) -> Marks:
        """The entities that exist after the import even if no table lists them."""
        return self._created

    def _old_edges(self, starts: Ints) -> Ints:
        """The existing edges to entities that have a number: start, end, label, the edge's id."""
        nodes = self.node[distinct(starts)]
        nodes = nodes[nodes != ABSENT]
        number = {node: at for at, node in enumerate(self.node.tolist()) if node != ABSENT}
        labels = {label: at for at, label in enumerate(self._rows.labels)}
        found = []
        for at in range(0, len(nodes), BATCH):
            for row in self._ask("load_edges", root=self._tenant, nodes=nodes[at : at + BATCH].tolist()):
                start = number[row["node"]]
                for label, end, edge in zip(row["labels"], row["ends"], row["edges"], strict=True):
                    if end in number:
                        if label not in labels:
                            labels[label] = self._rows.label(label)
                        found.append((start, number[end], labels[label], edge))
        return np.array(found, dtype=np.int64).reshape(-1, 4)

    # ---- problems ------------------------------------------------------------------------------------------------
    def check(self, problems: Problems) -> None:
        """Collects the rows with unknown entities, second owners, or cycles of memberships."""
        for listed in self._rows.listed:
            self._check_parents(listed, problems)
        rows = self._rows
        for links in rows.links:
            self._check_existing(links, links.start, problems, self._on_a_list(links))
            if links is not rows.grants or not self._policy.grants_on_missing:
                self._check_existing(links, links.end, problems)
        self._check_owners(rows.owners, problems)
        self._check_cycles(problems)

    def _check_parents(self, listed: Listed, problems: Problems) -> None:
        above = np.array(self.names.parents, dtype=np.int64)[listed.refs]
        missing = (above != ABSENT) & ~self._existing[above]
        at = dict(zip(listed.rows[missing].tolist(), listed.refs[missing].tolist(), strict=True))
        problems.rows(listed.table, listed.rows[missing], lambda row: self._no_parent(at[row]))

    def _on_a_list(self, links: Links) -> Marks:
        """Marks the rows that add members to a hidden subject. The operator sets its members, which need not exist."""
        return np.isin(links.end, [self.names.known(ref) for ref in self._policy.hidden])

    def _check_existing(self, links: Links, refs: Ints, problems: Problems, apart: Marks | None = None) -> None:
        missing = ~self._existing[refs]
        if apart is not None:
            missing &= ~apart
        at = dict(zip(links.rows[missing].tolist(), refs[missing].tolist(), strict=True))
        problems.rows(links.table, links.rows[missing], lambda row: self._unknown(at[row]))

    def _no_parent(self, number: int) -> str:
        return f"{self.names.texts[number]} has no parent: {self._unknown(self.names.parents[number])}"

    def _unknown(self, number: int) -> str:
        text, type_ = self.names.texts[number], self.names.types[number]
        close = nearest(text, self._like(text, type_))
        return f"{text} does not exist{close}; list it in {self._table(type_)}, or check the name"

    def _table(self, type_: str) -> str:
        """The table that lists the entities of a type."""
        return "objects" if self._policy.file.types[type_].kind == "object" else "subjects"

    def _like(self, text: str, type_: str) -> list[str]:
        """The names of a type that are nearest to `text` in byte order, as similar_names.cypher lists them."""
        if type_ not in self._sorted:
            existing = np.flatnonzero(self._existing).tolist()
            self._sorted[type_] = sorted(self.names.texts[at] for at in existing if self.names.types[at] == type_)
        known = self._sorted[type_]
        at = bisect(known, text)
        return known[max(0, at - CANDIDATES // 2) : at + CANDIDATES // 2]

    def _check_owners(self, owners: Links, problems: Problems) -> None:
        texts = self.names.texts
        first: dict[int, int] = {}
        second: dict[int, str] = {}
        for row, owner, object_ in zip(owners.rows.tolist(), owners.start.tolist(), owners.end.tolist(), strict=True):
            before = self._owner.get(object_)
            if before is not None and before != texts[owner]:
                second[row] = f"{texts[object_]} is already owned by {before}; transfer it with `grantpath change`, or "
                second[row] += "remove the row"
            elif first.setdefault(object_, owner) != owner:
                second[row] = f"{texts[object_]} has two owners, {texts[first[object_]]} and {texts[owner]}; keep one"
        problems.rows(owners.table, np.array(list(second), dtype=np.int64), lambda row: second[row])

    # ---- cycles of memberships ------------------------------------------------------------------------------------
    def _check_cycles(self, problems: Problems) -> None:
        """Collects memberships that, with those in the graph, would make a subject a member of itself."""
        is_member = np.array([label_parts(label)[0] == "MEMBER" for label in self._rows.labels], dtype=np.bool_)
        members = [links.only(is_member[links.label]) for links in self._rows.links]
        above: dict[str, set[str]] = {}
        row_of: dict[tuple[str, str], tuple[Table, int]] = {}
        inner_types = [type_ in self._policy.file.members for type_ in self.names.all_types]
        containers = np.array(inner_types, dtype=np.bool_)[self.names.type_codes()]
        for links in members:
            inner = links.only(containers[links.start])
            for row, start, end in zip(inner.rows.tolist(), inner.start.tolist(), inner.end.tolist(), strict=True):
                member, of = self.names.texts[start], self.names.texts[end]
                above.setdefault(member, set()).add(of)
                row_of.setdefault((member, of), (links.table, row))
        self._climb(above)
        for cycle in _cycles(above, row_of):
            table, row = next(row_of[edge] for edge in pairwise(cycle) if edge in row_of)
            text = f"this row closes a cycle: {' in '.join(cycle)}; remove one of its rows"
            problems.rows(table, np.array([row]), {row: text}.__getitem__)

    def _climb(self, above: dict[str, set[str]]) -> None:
        """Adds the containers that the graph has above the members and containers of the import."""
        seen: set[str] = set()
        waiting = {*above, *(of for all_of in above.values() for of in all_of)}
        while waiting:
            seen |= waiting
            found = set()
            for row in self._ask("load_memberships", root=self._tenant, refs=sorted(waiting)):
                above.setdefault(row["member"], set()).add(row["of"])
                found.add(row["of"])
            waiting = found - seen

    # ---- additions -----------------------------------------------------------------------------------------------
    def delta(self) -> ImportDelta:
        """The additions and removals of the import."""
        new = self._listed & (self.node == ABSENT)
        created = self._listed & (self.node != ABSENT) & ~self._created
        entities = self._top_down(np.flatnonzero(new))
        names = self._top_down(np.flatnonzero(self._wanted_names() & (self.node == ABSENT)))
        edges, removals = self._edges(np.flatnonzero(new | created))
        return ImportDelta(entities, np.flatnonzero(created), names, edges, removals)

    def recorded(self, delta: ImportDelta, every: bool = False) -> Delta:
        """All facts that the import adds and removes, for the log; with `every`, even if they are too many for it."""
        nothing = np.empty(0, dtype=np.int64)
        entities = np.concatenate([delta.entities, delta.created])
        return delta_of_import(
            self._policy, self._rows, (entities, delta.edges), (nothing, delta.removals.replaced), every
        )

    def kept(self, delta: ImportDelta) -> Kept:
        """The grants and memberships that names have already which the import creates."""
        refs = [self.names.texts[at] for at in delta.created.tolist()]
        parts = [
            self._ask("load_kept", root=self._tenant, refs=refs[at : at + BATCH])[0]
            for at in range(0, len(refs), BATCH)
        ]
        return Kept(sum(part["grants"] for part in parts), sum(part["memberships"] for part in parts))

    def staying(self) -> tuple[str, ...]:
        """The entities that a replacement keeps although the tables do not list them; an addition has none."""
        return ()

    def plan(self, delta: ImportDelta) -> Plan:
        """The additions and removals as rows."""
        added = self._listing(np.concatenate([delta.entities, delta.created]), delta.edges)
        nothing = np.empty(0, dtype=np.int64)
        return Plan(added, self._listing(nothing, delta.removals.replaced), {}, [])

    def _listing(self, entities: Ints, edges: Edges) -> PlanListing:
        return PlanListing(self._rows, self._policy, entities, edges.only(~self._comes_with_policy(edges)))

    def _comes_with_policy(self, edges: Edges) -> Marks:
        """Marks the edges that come with the policy."""
        member = edges.label == self._rows.label("MEMBER")
        came: Marks = np.zeros(len(edges.start), dtype=np.bool_)
        for role, type_ in self._held_roles():
            here = np.flatnonzero(member & (edges.end == role))
            came[here] = [self.names.types[at] == type_ for at in edges.start[here].tolist()]
        presets = self._presets()
        return came | np.isin(self._edge_key(edges), self._edge_key(presets))

    def _edge_key(self, edges: Edges) -> Ints:
        return self._key(edges.start, edges.end, edges.label)

    def _presets(self) -> Edges:
        """The edges of the built-in subjects of the policy."""
        found: list[tuple[int, int, int]] = []
        known, label, root = self.names.known, self._rows.label, self.names.root
        for ref, entry in self._policy.builtins.items():
            found += [(known(ref), known(held), label("MEMBER")) for held in entry.holds]
            for name in entry.allow:
                found.append((known(ref), root, label(f"ALLOW {self._policy.names.canonical(name)}")))
            if entry.owns:
                found.append((known(ref), root, label("OWNS")))
        return Edges(*np.array(found, dtype=np.int64).reshape(-1, 3).T)

    def _held_roles(self) -> Iterator[tuple[int, str]]:
        """The roles that every subject of a type holds, each with the type."""
        for ref, entry in self._policy.builtins.items():
            role = self.names.known(ref)
            if role != ABSENT:
                yield from ((role, type_) for type_ in entry.held_by_every)

    def _top_down(self, numbers: Ints) -> Ints:
        """Sorted so that parents come before their contents, and equal types together; otherwise in the given order."""
        return numbers[np.lexsort((self.names.type_codes()[numbers], self.levels(numbers)))]

    def levels(self, numbers: Ints) -> Ints:
        """How deep entities are: a parent has a lower level than its contents."""
        names = self._policy.names
        if not names.vary:
            depth = np.array([len(names.types_up(type_)) for type_ in names.types])
            return depth[self.names.type_codes()[numbers]]
        parents = np.array(self.names.parents, dtype=np.int64)
        levels, above = np.zeros(len(numbers), np.int64), parents[numbers]
        while (some := above != ABSENT).any():
            levels += some
            above = np.where(some, parents[above], ABSENT)
        return levels

    def _wanted_names(self) -> Marks:
        """Marks missing objects of grants, the missing names above them, and missing members of hidden subjects."""
        wanted = np.zeros(len(self.names), dtype=np.bool_)
        members, grants = self._rows.members, self._rows.grants
        named = np.concatenate([grants.end, members.start[self._on_a_list(members)]])
        for number in np.unique(named[~self._existing[named]]).tolist():
            while number != ABSENT and not self._existing[number] and not wanted[number]:
                wanted[number] = True
                number = self.names.parents[number]
        return wanted

    def _edges(self, added: Ints) -> tuple[Edges, Removals]:
        """The edges of the import without the existing ones, and the removals."""
        listed = self._all_edges(added)
        old = self._old_edges(np.concatenate([links.start for links in listed]))
        columns = (np.concatenate([getattr(links, one) for links in listed]) for one in ("start", "end", "label"))
        facts = self._facts()  # may add labels, on whose number keys depend
        silent = self._facts_without_ends(listed, facts)
        keys = distinct(self._key(*columns))
        keys = keys[~np.isin(keys, self._key(old[:, 0], old[:, 1], old[:, 2]))]
        width, labels = len(self.names), len(self._rows.labels)
        edges = Edges(keys // labels // width, keys // labels % width, keys % labels)
        there = self._key(old[:, 0], old[:, 1], facts[old[:, 2]])
        named = self._key(edges.start, edges.end, facts[edges.label])
        edges = edges.only(~(np.isin(named, silent) & np.isin(named, there)))
        replaced = np.isin(there, self._key(edges.start, edges.end, facts[edges.label]))
        former = Edges(old[:, 0], old[:, 1], old[:, 2]).only(replaced)
        return edges, Removals(old[replaced, 3].tolist(), [], [], former)

    def _facts(self) -> Ints:
        """By label: the number of the label without its end. A new edge with such a label is the fact of an existing
        one with another end."""
        return np.array([self._rows.label(fact_label(text)) for text in [*self._rows.labels]] or [0], dtype=np.int64)

    def _facts_without_ends(self, listed: Sequence[Links | Edges], facts: Ints) -> Ints:
        """The keys of the facts whose ends the import leaves alone: only tables name them in which no row has one."""
        silent = [each for each in listed if not self._says_ends(each)]
        said = [each for each in listed if self._says_ends(each)]
        return np.setdiff1d(self._keys(silent, facts), self._keys(said, facts))

    def _keys(self, listed: Iterable[Links | Edges], facts: Ints | None = None) -> Ints:
        """The keys of edges, or with `facts` those of their facts without ends."""
        keys = [self._key(each.start, each.end, each.label if facts is None else facts[each.label]) for each in listed]
        return np.concatenate([*keys, np.empty(0, dtype=np.int64)])

    def _says_ends(self, listed: Links | Edges) -> bool:
        """Whether these are rows that say of each of their facts whether it ends."""
        return isinstance(listed, Links) and (self._rows.of_dump or listed.table.name in self._rows.ending)

    def ends(self, delta: ImportDelta) -> Iterator[str]:
        """The different ends of the facts that the import adds."""
        ends = (label_parts(self._rows.labels[label])[2] for label in distinct(delta.edges.label).tolist())
        return (end for end in ends if end)

    def _all_edges(self, added: Ints) -> list[Links | Edges]:
        """Every edge that must exist after the import: those of the rows, and the roles that come with a type."""
        return [*self._rows.links, *self._held_from_the_start(added)]

    def _key(self, start: Ints, end: Ints, label: Ints) -> Ints:
        names, labels = len(self.names), len(self._rows.labels)
        if names * names * labels >= 2**63:  # the numbers would not fit, and would name other edges
            raise InvalidInput(
                f"the load has {names:,} names, and {labels:,} different privileges and ends; load it in parts"
            )
        return (start * names + end) * labels + label

    def _held_from_the_start(self, added: Ints) -> Iterator[Edges]:
        for role, type_ in self._held_roles():
            members = [at for at in added.tolist() if self.names.types[at] == type_ and at != role]
            start = np.array(members, dtype=np.int64)
            yield Edges(start, np.full_like(start, role), np.full_like(start, self._rows.label("MEMBER")))


def _cycles(above: dict[str, set[str]], row_of: Mapping[tuple[str, str], object]) -> Iterator[list[str]]:
    """Finds cycles, each a list in which every subject is in the next one. Removes an edge of each to find the next."""
    shown = 0
    while shown < SHOWN:
        try:
            TopologicalSorter(above).prepare()
            return
        except CycleError as error:
            cycle: Sequence[str] = error.args[1]
        cycle = list(cycle)[::-1]
        new = next((edge for edge in pairwise(cycle) if edge in row_of), None)
        left, gone = new or (cycle[0], cycle[1])  # a cycle without new edges was in the graph before
        above[left].discard(gone)
        if new:
            shown += 1
            yield cycle
