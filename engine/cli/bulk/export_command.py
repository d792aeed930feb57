"""The command that writes a snapshot's tables for other engines."""

from enum import StrEnum
from typing import Annotated

import typer

from grantpath.engine.cli.bulk.spark_commands import PANEL, Out, Snapshot
from grantpath.engine.cli.context import OF_ROOTS, CommandContext, command
from grantpath.engine.cli.output import emit, out, reporting, styled
from grantpath.graph.messages import how_many


class FormatOption(StrEnum):
    """The formats of an export."""

    delta = "delta"
    iceberg = "iceberg"


Format = Annotated[FormatOption, typer.Option("--format", help="the format of the tables")]


def register(app: typer.Typer) -> None:
    """Adds the command."""
    command(app, PANEL, "grantpath export ./monday ./monday-delta --format delta", unused=OF_ROOTS)(export)


def export(session: CommandContext, snapshot: Snapshot, target: Out, table_format: Format) -> None:
    """Write a snapshot's tables as Delta or Iceberg tables, for other engines.

    Each table is a folder, e.g. OUT/objects. The access tables are written if the snapshot has them. The properties of
    a table contain its root, revision and policy. This needs no server, Spark session or jar, only the package
    for the format: pip install 'grantpath[delta]' or 'grantpath[iceberg]'. To back up a root, use `grantpath dump`.

    The keys of --json are export, format, root, revision, tables (a list of name, rows, path) and seconds.
    """
    from grantpath.spark_sync.tables.snapshot_export import export as write_export

    with reporting("exporting") as progress:
        made = write_export(snapshot, target, table_format.value, progress)
    if session.json:
        tables = [{"name": each.name, "rows": each.rows, "path": str(each.path)} for each in made.tables]
        head = {"export": str(made.folder), "format": made.format, "root": made.root, "revision": made.revision}
        emit({**head, "tables": tables, "seconds": made.seconds})
        return
    text = f" {made.root} at revision {made.revision} to {made.folder}"
    out().print(styled("exported", "bold green"), styled(text), sep="")
    counts = how_many({each.name: each.rows for each in made.tables})
    out().print(styled(f"  {made.format}: {counts}", "dim"))
