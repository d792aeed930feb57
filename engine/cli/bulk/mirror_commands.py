"""The commands that write snapshots for Spark: mirror, follow."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from grantpath.engine.cli.bulk.spark_commands import PANEL, Out, Snapshot, working
from grantpath.engine.cli.context import CommandContext, command
from grantpath.engine.cli.output import emit, out, styled
from grantpath.graph.messages import counted, how_many

if TYPE_CHECKING:
    from grantpath.engine.cli.command_authorizer import CommandAuthorizer

Update = Annotated[bool, typer.Option("--update", help="bring the snapshot OUT to the present revision")]


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    command(app, PANEL, "grantpath mirror ./monday --root metalake:tpc")(mirror)
    command(app, PANEL, "grantpath follow ./now")(follow)


def mirror(session: CommandContext, target: Out, update: Update = False) -> None:
    """Mirror a root into a snapshot for Spark.

    OUT is a new folder, or a URI, e.g. s3://bucket/folder. Writes Parquet files of one revision, with the transitive
    closure of memberships. With --update, OUT is an existing snapshot, and the changes since its revision are applied
    to it; if the log does not describe them, the root is mirrored again.
    """
    from grantpath.graph.embedded.connect import connection
    from grantpath.spark_sync.mirroring.mirror import mirror_tenant

    if update:
        _update(session, target)
        return
    with session.open() as authorizer, working("mirroring") as progress:
        meta = mirror_tenant(connection(session.uri), authorizer.tenant, target, progress)
    if session.json:
        emit({"snapshot": str(target), **meta.model_dump(mode="json")})
        return
    text = f" {meta.root} at revision {meta.revision} to {target}"
    out().print(styled("mirrored", "bold green"), styled(text), sep="")
    _show_counts(meta.counts)


def _update(session: CommandContext, target: str) -> None:
    from grantpath.graph.embedded.connect import connection
    from grantpath.spark_sync.following.snapshot_update import update

    with _opened(session, target) as authorizer, working("updating") as progress:
        done = update(connection(session.uri), authorizer.tenant, target, progress)
    meta = done.meta
    if session.json:
        made = {"before": done.before, "rebuilt": done.rebuilt}
        emit({"snapshot": str(target), **made, **meta.model_dump(mode="json")})
        return
    how = f": mirrored again, because {done.rebuilt}" if done.rebuilt else ""
    text = f" {target} from revision {done.before} to {meta.revision} of {meta.root}{how}"
    out().print(styled("updated", "bold green"), styled(text), sep="")
    _show_counts(meta.counts)


def follow(session: CommandContext, snapshot: Snapshot) -> None:
    """Keep a snapshot current, and record who gains and who loses what.

    Runs until it is interrupted. Each change of the root is applied to the tables, and SNAPSHOT/changes gets rows with
    all access that users gained or lost at each revision. If the log does not describe the changes, the root is
    mirrored again, and a row records this. If the command is killed, the next run continues at the same revision.
    """
    from grantpath.graph.embedded.connect import connection
    from grantpath.spark_sync.following.follower import Followed
    from grantpath.spark_sync.following.follower import follow as follow_root

    def report(done: Followed) -> None:
        if session.json:
            emit(asdict(done))
            return
        why = f" (mirrored again, because {done.rebuilt})" if done.rebuilt else ""
        text = f" revisions {done.first} to {done.last}: {counted(done.rows, 'rows')} in {snapshot}/changes{why}"
        out().print(styled("followed", "bold green"), styled(text), sep="")

    with _opened(session, snapshot) as authorizer, working("following") as progress:
        follow_root(connection(session.uri), authorizer.tenant, snapshot, progress, report)


def _opened(session: CommandContext, target: str) -> "AbstractContextManager[CommandAuthorizer]":
    """The root of --root, or that of the snapshot."""
    from grantpath.spark_sync.session.snapshot import Snapshot as Mirrored

    return session.at(session.root or Mirrored(target).meta.root).open()


def _show_counts(counts: Mapping[str, int]) -> None:
    named = {"entities" if name == "objects" else name: many for name, many in counts.items()}  # subjects, too
    out().print(styled(f"  {how_many(named)}", "dim"))
