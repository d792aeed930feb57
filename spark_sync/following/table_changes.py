"""Advances the tables of a mirror to a later revision by the changes that the log describes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from grantpath.engine.facts.kernel.fact_table import FactTable
from grantpath.engine.facts.kernel.intervals import Bools, Ints
from grantpath.engine.facts.set.fact_draft import Contradiction
from grantpath.engine.policy.facts import Fact
from grantpath.engine.policy.policy import Policy
from grantpath.spark_sync.following.changed_closure import changed_closure
from grantpath.spark_sync.following.changed_order import Renumbering, Rows, renumbered
from grantpath.spark_sync.mirroring.changes_meanwhile import ChangesMeanwhile
from grantpath.spark_sync.mirroring.graph_rows import TreeKeys
from grantpath.spark_sync.mirroring.mirror_tables import Members, MirrorTables, are_subjects


@dataclass(frozen=True)
class _Edges:
    """Sorted edges, in columns of positions. `key`: the number of the edge's kind of fact."""

    one: Ints
    key: Ints
    other: Ints

    def without(self, dropped: "_Edges", keys: int, size: int) -> Bools:
        """By edge: whether it is not in `dropped`."""
        chosen: Bools = ~np.isin(self.packed(keys, size), dropped.packed(keys, size))
        return chosen

    def packed(self, keys: int, size: int) -> Ints:
        """Each edge as one number. The order of the numbers is the order of the edges."""
        return (self.one * keys + self.key) * size + self.other

    def take(self, chosen: Bools) -> "_Edges":
        return _Edges(self.one[chosen], self.key[chosen], self.other[chosen])

    def merged(self, more: "_Edges", keys: int, size: int) -> "_Edges":
        """These edges and `more`, sorted together."""
        order = np.argsort(more.packed(keys, size))
        at = np.searchsorted(self.packed(keys, size), more.packed(keys, size)[order])
        pairs = ((self.one, more.one), (self.key, more.key), (self.other, more.other))
        return _Edges(*(np.insert(mine, at, new[order]) for mine, new in pairs))


def advanced_tables(tables: MirrorTables, found: ChangesMeanwhile, policy: Policy) -> MirrorTables:
    """The tables after the changes. Tables that do not change are the same objects as before.

    `found` must contain all changes since the revision of the tables. Raises Contradiction if one of them removes a
    fact that the tables do not have, or adds one that they have.
    """
    former = tables.numbering
    words, ranks = _ranked(tables.facts, {fact for _, fact, _ in found.facts})
    refs = {ref for edge in (*found.members, *found.facts) for ref in (edge[0], edge[2])} | {*found.entities}
    at = _positions(former.refs, refs)
    members = _Edges(tables.members.source, np.zeros(len(tables.members.source), np.int64), tables.members.target)
    facts = _Edges(tables.facts.principal, ranks, tables.facts.place)
    size, count = len(former), max(len(words), 1)

    def edges(chosen: Iterable[tuple[str, int, str]], at: dict[str, int]) -> _Edges:
        rows = [(at[one], key, at[other]) for one, key, other in chosen if one in at and other in at]
        return _Edges(*np.array(rows, np.int64).reshape(-1, 3).T)

    rank = {word: number for number, word in enumerate(words)}
    touched = [(one, 0, other) for one, _, other in found.members]
    touched_facts = [(one, rank[word], other) for one, word, other in found.facts]
    _require_entities(tables, at, {ref: found.before[ref] for ref in found.entities})
    _require_edges(members, touched, [found.before[edge] for edge in found.members], at, 1, size)
    _require_edges(facts, touched_facts, [found.before[edge] for edge in found.facts], at, count, size)
    members = members.take(members.without(edges(touched, at), 1, size)) if touched else members
    facts = facts.take(facts.without(edges(touched_facts, at), count, size)) if touched_facts else facts
    held = [edge for edge, holds in zip(touched, found.members.values(), strict=True) if holds]
    held_facts = [edge for edge, holds in zip(touched_facts, found.facts.values(), strict=True) if holds]
    ends = {ref for edge in (*held, *held_facts) for ref in (edge[0], edge[2])}
    used = np.zeros(size, np.bool_)
    for column in (members.one, members.other, facts.one, facts.other):
        used[column] = True
    moved = renumbered(former, Rows(at, used, ends, found.entities), TreeKeys.of(policy), policy)
    size, place = len(moved.numbering), moved.positions(at)
    members = _mapped(members, moved).merged(edges(held, place), 1, size)
    facts = _mapped(facts, moved).merged(edges(held_facts, place), count, size)
    after = replace(tables, numbering=moved.numbering)
    if touched or moved.order_changed:
        new = Members(members.one, members.other)
        sources = np.array([place[one] for one, _, _ in touched if one in place], np.int64)
        subjects = np.flatnonzero(are_subjects(moved.numbering, policy) & moved.added)
        after = replace(after, members=new, closure=changed_closure(tables.closure, moved, new, sources, subjects))
    if touched_facts or moved.order_changed:
        after = replace(after, facts=_fact_table(moved, words, facts))
    return after


def _require_entities(tables: MirrorTables, at: dict[str, int], before: dict[str, bool]) -> None:
    for ref, was in before.items():
        _require_same(ref, ref in at and bool(tables.numbering.exists[at[ref]]), was)


def _require_edges(
    edges: _Edges,
    chosen: Sequence[tuple[str, int, str]],
    before: Sequence[bool],
    at: dict[str, int],
    keys: int,
    size: int,
) -> None:
    packed = [
        (at[one] * keys + key) * size + at[other] if {one, other} <= at.keys() else -1 for one, key, other in chosen
    ]
    here = np.isin(np.array(packed, np.int64), edges.packed(keys, size)).tolist() if chosen else []
    for (one, _, other), now, was in zip(chosen, here, before, strict=True):
        _require_same(f"{one} to {other}", now, was)


def _require_same(fact: str, here: bool, before: bool) -> None:
    if here != before:
        raise Contradiction(f"{fact}: {'added, but it was there' if here else 'removed, but it was not there'}")


def _mapped(edges: _Edges, moved: Renumbering) -> _Edges:
    return _Edges(moved.of(edges.one), edges.key, moved.of(edges.other))


def _positions(refs: Sequence[str], wanted: Iterable[str]) -> dict[str, int]:
    """The positions of the wanted references that have one."""
    listed = [*wanted]
    found = pc.index_in(pa.array(listed, pa.string()), pa.array(refs, pa.string())).to_pylist()
    return {ref: at for ref, at in zip(listed, found, strict=True) if at is not None}


def _ranked(facts: FactTable, more: Iterable[str]) -> tuple[list[str], Ints]:
    """All words of facts (`ALLOW SELECT_TABLE`, `OWNS`) in the order of the table, and for each row the number of its
    word."""
    words = [" ".join((fact.kind.value, *fact.privileges)) for fact in facts.keys]
    known = sorted({*words, *more})
    rank = {word: number for number, word in enumerate(known)}
    return known, np.array([rank[word] for word in words], np.int64)[facts.key] if words else facts.key


def _fact_table(moved: Renumbering, words: list[str], facts: _Edges) -> FactTable:
    """The facts with the type of the object in their keys."""
    types = moved.numbering.types
    packed = facts.key * len(types) + moved.numbering.type[facts.other]
    found, key = np.unique(packed, return_inverse=True)
    keys = tuple(Fact.parse(f"{words[at // len(types)]} {types[at % len(types)]}") for at in found.tolist())
    return FactTable(moved.numbering, facts.one, key.astype(np.int64), facts.other, keys)
