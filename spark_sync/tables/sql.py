"""SQL over the views of a snapshot, by DuckDB in this process."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from grantpath.graph.errors import InvalidInput
from grantpath.graph.extras import require_extra
from grantpath.graph.files.remote_path import AnyPath
from grantpath.graph.messages import short
from grantpath.spark_sync.session.analyst_views import duckdb_views
from grantpath.spark_sync.session.snapshot import SCHEMA, Snapshot

QUOTED = re.compile("'(?:[^']|'')*'")
WORD = re.compile(rf"{QUOTED.pattern}|\w+|\S")
FILE_URI = re.compile("^file:(//(localhost(?=/))?)?", re.IGNORECASE)
ABSENT = re.compile("not found|does not (have|exist)")  # in what DuckDB says about a column that is not there
READS = ("select", "explain", "copy")  # DuckDB's kinds of statements; a COPY writes a file, and no view


@dataclass(frozen=True)
class SqlAnswer:
    """The rows of a query, with the names of the columns, and the revision of the snapshot."""

    columns: list[str]
    rows: list[tuple[Any, ...]]
    revision: int


def sql(snapshot: AnyPath | str, statement: str) -> SqlAnswer:
    """The answer of one SQL statement over the views of a snapshot: a query, or `COPY (...) TO 'file'`.

    The views are those of `duckdb_views`, with or without the schema before their names. Needs the extra `review`.
    Raises InvalidInput if the folder is not a snapshot, if the statement is not one of these, if it would write into
    the snapshot, if DuckDB rejects it, or if the files were replaced meanwhile, which only the first update of a
    snapshot does.
    """
    require_extra("review", "SQL over a snapshot", "duckdb")
    import duckdb

    source = Snapshot(snapshot)
    with duckdb.connect() as database:
        database.execute(duckdb_views(source))
        database.execute(f"set search_path = '{SCHEMA}'")
        try:
            statements = duckdb.extract_statements(statement)
            kinds = [each.type.name.lower() for each in statements]
            if len(kinds) != 1:
                many = f"{len(kinds)} statements" if kinds else "no statement"
                raise InvalidInput(f"write one `select` or one `copy (...) to 'file'`, not {many}")
            if kinds[0] not in READS:
                raise InvalidInput(
                    f"write one `select` or one `copy (...) to 'file'`, not {kinds[0]}: a snapshot is only read"
                )
            require_outside(source.named_folder, statements[0].query)
            answer = database.execute(statements[0])
            columns, rows = [column[0] for column in answer.description or ()], answer.fetchall()
            source.require_same()
            return SqlAnswer(columns, rows, source.meta.revision)
        except duckdb.Error as error:
            what = str(error).partition("\n\nLINE")[0].replace("\n", " ").strip()
            if isinstance(error, duckdb.CatalogException):
                what += f"; the views are {_names(database)}"
            elif isinstance(error, duckdb.BinderException) and ABSENT.search(what):
                what += "; the statement `describe VIEW` lists the columns of a view"
            raise InvalidInput(f"DuckDB: {what}") from None


def require_outside(folder: AnyPath, statement: str) -> None:
    """Raises InvalidInput if a statement would write into a folder, or into one around it: an option of COPY removes
    what is there. EXPLAIN ANALYZE writes, too."""
    words = _words(statement)
    begin = next(at for at, (word, _) in enumerate(words) if word not in ("explain", "analyze"))  # or the end
    for at, (word, kind) in enumerate(words):
        inner = at > begin and (word, kind) == ("copy", "keyword") and words[at - 1][0] == "("
        if inner and (words[at + 1][0] == "(" or words[at + 1][1] in ("identifier", "keyword")):
            raise InvalidInput('a COPY inside of a statement is not run; write it alone, or the name as "copy"')
    if words[begin] != ("copy", "keyword"):
        return
    target, options = _target(words[begin:])
    named = {word for word, _ in options} & {"filename_pattern", "file_extension"}
    if named and any(kind == "string_const" and re.search(r"[/\\]", word) for word, kind in options):
        raise InvalidInput(f"COPY: {named.pop()} names a folder; name it after `to`")
    if not isinstance(folder, Path):
        return  # COPY writes on this computer, and the snapshot is elsewhere
    try:
        there, kept = _path(target).resolve(), folder.resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise InvalidInput(f"COPY: {short(target)} cannot be the name of a file ({error}); name another one") from None
    if there.is_relative_to(kept) or kept.is_relative_to(there):
        raise InvalidInput(f"COPY would write into the snapshot {folder}, which is only read; name a file elsewhere")


def _words(statement: str) -> list[tuple[str, str]]:
    """The tokens of a statement without comments, each with DuckDB's word for its kind; keywords are in small letters,
    and texts have their quotes. The last one is an empty word of the kind `end`."""
    import duckdb

    raw = statement.encode()
    tokens = duckdb.tokenize(statement)  # it counts bytes
    begins = [at for at, _ in tokens]
    texts = [raw[at:end].decode() for at, end in pairwise([*begins, len(raw)])]
    pairs = [(WORD.match(text), kind.name) for text, (_, kind) in zip(texts, tokens, strict=True)]
    words = [(found[0], kind) for found, kind in pairs if found and kind != "comment"]
    return [*((word if word[0] == "'" else word.lower(), kind) for word, kind in words), ("", "end")]


def _target(copy: Sequence[tuple[str, str]]) -> tuple[str, Sequence[tuple[str, str]]]:
    """The file that a COPY names, and what stands behind it. Raises InvalidInput if that is not one text in quotes."""
    depth = 0
    for at, (word, kind) in enumerate(copy):
        depth += (word == "(") - (word == ")")
        if depth == 0 and (word, kind) == ("to", "keyword"):
            target, kind = copy[at + 1]
            if kind == "string_const" and QUOTED.fullmatch(target) and copy[at + 2][1] != "string_const":
                return target[1:-1].replace("''", "'"), copy[at + 2 :]
            break
    raise InvalidInput("COPY: write the name of the file in single quotes, as in copy (select ...) to 'file.csv'")


def _path(name: str) -> Path:
    """The path that DuckDB takes a name for. It puts the home folder in place of each ~ at the beginning."""
    path = FILE_URI.sub("", name)
    return Path(f"{Path.home()}{path[1:]}" if path.startswith("~") else path)


def _names(database: Any) -> str:
    query = f"select view_name from duckdb_views() where schema_name = '{SCHEMA}' order by view_name"
    return ", ".join(name for (name,) in database.execute(query).fetchall() if not name.startswith("raw_"))
