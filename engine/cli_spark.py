"""The commands that work in bulk, on a snapshot in Spark: mirror, access, ask, diff, verify."""

from pathlib import Path
from typing import Annotated

import typer
from grantpath.engine.cli_output import emit, err, out, printable, saying, styled
from grantpath.engine.cli_session import Session, command
from grantpath.graph.server import connection

PANEL = "In bulk, with Spark"
Out = Annotated[Path, typer.Argument(metavar="OUT", help="the folder to make")]
Snapshot = Annotated[Path, typer.Argument(metavar="SNAPSHOT", help="a folder that `grantpath mirror` made")]


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    command(app, PANEL, "grantpath mirror ./monday --root metalake:tpc")(mirror)
    command(app, PANEL, 'grantpath ask ./monday "which table can user:bob load_table"')(ask)


def mirror(session: Session, target: Out) -> None:
    """Mirror a root's graph into a snapshot for Spark: Parquet, at one revision, memberships closed over."""
    from grantpath.spark_sync.mirror import mirror as mirror_graph

    with session.open() as authorizer, saying() as say:
        meta = mirror_graph(connection(session.uri), authorizer.tenant, authorizer.policy, target, say)
    if session.json:
        emit({"snapshot": str(target), **meta.model_dump(mode="json")})
        return
    counts = ", ".join(f"{count:,} {what}" for what, count in meta.counts.items())
    out().print(
        styled("mirrored", "bold green"), styled(f" {meta.root} at revision {meta.revision} to {target}"), sep=""
    )
    out().print(styled(f"  {counts}", "dim"))


def ask(
    session: Session,
    snapshot: Snapshot,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="in quotes, as in a scenario file")],
) -> int:
    """Ask a snapshot: who can NAME on REF, which TYPE can SUBJECT NAME, or SUBJECT can NAME on REF.

    The database is not needed. Exit code 1 where the answer to the last form is no.
    """
    from grantpath.spark_sync.questions import ask as ask_snapshot

    found = ask_snapshot(snapshot, question)
    if session.json:
        emit({"answer": found.answer, "complete": found.complete, "revision": found.revision})
    elif isinstance(found.answer, bool):
        out().print(styled("yes", "bold green") if found.answer else styled("no", "bold red"))
    else:
        for ref in found.answer:
            print(printable(ref))
        err().print(styled(f"{len(found.answer):,} at revision {found.revision}", "dim"))
    return 1 if found.answer is False else 0
