"""The commands that keep roots: roots, roots drop, dump."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from grantpath.engine import roots as tenants
from grantpath.engine.cli_output import counting, emit, err, out, printable, saying, styled
from grantpath.engine.cli_session import Commands, Json, Root, Session, Uri, command
from grantpath.engine.dump_files import Format
from grantpath.graph.errors import InvalidInput, Unknown

PANEL = "Roots"
SIZES = ("subjects", "objects", "members", "owners", "grants", "changes")
Name = Annotated[str, typer.Argument(metavar="NAME", help="the root, as metalake:ml")]
Yes = Annotated[bool, typer.Option("--yes", help="don't ask")]
Directory = Annotated[Path, typer.Argument(metavar="DIR", help="a folder, new or empty")]
As = Annotated[Format, typer.Option("--format", help="the files' format")]


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    roots = typer.Typer(
        cls=Commands,
        help="List the roots, with policy, revision and sizes; `roots drop` takes one away.",
        epilog="Example: grantpath roots",
        rich_markup_mode="rich",
    )
    app.add_typer(roots, name="roots", rich_help_panel=PANEL)
    roots.callback(invoke_without_command=True)(_list)
    command(roots, "Commands", "grantpath roots list", name="list")(list_roots)
    command(roots, "Commands", "grantpath roots drop metalake:old")(drop)
    command(app, PANEL, "grantpath dump ./kept --root metalake:ml")(dump)


def _list(context: typer.Context, root: Root = None, uri: Uri = None, json: Json = False) -> None:
    before: Session = context.find_root().obj or Session.from_environment()
    context.find_root().obj = session = before.but(root, None, uri, json)
    if context.invoked_subcommand is None:
        list_roots(session)


def list_roots(session: Session) -> None:
    """List the roots, as `grantpath roots` alone does. Of one that a change has dropped only the history is left."""
    store = session.store()
    try:
        found = tenants.listed(store)
    finally:
        store.close()
    if session.json:
        emit({"answer": [asdict(each) for each in found], "complete": True})
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("root", "policy"):
        table.add_column(name)
    for name in ("revision", *SIZES):
        table.add_column(name, justify="right")
    for each in found:
        sizes = [f"{each.sizes[name]:,}" for name in SIZES]
        shown = f"{each.root} (dropped)" if each.dropped else each.root
        table.add_row(styled(shown), styled(each.policy), f"{each.revision:,}", *sizes)
    out().print(table, soft_wrap=False)


def drop(session: Session, name: Name, yes: Yes = False) -> None:
    """Take a root away, with all that it holds and its history. It cannot be had back: dump it first.

    It asks for the root's name on a terminal; elsewhere --yes must say so.
    """
    store = session.store()
    try:
        known = {each.root: each for each in tenants.listed(store)}
        if name not in known and tenants.sweep(store, name):
            _say(session, name, dict.fromkeys(SIZES, 0), ": the rest, which a drop that was cut off had left")
            return
        if name not in known:
            there = f"there are {', '.join(known)}" if known else "there is none"
            raise Unknown(f"the root {name} is not there: {there}; write it whole, as metalake:ml")
        if not yes:
            _confirm(known[name])
        with saying(f"dropping {printable(name)}"):
            tenants.remove(store, name)
    finally:
        store.close()
    _say(session, name, known[name].sizes, "")


def _say(session: Session, name: str, sizes: dict[str, int], what: str) -> None:
    if session.json:
        emit({"dropped": name, "sizes": sizes})
    else:
        out().print(styled("dropped", "bold green"), styled(f" {name}{what}"), sep="")


def _confirm(root: tenants.Root) -> None:
    if not sys.stdin.isatty():
        raise InvalidInput(f"dropping {root.root} cannot be undone; say so with --yes")
    sizes = ", ".join(f"{root.sizes[name]:,} {name}" for name in SIZES)
    err().print(styled(f"{root.root} holds {sizes}; this cannot be undone", "yellow"))
    if typer.prompt(f"Type {printable(root.root)} to drop it", err=True) != root.root:
        raise InvalidInput(f"that is not {root.root}; nothing is dropped")


def dump(session: Session, directory: Directory, format_: As = "csv") -> None:
    """Write a root into a folder, all from one revision: a backup that `grantpath load` restores.

    The folder has the tables, the history, the refused attempts and the request ids, and meta.json with the policy and
    the sha256 of each file. Folder and files are closed to other users of this machine (0700 and 0600).
    """
    from grantpath.engine import dump as dumping

    with session.open() as authorizer, counting() as count:
        done = dumping.dump(authorizer, directory, format_, count)
    if session.json:
        emit({"rows": done.rows, "entries": done.entries, "revision": done.revision})
        return
    counted = ", ".join(f"{count:,} {table}" for table, count in (done.rows | done.entries).items())
    out().print(styled("dumped", "bold green"), styled(f" {counted}; revision {done.revision}"), sep="")
