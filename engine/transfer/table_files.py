"""Finds the files of a bulk import in a folder, one for each table, and reads them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from grantpath.engine.transfer.parquet_tables import read_parquet
from grantpath.engine.transfer.tables import TABLES, Column, Ints, Problems, Table
from grantpath.engine.transfer.text_tables import read_csv, read_jsonl
from grantpath.graph.errors import InvalidInput
from grantpath.graph.messages import short

FORMATS = ("parquet", "csv", "jsonl")
# exists while a dump writes its tables: otherwise an unfinished dump would look complete
UNFINISHED = "dump.unfinished"


def read(
    directory: Path, problems: Problems, progress: Callable[[int, int], None], beside: Collection[str] = ()
) -> dict[str, Table]:
    """Reads all tables of a folder; a missing file is an empty table. Unreadable rows are added to `problems`.

    `beside` lists the names of other files that are allowed. Raises InvalidInput for an invalid folder or file.
    """
    files = _files(directory, beside)
    tables = {}
    for at, (name, columns) in enumerate(TABLES.items()):
        file = files.get(name)
        if file is None:
            tables[name] = Table(name, None, {column: Column(_none(), []) for column in columns}, _none())
        else:
            tables[name] = _READERS[file.suffix](name, file, columns, problems)
        progress(at + 1, len(TABLES))
    return tables


def _none() -> Ints:
    return np.empty(0, dtype=np.int64)


def listed(directory: Path) -> list[Path]:
    """The contents of a folder, sorted. Raises InvalidInput if it is not a folder."""
    try:
        return sorted(directory.iterdir())
    except (OSError, ValueError):
        raise InvalidInput(
            f"{short(str(directory))} is not a folder; name one that contains {', '.join(TABLES)} as {_formats()}"
        ) from None


def _files(directory: Path, beside: Collection[str]) -> dict[str, Path]:
    inside = listed(directory)
    if directory / UNFINISHED in inside:
        raise InvalidInput(
            f"{directory} contains an unfinished dump, which was interrupted or is still running; name another folder"
        )
    files: dict[str, Path] = {}
    for file in inside:
        if file.suffix.removeprefix(".").lower() not in FORMATS or file.name in beside:
            continue
        if file.stem not in TABLES or file.suffix.lower() != file.suffix:
            raise _unknown(file)
        if file.stem in files:
            raise InvalidInput(f"{file}: {files[file.stem].name} exists too; keep one file for {file.stem}")
        files[file.stem] = file
        if not file.is_file():
            raise InvalidInput(f"{file} must be a regular file, not a folder, device or pipe; replace it")
    if not files:
        raise InvalidInput(
            f"{short(str(directory))} contains no table; name a folder with {', '.join(TABLES)} as {_formats()}"
        )
    return files


def _unknown(file: Path) -> InvalidInput:
    """The error for a file that looks like a table but is not one. Ignoring it could silently load too few facts."""
    close = get_close_matches(file.stem.lower(), TABLES, n=1, cutoff=0.6)
    hint = f" (did you mean {close[0]}{file.suffix.lower()}?)" if close else ""
    return InvalidInput(
        f"{file} is not a table{hint}: a table file is {', '.join(TABLES)} as {_formats()}; rename the file, or "
        "move it out of the folder"
    )


def _formats() -> str:
    return f".{FORMATS[0]}, .{FORMATS[1]} or .{FORMATS[2]}"


_READERS: Mapping[str, Callable[[str, Path, Sequence[str], Problems], Table]] = {
    ".parquet": read_parquet,
    ".csv": read_csv,
    ".jsonl": read_jsonl,
}
