"""SQL over the views of a snapshot, by DuckDB in this process."""

from dataclasses import dataclass
from typing import Any

from grantpath.graph.errors import InvalidInput
from grantpath.graph.extras import need_extra
from grantpath.graph.files.remote_path import AnyPath
from grantpath.spark_sync.session.snapshot import Snapshot
from grantpath.spark_sync.tables.analyst_views import SCHEMA, duckdb_views

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
    Raises InvalidInput if the folder is not a snapshot, if the statement is not one of these, if DuckDB rejects it, or
    if the files were replaced meanwhile, which only the first update of a snapshot does.
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
            if len(kinds) != 1 or kinds[0] not in READS:
                found = "no statement" if not kinds else " and ".join(kinds)
                raise InvalidInput(
                    f"write one `select` or one `copy (...) to 'file'`, not {found}: a snapshot is only read"
                )
            answer = database.execute(statements[0])
            columns, rows = [column[0] for column in answer.description or ()], answer.fetchall()
            source.need_same()
            return SqlAnswer(columns, rows, source.meta.revision)
        except duckdb.Error as error:
            what = str(error).partition("\n\nLINE")[0].replace("\n", " ").strip()
            views = f"; the views are {_names(database)}" if isinstance(error, duckdb.CatalogException) else ""
            raise InvalidInput(f"DuckDB: {what}{views}") from None


def _names(database: Any) -> str:
    query = f"select view_name from duckdb_views() where schema_name = '{SCHEMA}' order by view_name"
    return ", ".join(name for (name,) in database.execute(query).fetchall() if not name.startswith("raw_"))
