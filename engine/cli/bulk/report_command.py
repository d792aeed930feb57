"""The command that writes an HTML report about a snapshot."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from grantpath.engine.cli.bulk.spark_commands import PANEL, Snapshot
from grantpath.engine.cli.context import OF_ROOTS, CommandContext, command
from grantpath.engine.cli.output import emit, out, styled
from grantpath.graph.errors import InvalidInput
from grantpath.graph.messages import counted

Out = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="the file to create; default: SNAPSHOT with .html added")
]
Since = Annotated[
    str | None,
    typer.Option("--since", metavar="OTHER", help="an older snapshot of the root: show what changed since then"),
]
Top = Annotated[int, typer.Option("--top", min=1, max=10_000, metavar="N", help="the maximum number of rows per table")]


def register(app: typer.Typer) -> None:
    """Adds the command."""
    command(app, PANEL, "grantpath report ./monday --out monday.html", unused=OF_ROOTS)(report)


def report(
    session: CommandContext, snapshot: Snapshot, target: Out = None, top: Top = 100, since: Since = None
) -> None:
    """Write an HTML report about a snapshot that has bulk answers.

    The page shows totals, exposure, reach, the widest users, the most exposed objects, and grants without effect. It is
    one file and needs no network. With --since, it also shows what changed since an older snapshot: who gained and lost
    access, and the new and removed grants, members, owners and names.
    """
    from grantpath.spark_sync.reporting.report_page import report as write_report

    file = target or _beside(snapshot)
    found = write_report(snapshot, file, top, since)
    if session.json:
        emit({**asdict(found), "file": str(found.file)})
        return
    counts = f"{counted(found.users, 'users')}, {counted(found.grants, 'grants')}"
    text = f" {found.file}: {counts} at revision {found.revision}"
    out().print(styled("wrote", "bold green"), styled(text), sep="")
    idle = f"  {found.dead:,} dead and {found.shadowed:,} shadowed grants; {found.bytes // 1000:,} KB"
    out().print(styled(idle, "dim"))
    if found.gained is not None:
        moved = f"  users since revision {found.since}: {found.gained:,} gained access, {found.lost:,} lost access"
        out().print(styled(moved, "dim"))


def _beside(snapshot: str) -> Path:
    """The file with the name of a snapshot. Raises InvalidInput for one that is not on this machine."""
    from grantpath.graph.files.remote_path import path_at

    folder = path_at(snapshot)
    if isinstance(folder, Path):
        return Path(f"{folder.resolve()}.html") if folder.name in ("", "..") else Path(f"{folder}.html")
    raise InvalidInput(f"{folder} is not a folder on this machine; name the file to create with --out")
