"""SQL over the views of a snapshot, by DuckDB in this process."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grantpath.graph.errors import InvalidInput
from grantpath.graph.extras import need_extra
from grantpath.graph.files.remote_path import AnyPath
from grantpath.spark_sync.session.analyst_views import duckdb_views
from grantpath.spark_sync.session.snapshot import SCHEMA, Snapshot

QUOTED = re.compile("'((?:[^']|'')*)'")
FILE_URI = re.compile("^file:(//)?", re.IGNORECASE)
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
    need_extra("review", "SQL over a snapshot", "duckdb")
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
            if kinds[0] != "select":
                need_outside(source.named_folder, statements[0].query)
            answer = database.execute(statements[0])
            columns, rows = [column[0] for column in answer.description or ()], answer.fetchall()
            source.need_same()
            return SqlAnswer(columns, rows, source.meta.revision)
        except duckdb.Error as error:
            what = str(error).partition("\n\nLINE")[0].replace("\n", " ").strip()
            views = f"; the views are {_names(database)}" if isinstance(error, duckdb.CatalogException) else ""
            raise InvalidInput(f"DuckDB: {what}{views}") from None


def need_outside(folder: AnyPath, statement: str) -> None:
    """Raises InvalidInput if a statement would write into a folder, or into one around it: an option of COPY removes
    what is there. EXPLAIN ANALYZE writes, too."""
    import duckdb

    tokens = [(at, kind.name) for at, kind in duckdb.tokenize(statement)]
    ends = [at for at, _ in tokens[1:]] + [len(statement)]
    words = [(statement[at:end].strip(), kind) for (at, kind), end in zip(tokens, ends, strict=True)]
    if not any(kind == "keyword" and word.lower() == "copy" for word, kind in words):
        return
    to = max((at for at, (word, kind) in enumerate(words) if kind == "keyword" and word.lower() == "to"), default=None)
    target, kind = words[to + 1] if to is not None and to + 1 < len(words) else ("", "")
    if kind != "string_const" or not (quoted := QUOTED.fullmatch(target)):
        raise InvalidInput("COPY: write the name of the file in quotes, as in copy (select ...) to 'file.csv'")
    path = Path(FILE_URI.sub("", quoted[1].replace("''", "'"))).expanduser()
    if not isinstance(folder, Path):
        return  # COPY writes on this computer, and the snapshot is elsewhere
    there, kept = path.resolve(), folder.resolve()
    if there.is_relative_to(kept) or kept.is_relative_to(there):
        raise InvalidInput(f"COPY would write into the snapshot {folder}, which is only read; name a file elsewhere")


def _names(database: Any) -> str:
    query = f"select view_name from duckdb_views() where schema_name = '{SCHEMA}' order by view_name"
    return ", ".join(name for (name,) in database.execute(query).fetchall() if not name.startswith("raw_"))
