"""Finds the tables of a bulk import in a folder, each a file or a folder of part files, and reads them.

Whatever could be a table and is not read is refused by its name, because a load that ignored it could lose a DENY.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from grantpath.engine.answers.batches import require_list
from grantpath.engine.transfer.dump_meta import META, NOTES
from grantpath.engine.transfer.parquet_tables import read_parquet_table
from grantpath.engine.transfer.table_formats import ENDINGS, accepted, split_ending
from grantpath.engine.transfer.tables import ENDS, TABLES, Column, Ints, Problems, Source, Table
from grantpath.engine.transfer.text_tables import read_text_table, text_rows
from grantpath.graph.errors import InvalidInput
from grantpath.graph.files.bounded_parquet import stream_bounded
from grantpath.graph.language.near_names import nearest
from grantpath.graph.messages import did_you_mean, short

# exists while a dump writes its tables: otherwise an unfinished dump would look complete
UNFINISHED = "dump.unfinished"
# Documents and programs, which may be beside the tables, by ending and by name.
BESIDE = (
    *(".md", ".rst", ".txt", ".html", ".pdf", ".png", ".svg", ".log"),
    *(".yaml", ".yml", ".toml", ".sql", ".py", ".ipynb", ".sh"),
)
BESIDE_NAMES = ("README", "LICENSE", "NOTICE", "Makefile")
# Files that Spark, other writers of Parquet and file systems leave beside part files, and a folder of unfinished work.
MARKS = ("_SUCCESS", "_metadata", "_common_metadata", ".DS_Store")
UNFINISHED_PARTS = ("_temporary", ".spark-staging")
# What a name that is meant as a table begins with.
_MEANT = {
    **{name[:-1]: name for name in TABLES},
    **dict.fromkeys(("allow", "deny", "denie", "denial", "permission", "privilege"), "grants"),
}


def chosen(only: Collection[str]) -> list[str]:
    """These tables, in the order of TABLES. Raises InvalidInput if there is none, or for a table that is unknown."""
    known = f"name some of {', '.join(TABLES)}"
    only = require_list("tables", only, None)
    if not only:
        raise InvalidInput(f"--only names no table; {known}, or omit it to load all (in Python: only=None)")
    for name in only:
        if name not in TABLES:
            raise InvalidInput(f"--only: the table {short(name)!r} is unknown{nearest(name, TABLES)}; {known}")
    return [name for name in TABLES if name in only]


def read(
    directory: Path,
    problems: Problems,
    progress: Callable[[int, int], None],
    beside: Collection[str] = (),
    only: Collection[str] | None = None,
) -> dict[str, Table]:
    """Reads the tables of a folder; a missing one is an empty table. Unreadable rows are added to `problems`.

    `beside` lists the names of other files that are allowed. `only` lists the tables that are read, each of which must
    be there; the others are empty, and other files are ignored unless their names resemble those of these tables.
    Raises InvalidInput for an invalid folder or file.
    """
    sources = _sources(directory, beside, only)
    tables = {}
    for at, (name, columns) in enumerate(TABLES.items()):
        source = sources.get(name)
        if source is None:
            every = (*columns, *ENDS.get(name, ()))
            tables[name] = Table(name, None, {column: Column(_none(), []) for column in every}, _none())
        else:
            reader = read_parquet_table if source.format == "parquet" else read_text_table
            tables[name] = reader(source, columns, ENDS.get(name, ()), problems)
        progress(at + 1, len(TABLES))
    return tables


def read_back(file: Path, name: str, columns: Sequence[str]) -> Iterator[list[str]]:
    """The rows of a table that a dump wrote with these columns, one after the other. Raises InvalidInput."""
    source = _source(name, file, [file])
    if source.format == "parquet":
        for part in stream_bounded([file], dict.fromkeys(columns, "text")).tables:
            values = (part[column].to_pylist() for column in columns)
            yield from map(list, zip(*values, strict=True))
        return
    for number, row in text_rows(source, columns):
        if isinstance(row, str):
            raise InvalidInput(f"{source.place(number)}: {row}")
        yield list(row)


def _none() -> Ints:
    return np.empty(0, dtype=np.int64)


def listed(directory: Path) -> list[Path]:
    """The contents of a folder, sorted. Raises InvalidInput if it is not a folder."""
    try:
        return sorted(directory.iterdir())
    except (OSError, ValueError):
        raise InvalidInput(
            f"{short(str(directory))} is not a folder; name one that contains {', '.join(TABLES)} as {accepted()}"
        ) from None


def _sources(directory: Path, beside: Collection[str], only: Collection[str] | None) -> dict[str, Source]:
    inside = listed(directory)
    if directory / UNFINISHED in inside:
        raise InvalidInput(
            f"{directory} contains an unfinished dump, which was interrupted or is still running; name another folder"
        )
    sources: dict[str, Source] = {}
    for path in inside:
        if path.name in beside or path.name == META:
            continue
        name, ending = split_ending(path.name)
        if name not in TABLES or not (ending or path.is_dir()):
            _require_no_table(path, only)
        elif only is not None and name not in only:
            continue
        elif name in sources:
            raise InvalidInput(f"{path}: {sources[name].path.name} exists too; keep one file or folder for {name}")
        elif path.is_dir():
            sources[name] = _folder(name, ending, path)
        else:
            sources[name] = _source(name, path, [path])
    if not sources and only is None:
        raise InvalidInput(
            f"{short(str(directory))} contains no table; name a folder with {', '.join(TABLES)} as {accepted()}"
        )
    for name in only or ():
        if name not in sources:
            raise InvalidInput(
                f"{short(str(directory))} contains no table {name}, which --only names; write {name} as {accepted()}, "
                "with no rows if it is empty, or do not name it"
            )
    return sources


def _source(name: str, path: Path, parts: list[Path]) -> Source:
    for part in parts:
        if not part.is_file():
            raise InvalidInput(f"{part} must be a regular file, not a folder, device or pipe; replace it")
    return Source(name, path, tuple(parts), ENDINGS[split_ending(parts[0].name)[1]])


def _folder(name: str, ending: str, folder: Path) -> Source:
    """A table as a folder of part files."""
    inside = listed(folder)
    parts = [path for path in inside if _is_part(path)]
    endings = {split_ending(path.name)[1]: path for path in reversed(parts)}
    if len(endings) > 1:
        names = " and ".join(sorted(path.name for path in endings.values()))
        raise InvalidInput(f"{folder} contains files of several forms, {names}; keep the files of one form")
    if parts and ending and ENDINGS[ending] != ENDINGS[next(iter(endings))]:
        raise InvalidInput(f"{parts[0]} is not {ending}, as its folder's name says; rename the folder to {name}")
    if not parts and folder / "_SUCCESS" not in inside:
        raise InvalidInput(f"{folder} contains no part file; write the table again, or remove the folder")
    return _source(name, folder, parts) if parts else Source(name, folder, (), "jsonl")


def _is_part(path: Path) -> bool:
    """Whether a file in the folder of a table is a part of it; False for the marks of other programs. Raises
    InvalidInput for any other file or folder."""
    name = path.name
    if name in MARKS or (name.startswith(".") and name.endswith(".crc")):
        return False
    if name.startswith(UNFINISHED_PARTS):
        raise InvalidInput(
            f"{path} is of a job that failed or is still writing the table; wait until it ends, or write the table "
            "again"
        )
    if "=" in name and path.is_dir():
        raise InvalidInput(f"{path} is a partition of the table; write the table without partitions (partitionBy)")
    if not split_ending(name)[1] or name.startswith((".", "_")):
        raise InvalidInput(
            f"{path} is not a part file; write only the table's part files there ({', '.join(ENDINGS)}), not a table "
            "format such as Delta or Iceberg, or move it out of the folder"
        )
    return True


def _require_no_table(path: Path, only: Collection[str] | None) -> None:
    """Raises InvalidInput for a file or folder that is not read, but could be a table; with `only`, one of these.

    A hidden file, a document or a program could be one if its name resembles that of a table."""
    name = path.name
    visible = name.lstrip("._ ").lower()
    # the name of a table can be any word of the name of a data file, such as 2026-members.csv
    ending = split_ending(visible)[1]
    words = re.findall("[a-z]+", visible.removesuffix(ending)) if ending else re.findall("^[a-z]+", visible)
    meant = [table for start, table in _MEANT.items() if any(word.startswith(start) for word in words)]
    meant = meant or [table for word in words for table in get_close_matches(word, TABLES, n=1, cutoff=0.85)]
    hidden = name.startswith(".")
    other = hidden or name in BESIDE_NAMES or (path.suffix.lower() in BESIDE and not path.is_dir())
    if only is not None:
        other, meant = True, [table for table in meant if table in only]
    if other and (not meant or (hidden and name.endswith(".crc"))):
        return
    meant = meant or get_close_matches(visible.removesuffix(ending), TABLES, n=1, cutoff=0.6)
    if name in (f"{note}.jsonl" for note in NOTES):
        raise InvalidInput(
            f"{path} is a file of a dump, but {META} beside it is missing or damaged; take another copy of the dump, or"
            f" move {', '.join(f'{note}.jsonl' for note in NOTES)} out of the folder to load only its tables"
        )
    hint = did_you_mean([table + ending for table in meant[:1]])
    raise InvalidInput(
        f"{path} is not a table{hint}: a table is {', '.join(TABLES)} as {accepted()}; rename it, or move it out of "
        "the folder"
    )
