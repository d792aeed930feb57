"""The commands that write the graph, and its history: change, load, log."""

from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from grantpath.engine.cli_output import counting, emit, err, out, styled
from grantpath.engine.cli_session import As, Session, command
from grantpath.graph.statement import parse_statement

PANEL = "Change"
Statement = Annotated[str, typer.Argument(metavar="STATEMENT", help="what to change, in quotes; the forms stand above")]
By = Annotated[
    str | None,
    typer.Option("--by", metavar="SUBJECT", help="who asks for it, as user:ann; without it, a fact is written"),
]
Directory = Annotated[Path, typer.Argument(metavar="DIR", help="the folder with the tables")]


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    grant = '"allow SELECT_TABLE on table:hr.public.staff to role:analyst"'
    command(app, PANEL, f"grantpath change {grant} --by user:ann")(change)
    command(app, PANEL, "grantpath load ./estate --root metalake:tpc --policy gravitino")(load)
    command(app, PANEL, "grantpath log --limit 5")(log)


def change(session: Session, statement: Statement, by: By = None, as_: As = None) -> None:
    """Make one change.

    Statements: add REF, drop REF, member SUBJECT of SUBJECT, remove SUBJECT from SUBJECT, owner SUBJECT of REF,
    allow (or deny) PRIVILEGE on REF to SUBJECT, revoke allow (or deny) PRIVILEGE on REF from SUBJECT.

    With --by the policy decides whether that user may; without it a fact is written, and a root that isn't there yet
    is made. Exit code 0: done, 1: refused, 2: invalid.
    """
    parse_statement(statement)
    with session.open(create=by is None) as authorizer:
        done = authorizer.change(statement, by=by, as_role=as_)
    if session.json:
        emit({"done": True, "id": done.id, "revision": done.revision})
    elif done.id is None:
        out().print(styled("done", "bold green"), styled(f" nothing to change, revision {done.revision}"), sep="")
    else:
        out().print(styled("done", "bold green"), styled(f" revision {done.revision}"), sep="")


def load(session: Session, directory: Directory) -> None:
    """Load a folder of tables into a root: all of it, or nothing.

    One file a table, each .parquet, .csv or .jsonl: subjects(ref), objects(ref), members(member, of),
    owners(object, owner), grants(effect, privilege, object, subject). Loading the same folder twice changes nothing.
    """
    from grantpath.engine.load import load as load_directory

    with session.open(create=True) as authorizer, counting() as count:
        report = load_directory(authorizer, directory, count)
    if session.json:
        emit({"rows": report.rows, "changed": report.changed, "revision": report.revision})
        return
    rows = ", ".join(f"{count:,} {table}" for table, count in report.rows.items())
    verdict = "loaded" if report.changed else "nothing new"
    out().print(styled(verdict, "bold green"), styled(f" {rows}; revision {report.revision}"), sep="")


def log(
    session: Session, limit: Annotated[int, typer.Option(min=0, metavar="N", help="how many, the last ones")] = 20
) -> None:
    """Show the accepted changes of a root, the newest last: when, by whom, what."""
    with session.open() as authorizer:
        row = authorizer.ask("log", limit=limit + 1)
    changes, complete = row["changes"][-limit:] if limit else [], len(row["changes"]) <= limit
    if session.json:
        emit({"answer": changes, "complete": complete, "revision": row["revision"]})
        return
    out().print(_table(changes), soft_wrap=False)
    if not complete:
        err().print(styled("there are more: --limit N shows the last N", "dim"))


def _table(changes: list[dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("revision", justify="right")
    table.add_column("at")
    table.add_column("by")
    table.add_column("statement", overflow="fold")
    for each in changes:
        at = datetime.fromisoformat(each["at"]).strftime("%Y-%m-%d %H:%M:%S")
        actor = styled(each["actor"]) if each["actor"] else styled("(a fact)", "dim")
        table.add_row(str(each["revision"]), at, actor, styled(each["statement"]))
    return table
