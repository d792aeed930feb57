"""A Spark task of a mirror: the effective principals of its subjects, from the closure of the groups and roles."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads

from grantpath.engine.facts.kernel.intervals import Ints, ranges
from grantpath.engine.facts.kernel.principals import Closure
from grantpath.engine.facts.snapshot.even_ranges import EvenRange
from grantpath.engine.facts.snapshot.snapshot_reader import TABLES, ints
from grantpath.graph.distinct_numbers import distinct
from grantpath.graph.files.bounded_parquet import Kind, read_bounded
from grantpath.graph.files.remote_path import AnyPath

SCHEMA = "subject long, holder long"
PAIRS = 1_000_000  # of subject and principal, at a time


@dataclass(frozen=True)
class Extension:
    """What a task needs: the files of tables sorted by their first column, and the number of entities.

    `containers(source, target)`: every group and role with those that it is in, itself included.
    """

    containers: tuple[AnyPath, ...]
    subjects: tuple[AnyPath, ...]
    members: tuple[AnyPath, ...]
    entities: int


def extend(
    extension: Extension, parts: Sequence[EvenRange], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Turns numbers of ranges of subjects into their rows of the closure, sorted by subject and holder."""
    closure = _containers(extension)
    for part in (parts[at] for batch in batches for at in batch.column(0).to_pylist()):
        [subjects] = _rows(extension.subjects, TABLES["subjects"], part, "position")
        source, target = _rows(extension.members[part.files], TABLES["members"], part, "source", "target")
        count = closure.offset[target + 1] - closure.offset[target]
        first = np.searchsorted(source, np.append(subjects, part.high))
        load = np.append(0, np.cumsum(count))[first] + np.arange(len(subjects) + 1)
        begin = 0
        while begin < len(subjects):
            end = max(begin + 1, int(np.searchsorted(load, load[begin] + PAIRS, side="right")) - 1)
            some = slice(first[begin], first[end])
            principals = closure.principal[ranges(closure.offset[target[some]], count[some])]
            yield _pairs(extension, subjects[begin:end], np.repeat(source[some], count[some]), principals)
            begin = end


@lru_cache(maxsize=1)
def _containers(extension: Extension) -> Closure:
    whole = EvenRange(0, extension.entities, 0, len(extension.containers))
    source, target = _rows(extension.containers, {"source": "int", "target": "int"}, whole, "source", "target")
    return Closure.of(source, target, extension.entities)


def _rows(files: Sequence[AnyPath], kinds: Mapping[str, Kind], part: EvenRange, *columns: str) -> list[Ints]:
    """These columns, of the rows whose value in the first column is in the range. Raises InvalidInput."""
    if not files:
        return [np.empty(0, np.int64) for _ in columns]
    first = pads.field(columns[0])
    table = read_bounded(files, kinds, columns, (first >= part.low) & (first < part.high))
    return [ints(table, name) for name in columns]


def _pairs(extension: Extension, subjects: Ints, subject: Ints, principal: Ints) -> pa.RecordBatch:
    """The pairs of the subjects with themselves and with these principals, sorted and without repetitions."""
    bits = extension.entities.bit_length()
    packed = distinct((np.append(subjects, subject) << bits) | np.append(subjects, principal))
    return pa.RecordBatch.from_arrays(
        [pa.array(packed >> bits), pa.array(packed & ((1 << bits) - 1))], names=["subject", "holder"]
    )
