"""Ranges of a sorted column, each with about the same number of rows; a task reads the rows of its range."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow.parquet as pq

from grantpath.graph.files.remote_path import AnyPath, arrow_place

_ALL = 2**62  # after all positions


@dataclass(frozen=True)
class EvenRange:
    """The values from `low` to before `high`, whose rows are in the files from the number `first` to before `end`."""

    low: int
    high: int
    first: int
    end: int

    @property
    def files(self) -> slice:
        """The files of the table that contain its rows."""
        return slice(self.first, self.end)


@dataclass(frozen=True)
class _RowGroup:
    low: int
    behind: int
    file: int
    rows: int


def even_ranges(files: Sequence[AnyPath], column: str, most: int) -> list[EvenRange]:
    """At most `most` ranges, in order, that contain all values of the column: integers from 0 on.

    Only the footers of the files are read. The rows of a row group are assumed to be spread evenly over its values.
    """
    groups = sorted(_row_groups(files, column), key=lambda group: group.low)
    total = sum(group.rows for group in groups)
    cuts = list[int]()
    if total:
        before = np.cumsum([0, *(group.rows for group in groups)])
        begins = [*(group.low for group in groups), groups[-1].behind]
        cuts = sorted({int(cut) for cut in np.interp(np.arange(1, most) * total / most, before, begins)} - {0})
    ends = zip([0, *cuts], [*cuts, _ALL], strict=True)
    return [_range(low, high, groups) for low, high in ends]


def _row_groups(files: Sequence[AnyPath], column: str) -> Iterator[_RowGroup]:
    for number, file in enumerate(files):
        place, filesystem = arrow_place(file)
        footer = pq.read_metadata(place, filesystem=filesystem)
        at = footer.schema.names.index(column)
        for group in map(footer.row_group, range(footer.num_row_groups)):
            found = group.column(at).statistics
            low, behind = (found.min, found.max + 1) if found is not None and found.has_min_max else (0, _ALL)
            yield _RowGroup(low, behind, number, group.num_rows)


def _range(low: int, high: int, groups: Sequence[_RowGroup]) -> EvenRange:
    files = [group.file for group in groups if group.rows and group.low < high and low < group.behind]
    return EvenRange(low, high, min(files, default=0), max(files, default=-1) + 1)
