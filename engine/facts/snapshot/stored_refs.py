"""The references of a snapshot, kept in Arrow, because a question needs few of them as Python strings."""

from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from grantpath.engine.facts.kernel.intervals import Ints
from grantpath.graph.files.bounded_parquet import codes


class StoredRefs(Sequence[str]):
    """References by position."""

    def __init__(self, column: pa.Array) -> None:
        self._column = column

    @staticmethod
    def of(column: pa.ChunkedArray) -> "StoredRefs | None":
        """The references in a column of strings or of a dictionary; None if one is repeated."""
        if pa.types.is_string(column.type):
            plain = pa.concat_arrays([pa.array([], pa.string()), *column.chunks])
            return StoredRefs(plain) if len(pc.unique(plain)) == len(plain) else None
        number, values = codes(column)
        return StoredRefs(values.take(number)) if len(values) == len(number) else None

    def __len__(self) -> int:
        return len(self._column)

    @overload
    def __getitem__(self, at: int | np.integer[Any]) -> str: ...

    @overload
    def __getitem__(self, at: slice) -> list[str]: ...

    def __getitem__(self, at: int | np.integer[Any] | slice) -> str | list[str]:
        if isinstance(at, slice):
            return list(self)[at]
        return str(self._column[int(at)])

    def __iter__(self) -> Iterator[str]:
        return iter(self._column.to_pylist())

    def __contains__(self, ref: object) -> bool:
        return isinstance(ref, str) and self.find(ref) is not None

    def index(self, ref: str, start: int = 0, stop: int | None = None) -> int:
        at = self.find(ref)
        if at is None or at not in range(len(self))[start:stop]:
            raise ValueError(f"{ref} is not among the references")
        return at

    def __arrow_array__(self, type: pa.DataType | None = None) -> pa.Array:
        """The column itself, for `pa.array`."""
        return self._column if type is None else self._column.cast(type)

    def find(self, ref: str) -> int | None:
        """The position of a reference; None if it has none."""
        at: int = pc.index(self._column, pa.scalar(ref, self._column.type)).as_py()
        return at if at >= 0 else None

    def at(self, positions: Ints) -> list[str]:
        """The references at these positions."""
        found: list[str] = self._column.take(pa.array(positions)).to_pylist()
        return found
