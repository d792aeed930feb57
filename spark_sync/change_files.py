"""The folder `changes` of a snapshot: the access that users gained and lost, a file for each range of revisions."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from grantpath.engine.facts.comparison import ChangedAccess
from grantpath.engine.facts.snapshot_reader import CHANGES
from grantpath.graph.errors import InvalidInput

GAINED, LOST, REBUILT = "gained", "lost", "rebuilt"
NEXT = "changes.next"  # beside the folder: the number of the next file, which is needed if all files were removed
_NAME = re.compile(r"(\d{10})_(\d{12})_(\d{12})\.parquet")
_MADE = b"grantpath.made"  # in the schema's metadata: the creation id of the root
_COLUMNS = ("effect", "user", "name", "type", "object")


@dataclass(frozen=True, order=True)
class ChangeFile:
    """A file of changes: its number, and the first and last revision that it describes."""

    number: int
    first: int
    last: int
    path: Path = field(compare=False)


class ChangeRows:
    """Rows for a file, collected in columns. Each text is stored once."""

    def __init__(self) -> None:
        self._texts: dict[str, int] = {}
        self._code = np.empty(0, np.int32)  # by number of a user: the number of its text; -1 for none
        # (revision, effect, type), and rows (user, name, object, below), which contain the numbers of texts
        self._parts: list[tuple[tuple[int, int, int], npt.NDArray[np.int32]]] = []

    def add(
        self,
        revision: int,
        effect: str,
        users: Iterable[str] = ("",),
        names: Iterable[str] = ("",),
        type_: str = "",
        objects: Iterable[str] = ("",),
        below: Iterable[str] = (),
    ) -> None:
        """Adds a row for each user, each name, and each object. A place in `below` stands for all objects inside it."""
        self._add((revision, effect, type_), [self._of(text) for text in users], names, objects, below)

    def add_found(self, revision: int, found: ChangedAccess, refs: Sequence[str]) -> None:
        """Adds rows for the access that users gain or lose. `refs`: the references of users by number; every call must
        pass the same list."""
        if len(self._code) < len(refs):
            self._code = np.concatenate([self._code, np.full(len(refs) - len(self._code), -1, np.int32)])
        users = np.array(found.users, np.int64)
        for user in users[self._code[users] < 0].tolist():
            self._code[user] = self._of(refs[user])
        same = revision, GAINED if found.gained else LOST, found.type
        self._add(same, self._code[users], found.names, found.objects, found.below)

    def _add(
        self,
        same: tuple[int, str, str],
        users: npt.ArrayLike,
        names: Iterable[str],
        objects: Iterable[str],
        below: Iterable[str],
    ) -> None:
        places = [(self._of(ref), 0) for ref in objects] + [(self._of(ref), 1) for ref in below]
        of, name = np.asarray(users, np.int32), np.array([self._of(text) for text in names], np.int32)
        part = np.empty((4, len(of) * len(name) * len(places)), np.int32)
        part[0] = np.repeat(of, len(name) * len(places))
        part[1] = np.tile(np.repeat(name, len(places)), len(of))
        part[2:] = np.tile(np.array(places, np.int32).reshape(-1, 2).T, len(of) * len(name))
        self._parts.append(((same[0], self._of(same[1]), self._of(same[2])), part))

    def __len__(self) -> int:
        return sum(part.shape[1] for _, part in self._parts)

    def table(self) -> pa.Table:
        """The rows, in the columns of the table `changes`."""
        size = [part.shape[1] for _, part in self._parts]
        same = np.array([same for same, _ in self._parts], np.int64).reshape(-1, 3).T
        effect, type_ = same[1:].astype(np.int32).repeat(size, axis=1)
        found = np.concatenate([np.empty((4, 0), np.int32), *(part for _, part in self._parts)], axis=1)
        texts = pa.array(list(self._texts), pa.string())
        columns = {"revision": pa.array(same[0].repeat(size))}
        for name, numbers in zip(_COLUMNS, (effect, found[0], found[1], type_, found[2]), strict=True):
            columns[name] = pa.DictionaryArray.from_arrays(pa.array(numbers), texts, safe=False)
        return pa.table({**columns, "below": pa.array(found[3] > 0)})

    def _of(self, text: str) -> int:
        return self._texts.setdefault(text, len(self._texts))


def change_files(out: Path) -> list[ChangeFile]:
    """The files of a snapshot, in order. Raises InvalidInput if one is missing between two others."""
    found = [
        ChangeFile(int(name[1]), int(name[2]), int(name[3]), path)
        for path in (out / CHANGES).glob("*.parquet")
        if (name := _NAME.fullmatch(path.name))
    ]
    found.sort()
    if found and found[-1].number - found[0].number + 1 != len(found):
        raise InvalidInput(f"{out / CHANGES}: files are missing; remove only the oldest files")
    return found


def next_number(out: Path) -> int:
    """The number of the next file. No number is used twice, so a stream with a checkpoint skips no file. Raises
    InvalidInput if the number cannot be read, or a file is missing between two others."""
    if files := change_files(out):
        return files[-1].number + 1
    try:
        return int((out / NEXT).read_text())
    except FileNotFoundError:
        return 0
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"{out / NEXT}: not the number of a file ({type(error).__name__}); remove it and the checkpoints of streams"
        ) from None


def made_of(file: ChangeFile) -> str:
    """The creation id of the root that the file is about. Raises InvalidInput if the file does not contain one."""
    try:
        made: bytes = (pq.read_schema(file.path).metadata or {})[_MADE]
        return made.decode()
    except (OSError, pa.ArrowException, KeyError) as error:
        raise InvalidInput(
            f"{file.path}: not a file of changes ({type(error).__name__}); remove the folder to begin again"
        ) from None


def append(out: Path, made: str, number: int, first: int, last: int, rows: ChangeRows) -> ChangeFile:
    """Writes the next file, completely or not at all."""
    folder = out / CHANGES
    folder.mkdir(mode=0o700, exist_ok=True)
    table, fresh = rows.table(), folder / ".new"
    fresh.unlink(missing_ok=True)
    fresh.touch(mode=0o600)
    pq.write_table(table.replace_schema_metadata({_MADE: made.encode()}), fresh, compression="zstd")
    _reserve(out, number)
    path = folder / f"{number:010}_{first:012}_{last:012}.parquet"
    fresh.rename(path)
    return ChangeFile(number, first, last, path)


def _reserve(out: Path, number: int) -> None:
    """Records the number as used. This comes before the file, because a recorded number without a file does no harm."""
    fresh = out / f".{NEXT}.new"
    fresh.unlink(missing_ok=True)
    fresh.touch(mode=0o600)
    fresh.write_text(str(number + 1))
    fresh.replace(out / NEXT)
