"""A Spark task of a bulk answer: it sweeps over its share of the subjects, and counts their objects.

Each worker reads the snapshot's files itself, once, so that no data that grows with the root passes through the driver.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import pyarrow as pa

from grantpath.engine.facts.kernel.fact_table import FactTable, Prepared
from grantpath.engine.facts.kernel.interval_sets import union
from grantpath.engine.facts.kernel.intervals import ActingPrincipals, Bools, IntervalRows, Ints
from grantpath.engine.facts.snapshot.even_ranges import EvenRange
from grantpath.engine.facts.snapshot.interval_table import keys_of
from grantpath.graph.files.remote_path import AnyPath
from grantpath.spark_sync.bulk.bulk_questions import ALL_USERS, conditions, prepare, users, without_facts
from grantpath.spark_sync.session.snapshot import Snapshot

SCHEMA = "what string, condition int, a long, b long, c long, steps binary"
FACTS = "holder long, key long, start long, last long"
Columns = tuple[Ints, Ints, Ints]
_NOTHING = np.empty(0, np.int64)


@dataclass(frozen=True)
class Sweep:
    """The parameters of the tasks of one pass. `meta` is the snapshot's metadata, by which a worker notices that the
    snapshot was replaced.

    Kinds of rows: reach (a: subject, b: number of objects), interval (a: subject, b to c: positions), step (a: block;
    `steps`: for each target of the block, how many more subjects it has than the previous one, as 64-bit integers; b:
    their sum). `joined`: the facts come with the rows, and no worker reads them all.
    """

    folder: AnyPath
    meta: str
    names: tuple[str, ...] | None
    expand: frozenset[str]
    one_role: bool
    joined: bool
    rows: int  # about the number of rows in one sweep
    block: int  # the number of targets in a block


@dataclass(frozen=True)
class _Work:
    """The prepared data of a pass in a worker."""

    prepared: Prepared
    numbers: Ints  # the number of each condition
    common: Ints  # by condition: the number of objects that every user can use; users with only these get no row
    shared: list[tuple[Ints, Ints]]  # by condition: these objects as half-open intervals of targets
    expanded: Bools  # by condition: whether to write intervals
    users: Bools  # by position: whether the entity is a user that answers can contain


@lru_cache(maxsize=1)
def opened(folder: AnyPath, meta: str) -> Snapshot:
    """The snapshot with this metadata, which a worker reads once."""
    source = Snapshot(folder)
    assert source.meta.model_dump_json() == meta, "the snapshot was replaced"
    return source


@lru_cache(maxsize=1)
def _work(plan: Sweep) -> _Work:
    source = opened(plan.folder, plan.meta)
    listed, questions = conditions(source.policy, plan.names)
    chosen = [at for at, question in enumerate(questions) if question.one_role is plan.one_role]
    none = FactTable(source.numbering, _NOTHING, _NOTHING, _NOTHING, ())
    prepared = prepare(source, [questions[at] for at in chosen], none if plan.joined else None)
    shared = [(_NOTHING, _NOTHING)] * len(chosen) if plan.one_role else without_facts(prepared)
    counts = np.array([int((high - low).sum()) for low, high in shared], np.int64)
    wanted = {each.condition for each in listed if each.name in plan.expand}
    expanded = np.array([at in wanted for at in chosen], np.bool_)
    return _Work(prepared, np.array(chosen), counts, shared, expanded, users(source))


def forget() -> None:
    """Frees the memory that this process keeps for tasks."""
    _work.cache_clear()
    opened.cache_clear()


def fact_rows(plan: Sweep, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Turns rows (holder, effect, privilege, type, start) into the intervals of the facts that the questions need."""
    prepared = _work(plan).prepared
    for batch in batches:
        words = {name: batch.column(name).dictionary_encode() for name in ("effect", "privilege", "type")}
        key, keys = keys_of(pa.table(words))
        holder, start = (batch.column(name).to_numpy().astype(np.int64) for name in ("holder", "start"))
        rows = prepared.granted(FactTable(opened(plan.folder, plan.meta).numbering, holder, key, start, keys))
        columns = [pa.array(getattr(rows, name)) for name in ("owner", "key", "start", "last")]
        yield pa.RecordBatch.from_arrays(columns, ["holder", "key", "start", "last"])


def common(plan: Sweep, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """For one row of input: the access that every user has, as rows of ALL_USERS."""
    for batch in batches:
        if batch.num_rows:
            work = _work(plan)
            for at, (low, high) in enumerate(work.shared):
                if rows := _common_rows(work, at, low, high):
                    yield _batch(rows)


def _common_rows(work: _Work, at: int, low: Ints, high: Ints) -> list[tuple[str, int, Columns]]:
    number, one = int(work.numbers[at]), np.full(1, ALL_USERS)
    rows = [("reach", number, (one, work.common[at : at + 1], np.zeros(1, np.int64)))] if work.common[at] else []
    if work.expanded[at] and len(low):
        targets = work.prepared.asked[at].targets
        ends = np.full(len(low), ALL_USERS), targets[low], targets[high - 1]
        rows.append(("interval", number, ends))
    return rows


def sweep(plan: Sweep, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Turns rows (subject, role, holder), grouped by subject, into rows of SCHEMA.

    With `joined`, each fact of a holder is a row, with the columns key, start and last, which are empty for a holder
    without facts.
    """
    yield from _swept(plan, _whole_subjects(batches, plan.rows))


def sweep_ranges(
    plan: Sweep, parts: Sequence[EvenRange], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Turns numbers of ranges into rows of SCHEMA, for all effective principals of the subjects in these ranges."""
    source = opened(plan.folder, plan.meta)
    chosen = (parts[at] for batch in batches for at in batch.column(0).to_pylist())
    found = (rows for part in chosen for rows in source.closure_rows(part.files, part.low, part.high))
    rows = (pa.record_batch([subject, subject, holder], ["subject", "role", "holder"]) for subject, holder in found)
    yield from _swept(plan, _whole_subjects(rows, plan.rows))


def _swept(plan: Sweep, tables: Iterator[pa.Table]) -> Iterator[pa.RecordBatch]:
    work = _work(plan)
    steps = _Steps(work.prepared)
    for table in tables:
        chosen = table.filter(pa.array(work.users[table["subject"].to_numpy()]))
        for piece, facts in _pieces(work, chosen, plan.joined):
            parts: list[tuple[str, int, Columns]] = []
            for at, answer in enumerate(work.prepared.answers(piece, facts)):
                parts += _count(work, at, piece.subject, answer, plan.one_role, steps)
            if parts:
                yield _batch(parts)
    yield from steps.rows(work.numbers, plan.block)


def _pieces(work: _Work, table: pa.Table, joined: bool) -> Iterator[tuple[ActingPrincipals, IntervalRows | None]]:
    """The rows in parts that fit into one sweep. If `joined`, each part comes with its facts."""
    subject, role, holder = (table[name].to_numpy() for name in ("subject", "role", "holder"))
    row = np.cumsum(_changes(subject, role)) - 1
    if not joined:
        yield from ((piece, None) for piece in _acting(subject, role, holder).pieces(work.prepared.facts))
    elif len(table):
        fresh = _changes(subject, role, holder)
        has = table["key"].is_valid().to_numpy()
        key, start, last = (table[name].filter(pa.array(has)).to_numpy() for name in ("key", "start", "last"))
        yield _acting(subject[fresh], role[fresh], holder[fresh]), IntervalRows(row[has], key, start, last)


def _changes(*columns: Ints) -> Bools:
    """By row: whether it differs from the previous row."""
    fresh = np.ones(len(columns[0]), np.bool_)
    fresh[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return fresh


def _acting(subject: Ints, role: Ints, principal: Ints) -> ActingPrincipals:
    first = np.flatnonzero(_changes(subject, role))
    return ActingPrincipals(subject[first], np.append(first, len(subject)).astype(np.int64), principal)


@dataclass
class _Steps:
    """By condition: the change in the number of allowed subjects at each target."""

    prepared: Prepared
    sums: dict[int, Ints] = field(default_factory=dict)
    waiting: dict[int, list[tuple[Ints, Ints]]] = field(default_factory=dict)  # intervals that are not yet in the sums

    def add(self, at: int, low: Ints, high: Ints) -> None:
        waiting = self.waiting.setdefault(at, [])
        waiting.append((low, high))
        # summing visits all targets, so it is delayed until there are about as many intervals as targets
        if sum(len(each) for each, _ in waiting) > len(self.prepared.asked[at].targets):
            self._sum(at)

    def _sum(self, at: int) -> None:
        low, high = (np.concatenate(ends) for ends in zip(*self.waiting.pop(at), strict=True))
        size = len(self.prepared.asked[at].targets) + 1
        change = np.bincount(low, minlength=size) - np.bincount(high, minlength=size)
        self.sums[at] = self.sums[at] + change if at in self.sums else change

    def rows(self, numbers: Ints, block: int) -> Iterator[pa.RecordBatch]:
        for at in [*self.waiting]:
            self._sum(at)
        for at, sums in self.sums.items():
            targets = len(sums) - 1
            for begin in range(0, targets, block):
                some = sums[begin : min(begin + block, targets)]
                if some.any():
                    columns = np.array([begin // block]), some.sum(keepdims=True), np.zeros(1, np.int64)
                    yield _batch([("step", int(numbers[at]), columns)], [some.tobytes()])


def _count(
    work: _Work, at: int, subjects: Ints, answer: Columns, one_role: bool, steps: _Steps
) -> Iterator[tuple[str, int, Columns]]:
    row, low, high = answer
    if not len(row):
        return
    who = subjects[row]
    if one_role:
        who, low, high = union(who, low, high)
    steps.add(at, low, high)
    first = np.flatnonzero(np.append(True, who[1:] != who[:-1])) if _sorted(who) else None
    if first is None:
        order = np.argsort(who, kind="stable")
        who, low, high = who[order], low[order], high[order]
        first = np.flatnonzero(np.append(True, who[1:] != who[:-1]))
    objects = np.add.reduceat(high - low, first)
    own = objects != work.common[at]
    number = int(work.numbers[at])
    yield "reach", number, (who[first][own], objects[own], np.zeros(int(own.sum()), np.int64))
    if work.expanded[at]:
        mine = np.repeat(own, np.diff(np.append(first, len(who))))
        targets = work.prepared.asked[at].targets
        yield "interval", number, (who[mine], targets[low[mine]], targets[high[mine] - 1])


def _sorted(column: Ints) -> bool:
    return bool((column[1:] >= column[:-1]).all())


def _batch(parts: list[tuple[str, int, Columns]], steps: list[bytes] | None = None) -> pa.RecordBatch:
    lengths = [len(columns[0]) for _, _, columns in parts]
    what = pa.array([what for what, _, _ in parts]).take(pa.array(np.repeat(np.arange(len(parts)), lengths)))
    condition = np.repeat(np.array([number for _, number, _ in parts], np.int32), lengths)
    columns = [np.concatenate([part[at] for _, _, part in parts]).astype(np.int64) for at in range(3)]
    last = pa.nulls(len(what), pa.binary()) if steps is None else pa.array(steps, pa.binary())
    return pa.RecordBatch.from_arrays(
        [what, pa.array(condition), *map(pa.array, columns), last], names=["what", "condition", "a", "b", "c", "steps"]
    )


def _whole_subjects(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """Combines batches into tables of about this many rows. All rows of a subject are in one table."""
    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        waiting.append(batch)
        count += batch.num_rows
        if count >= rows:
            table = pa.Table.from_batches(waiting)
            subject = table["subject"].to_numpy()
            whole = int(np.searchsorted(subject, subject[-1]))
            if whole:
                yield table.slice(0, whole)
            waiting, count = table.slice(whole).to_batches(), table.num_rows - whole
    if count:
        yield pa.Table.from_batches(waiting)
