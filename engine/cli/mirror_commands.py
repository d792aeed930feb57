"""The commands that write snapshots for Spark: mirror."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from grantpath.engine.cli.context import CommandContext, command
from grantpath.engine.cli.output import emit, out, styled
from grantpath.engine.cli.spark_commands import PANEL, Out, working

Update = Annotated[bool, typer.Option("--update", help="bring the snapshot OUT to the present revision")]


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    command(app, PANEL, "grantpath mirror ./monday --root metalake:tpc")(mirror)


def mirror(session: CommandContext, target: Out, update: Update = False) -> None:
    """Mirror a root into a snapshot for Spark.

    Writes Parquet files of one revision, with the transitive closure of memberships. With --update, the changes since
    then are applied to the snapshot; where the log does not describe them, the root is mirrored again.
    """
    from grantpath.graph.embedded.connect import connection
    from grantpath.spark_sync.graph_reader import mirror as mirror_graph

    if update:
        _update(session, target)
        return
    with session.open() as authorizer, working("mirroring") as progress:
        meta = mirror_graph(connection(session.uri), authorizer.tenant, target, progress)
    if session.json:
        emit({"snapshot": str(target), **meta.model_dump(mode="json")})
        return
    text = f" {meta.root} at revision {meta.revision} to {target}"
    out().print(styled("mirrored", "bold green"), styled(text), sep="")
    _show_counts(meta.counts)


def _update(session: CommandContext, target: Path) -> None:
    from grantpath.graph.embedded.connect import connection
    from grantpath.spark_sync.snapshot import Snapshot
    from grantpath.spark_sync.snapshot_update import update

    root = session.root or Snapshot(target).meta.root
    with session.at(root).open() as authorizer, working("updating") as progress:
        done = update(connection(session.uri), authorizer.tenant, target, progress)
    meta = done.meta
    if session.json:
        made = {"before": done.before, "facts": done.facts, "rebuilt": done.rebuilt}
        emit({"snapshot": str(target), **made, **meta.model_dump(mode="json")})
        return
    how = f"mirrored again, because {done.rebuilt}" if done.rebuilt else f"changed facts: {done.facts:,}"
    text = f" {target} from revision {done.before} to {meta.revision} of {meta.root}: {how}"
    out().print(styled("updated", "bold green"), styled(text), sep="")
    _show_counts(meta.counts)


def _show_counts(counts: Mapping[str, int]) -> None:
    listed = ", ".join(f"{count:,} {what}" for what, count in counts.items())
    out().print(styled(f"  {listed}", "dim"))
