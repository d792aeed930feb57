"""Reads the footers of untrusted Parquet files.

pyarrow ends the process if an entry of a footer contradicts the schema: its methods for these entries do not catch the
exceptions of the C++ library. So the entries are read here, and each number is checked. A footer is a struct of
Thrift's compact protocol.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa

# the numbers of the encodings in Parquet's format
PLAIN, PLAIN_DICTIONARY, RLE, BIT_PACKED, DELTA_LENGTH, DELTA_BYTES, RLE_DICTIONARY = 0, 2, 3, 4, 6, 7, 8
_MAGIC, _TAIL = b"PAR1", 8  # a file ends with the length of the footer, in 4 bytes, and the magic bytes
_READ = 65_536  # most footers are shorter: one request to an object store
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
_NUMBERS = (4, 5, 6)
_LONGEST = 10  # bytes of a number of 64 bits

# of the structs FileMetaData, RowGroup, ColumnChunk and ColumnMetaData
_FILE_ROWS, _FILE_GROUPS = 3, 4
_GROUP_COLUMNS, _GROUP_BYTES, _GROUP_ROWS = 1, 2, 3
_CHUNK_ENTRY = 3
_ENTRY_ENCODINGS, _ENTRY_BYTES = 2, 6


class Chunk(NamedTuple):
    """The part of a column in a row group: the name of the column, its encodings, its bytes before compression."""

    column: str
    encodings: frozenset[int]
    size: int


class Footer(NamedTuple):
    """The number of rows of a file, their bytes before compression, and the parts of its columns."""

    rows: int
    size: int
    chunks: tuple[Chunk, ...]


def read_footer(file: pa.NativeFile, columns: Sequence[str]) -> Footer:
    """The footer of a file with these columns, by its schema. Raises ArrowInvalid if it is damaged, OSError."""
    size = file.size()
    end = file.read_at(min(size, _READ), max(0, size - _READ))
    length = int.from_bytes(end[-_TAIL:-4], "little")
    if end[-4:] != _MAGIC or length > size - _TAIL:
        raise pa.ArrowInvalid("its footer is damaged: it does not end as Parquet does")
    if length > len(end) - _TAIL:
        end = file.read_at(length + _TAIL, size - length - _TAIL)
    try:
        return _footer(_Compact(end[len(end) - length - _TAIL : -_TAIL]).value(_STRUCT), columns)
    except (KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise pa.ArrowInvalid(f"its footer is damaged ({type(error).__name__})") from error


def _footer(file: dict[int, Any], columns: Sequence[str]) -> Footer:
    groups = file[_FILE_GROUPS]
    chunks = [chunk for group in groups for chunk in _chunks(group, columns)]
    rows = sum(_size("rows of a row group", group[_GROUP_ROWS]) for group in groups)
    if rows != file[_FILE_ROWS]:
        raise pa.ArrowInvalid(f"its footer announces {file[_FILE_ROWS]:,} rows, but its row groups have {rows:,}")
    return Footer(rows, sum(_size("bytes of a row group", group[_GROUP_BYTES]) for group in groups), tuple(chunks))


def _chunks(group: dict[int, Any], columns: Sequence[str]) -> list[Chunk]:
    """The parts of the columns in a row group."""
    entries = [chunk[_CHUNK_ENTRY] for chunk in group[_GROUP_COLUMNS]]
    if len(entries) != len(columns):
        raise pa.ArrowInvalid(f"its footer is damaged: a row group has {len(entries)} columns, not {len(columns)}")
    return [
        Chunk(name, frozenset(entry[_ENTRY_ENCODINGS]), _size("bytes of a column", entry[_ENTRY_BYTES]))
        for name, entry in zip(columns, entries, strict=True)
    ]


def _size(what: str, number: int) -> int:
    if number < 0:
        raise pa.ArrowInvalid(f"its footer is damaged: the number of {what} is {number:,}")
    return number


class _Compact:
    """Reads values of Thrift's compact protocol. A struct is a dict by the numbers of its fields."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def value(self, kind: int) -> Any:
        """The next value, of this type. Raises IndexError after the last byte, ArrowInvalid if it is malformed."""
        if kind == _STRUCT:
            return self._struct()
        if kind in _NUMBERS:
            return self._number()
        if kind == _BINARY:
            return self._bytes(self._varint())
        if kind in (_LIST, _SET):
            return self._list()
        if kind == _DOUBLE:
            return self._bytes(8)
        if kind == _BYTE:
            return self._byte()
        if kind == _MAP:
            return self._map()
        raise pa.ArrowInvalid(f"its footer is damaged: a value has the unknown type {kind}")

    def _struct(self) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            step, kind = head >> 4, head & 15
            number = number + step if step else self._number()
            if number in fields:
                raise pa.ArrowInvalid(f"its footer is damaged: a field {number} is duplicated")
            fields[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self.value(kind)
        return fields

    def _list(self) -> list[Any]:
        head = self._byte()
        count, kind = head >> 4, head & 15
        if count == 15:
            count = self._varint()
        if count > len(self._data) - self._at:  # each value takes at least a byte
            raise IndexError
        element = _BYTE if kind in (_TRUE, _FALSE) else kind
        return [self.value(element) for _ in range(count)]

    def _map(self) -> dict[Any, Any]:
        count = self._varint()
        if count > len(self._data) - self._at:
            raise IndexError
        kinds = self._byte() if count else 0
        return {self.value(kinds >> 4): self.value(kinds & 15) for _ in range(count)}

    def _byte(self) -> int:
        found = self._data[self._at]
        self._at += 1
        return found

    def _bytes(self, count: int) -> bytes:
        end = self._at + count
        if end > len(self._data):
            raise IndexError
        found, self._at = self._data[self._at : end], end
        return found

    def _varint(self) -> int:
        found = 0
        for at in range(_LONGEST):
            byte = self._byte()
            found |= (byte & 127) << (7 * at)
            if byte < 128:
                return found
        raise pa.ArrowInvalid("its footer is damaged: a number has too many bytes")

    def _number(self) -> int:
        """A signed number: 0, -1, 1, -2 and so on are stored as 0, 1, 2, 3."""
        found = self._varint()
        return (found >> 1) ^ -(found & 1)
