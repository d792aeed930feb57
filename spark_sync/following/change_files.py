"""The folder `changes` of a snapshot: the access that users gained and lost, a file for each range of revisions."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from grantpath.engine.facts.compare.comparison import ChangedAccess
from grantpath.engine.facts.snapshot.snapshot_reader import CHANGES
from grantpath.graph.errors import InvalidInput
from grantpath.graph.files.parquet_writer import write_file
from grantpath.graph.files.remote_path import AnyPath, arrow_place
from grantpath.graph.language.inputs import require_not_named_pipe

GAINED, LOST, REBUILT = "gained", "lost", "rebuilt"
NEXT = "changes.next"  # beside the folder: the number of the next file, which is needed if all files were removed
_NAME = re.compile(r"(\d{10})_(\d{12})_(\d{12})\.parquet")
_MADE = b"grantpath.made"  # in the schema's metadata: the creation id of the root
_COLUMNS = ("effect", "user", "name", "type", "object")
Codes = npt.NDArray[np.int32]
NO_CODES = np.empty(0, np.int32)


@dataclass(frozen=True, order=True)
class ChangeFile:
    """A file of changes: its number, and the first and last revision that it describes."""

    number: int
    first: int
    last: int
    path: AnyPath = field(compare=False)


@dataclass(frozen=True)
class _Part:
    """Rows that differ only in user, name and object: for each pair of a name and an object or place, a row for each of
    `users`.

    The pairs are in the columns `name`, `object` and `below`. Texts are stored as numbers. `same`: revision, effect and
    type.
    """

    same: tuple[int, int, int]
    users: Codes
    name: Codes
    object: Codes
    below: npt.NDArray[np.bool_]


class ChangeRows:
    """Rows for a file, collected in columns. Each column stores a text once."""

    def __init__(self) -> None:
        self._texts: dict[str, dict[str, int]] = {column: {} for column in _COLUMNS}
        self._code = np.empty(0, np.int32)  # by number of a user: the number of its text; -1 if it has none yet
        self._parts: list[_Part] = []
        self._size = 0

    def add(
        self,
        revision: int,
        effect: str,
        users: Iterable[str] = ("",),
        names: Iterable[str] = ("",),
        type_: str = "",
        objects: Sequence[str] = ("",),
        below: Sequence[str] = (),
    ) -> None:
        """Adds a row for each combination of a user, a name, and an object or a place in `below`.

        A place in `below` stands for all objects of the type inside it.
        """
        self._add((revision, effect, type_), self._coded("user", users), names, objects, below)

    def add_found(self, revision: int, found: ChangedAccess, refs: Sequence[str]) -> None:
        """Adds rows for the access that users gain or lose. `refs`: the references of users by number; every call must
        pass the same list."""
        if len(self._code) < len(refs):
            self._code = np.concatenate([self._code, np.full(len(refs) - len(self._code), -1, np.int32)])
        codes = self._code[found.users]
        if len(new := found.users[codes < 0]):
            self._code[new] = self._coded("user", [refs[user] for user in new.tolist()])
            codes = self._code[found.users]
        same = revision, GAINED if found.gained else LOST, found.type
        self._add(same, codes, found.names, found.objects, found.below)

    def _add(
        self,
        same: tuple[int, str, str],
        users: Codes,
        names: Iterable[str],
        objects: Sequence[str],
        below: Sequence[str],
    ) -> None:
        revision, effect, type_ = same
        name, place = self._coded("name", names), self._coded("object", (*objects, *below))
        numbers = revision, self._number("effect", effect), self._number("type", type_)
        inside = np.arange(len(place)) >= len(objects)
        part = _Part(numbers, users, name.repeat(len(place)), np.tile(place, len(name)), np.tile(inside, len(name)))
        self._parts.append(part)
        self._size += len(users) * len(part.name)

    def __len__(self) -> int:
        return self._size

    def table(self) -> pa.Table:
        """The rows, in the columns of the table `changes`, ordered by revision."""
        parts = self._parts
        pairs = np.array([len(part.name) for part in parts], np.int64)
        users = np.array([len(part.users) for part in parts], np.int64)
        same = np.array([part.same for part in parts], np.int64).reshape(-1, 3).T
        revision, effect, type_ = (each.repeat(pairs * users) for each in (same[0], *same[1:].astype(np.int32)))
        each_user = users.repeat(pairs)
        numbers = {
            "effect": effect,
            "user": np.concatenate([NO_CODES, *(np.tile(part.users, len(part.name)) for part in parts)]),
            "name": np.concatenate([NO_CODES, *(part.name for part in parts)]).repeat(each_user),
            "type": type_,
            "object": np.concatenate([NO_CODES, *(part.object for part in parts)]).repeat(each_user),
        }
        below = np.concatenate([np.empty(0, np.bool_), *(part.below for part in parts)]).repeat(each_user)
        columns = {"revision": pa.array(revision)}
        for name, codes in numbers.items():
            texts = pa.array([*self._texts[name]], pa.string())
            columns[name] = pa.DictionaryArray.from_arrays(pa.array(codes), texts, safe=False)
        return pa.table({**columns, "below": pa.array(below)})

    def _number(self, column: str, text: str) -> int:
        return self._texts[column].setdefault(text, len(self._texts[column]))

    def _coded(self, column: str, texts: Iterable[str]) -> Codes:
        known = self._texts[column]
        return np.array([known.setdefault(text, len(known)) for text in texts], np.int32)


def change_files(out: AnyPath) -> list[ChangeFile]:
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


def next_number(out: AnyPath) -> int:
    """The number of the next file. It is never one that was used before, so that a stream with a checkpoint skips no
    file. Raises InvalidInput if the number cannot be read, or a file is missing between two others."""
    if files := change_files(out):
        return files[-1].number + 1
    try:
        if isinstance(out, Path):
            require_not_named_pipe("the number of the next file", out / NEXT)
        return int((out / NEXT).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return 0
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"{out / NEXT}: not the number of a file ({type(error).__name__}); remove it and the checkpoints of streams"
        ) from None


def made_of(file: ChangeFile) -> str:
    """The creation id of the root that the file is about. Raises InvalidInput if the file does not contain one."""
    try:
        if isinstance(file.path, Path):
            require_not_named_pipe("a file of changes", file.path)
        place, filesystem = arrow_place(file.path)
        made: bytes = (pq.read_schema(place, filesystem=filesystem).metadata or {})[_MADE]
        return made.decode()
    except (OSError, pa.ArrowException, KeyError, UnicodeDecodeError) as error:
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
    marked = table.replace_schema_metadata({_MADE: made.encode()})
    # statistics of the texts would take most of the time, and users are not in the order of their references
    write_file(marked, fresh, compression="zstd", write_statistics=["revision"])
    _reserve(out, number)
    path = folder / f"{number:010}_{first:012}_{last:012}.parquet"
    fresh.rename(path)
    return ChangeFile(number, first, last, path)


def _reserve(out: Path, number: int) -> None:
    """Records the number as used. This comes before the file, because a recorded number without a file does no harm."""
    fresh = out / f".{NEXT}.new"
    fresh.unlink(missing_ok=True)
    fresh.touch(mode=0o600)
    fresh.write_text(str(number + 1), encoding="utf-8")
    fresh.replace(out / NEXT)
