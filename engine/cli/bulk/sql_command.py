"""The command that asks a snapshot in SQL."""

from typing import Annotated

import typer

from grantpath.engine.cli.bulk.spark_commands import PANEL, Snapshot
from grantpath.engine.cli.context import OF_ROOTS, CommandContext, command
from grantpath.engine.cli.list_formats import Format, as_table, records, show_rows, wanted
from grantpath.engine.cli.output import emit, note
from grantpath.graph.messages import counted

Statement = Annotated[str, typer.Argument(metavar="SQL", help="a SELECT, or COPY (SELECT ...) TO 'file', in quotes")]


def register(app: typer.Typer) -> None:
    """Adds the command."""
    command(
        app,
        PANEL,
        "grantpath sql ./monday \"select subject, objects from reach where name = 'load_table'\"",
        unused=OF_ROOTS,
    )(sql)


def sql(session: CommandContext, snapshot: Snapshot, statement: Statement, format_: Format = None) -> None:
    """Ask a snapshot in SQL, by DuckDB in this process.

    The views are objects, subjects, users, below, members, effective, grants, owners and tags; after `grantpath access`
    also names, reach and exposure, and expand after `access --expand`. `describe VIEW` lists the columns of a view.
    COPY writes the answer into a file of Parquet or CSV. This needs no server and no Spark: pip install
    'grantpath[review]'.
    """
    from grantpath.spark_sync.tables.sql import sql as ask

    form = wanted(session.json, format_)
    found = ask(snapshot, statement)
    head = {"complete": True, "revision": found.revision}
    if show_rows(
        form,
        found.columns,
        found.rows,
        own=lambda: as_table(found.columns, found.rows),
        as_json=lambda: emit({"answer": [*records(found.columns, found.rows)], **head}),
    ):
        note(f"{counted(len(found.rows), 'rows')} at revision {found.revision}")
