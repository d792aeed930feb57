"""The commands that maintain roots: roots, roots drop, dump."""

import inspect
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grantpath.engine.cli.change.consent import Yes, confirm_drop
from grantpath.engine.cli.context import (
    A_ROOT,
    SHARED,
    CommandContext,
    Commands,
    Operator,
    command,
    with_shared_options,
)
from grantpath.engine.cli.output import WIDE, counting, emit, out, reporting, styled
from grantpath.engine.transfer.table_formats import Format
from grantpath.graph.errors import InvalidInput
from grantpath.graph.messages import how_many, printable, time_text, to_second

if TYPE_CHECKING:
    from rich.table import Table

    from grantpath.engine.tenants import dropped_roots
    from grantpath.engine.tenants import registry as tenants

PANEL = "Roots"
SIZES = ("subjects", "objects", "members", "owners", "tags", "grants", "changes")
Dropped = Annotated[bool, typer.Option("--dropped", help="list the dropped roots instead")]
Admins = Annotated[
    bool,
    typer.Option("--admins", help="list the members of the roles that answers omit, such as service admins, instead"),
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="the root, e.g. metalake:ml")]
Directory = Annotated[Path, typer.Argument(metavar="DIR", help="a folder, new or empty")]
As = Annotated[Format, typer.Option("--format", help="the format of the files")]


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    roots = typer.Typer(
        cls=Commands,
        help="List the roots, with policy, revision and sizes; `roots drop` removes one.",
        epilog="Example: grantpath roots",
        rich_markup_mode="rich",
    )
    app.add_typer(roots, name="roots", rich_help_panel=PANEL)
    roots.callback(invoke_without_command=True)(_list)
    command(roots, "Commands", "grantpath roots list", name="list", unused=A_ROOT)(list_roots)
    command(roots, "Commands", "grantpath roots drop metalake:old", unused=A_ROOT)(drop)
    command(app, PANEL, "grantpath dump ./kept --root metalake:ml")(dump)


def _list(context: typer.Context, dropped: bool, admins: bool, **given: Any) -> None:
    before: CommandContext = context.find_root().obj or CommandContext()
    options = context.find_root().obj = before.but(**{name: given[name] for name in SHARED})
    if context.invoked_subcommand is not None and (dropped or admins):
        option = "--dropped" if dropped else "--admins"
        raise InvalidInput(f"{option} stands before {context.invoked_subcommand}; write roots list {option}")
    if context.invoked_subcommand is None:
        with options.running() as session:
            session.require_unused(*A_ROOT)
            list_roots(session, dropped, admins)


def _own(dropped: Dropped = False, admins: Admins = False) -> None:
    """The options of `roots` itself."""


with_shared_options(_list, before=[*inspect.signature(_own).parameters.values()])


def list_roots(session: CommandContext, dropped: Dropped = False, admins: Admins = False) -> None:
    """List the roots, as `grantpath roots` without a subcommand does.

    If a change dropped a root, only its history remains. `grantpath test` creates roots for its scenarios and removes
    them; if one is listed while no test runs, its test was killed, and you can remove it with `roots drop`. --dropped
    lists the roots that `roots drop` removed: when, and by whom. --admins lists who is in the roles that answers omit:
    in `gravitino` and `lakehouse` the service admins, whom facts set (`member user:ops of role:service_admin`).
    """
    from grantpath.engine.tenants import dropped_roots
    from grantpath.engine.tenants import registry as tenants

    if dropped and admins:
        raise InvalidInput("--dropped and --admins cannot be combined; give one of them")
    store = session.store()
    try:
        if admins:
            _show_admins(session, tenants.hidden_members(store))
            return
        if dropped:
            _show_dropped(session, dropped_roots.listed(store))
            return
        with counting() as count:
            found = tenants.listed(store, count)
    finally:
        store.close()
    if session.json:
        emit({"answer": [asdict(each) for each in found], "complete": True})
        return
    console, table = out(), _table(found)
    if console.measure(table, options=console.options.update(max_width=WIDE)).maximum <= console.width:
        console.print(table, soft_wrap=False)
        return
    for each in found:  # a table would cut the names
        console.print(styled(_shown(each), "bold"), styled(f"  {each.policy}, revision {each.revision:,}"), sep="")
        console.print(styled(f"  {_holds(each)}", "dim"))


def _show_dropped(session: CommandContext, found: "list[dropped_roots.DroppedRoot]") -> None:
    if session.json:
        emit({"answer": [{**asdict(each), "at": time_text(each.at)} for each in found], "complete": True})
        return
    for each in found:
        by = f" by {printable(each.by)}" if each.by else ""
        text = f"  dropped at {to_second(each.at)}{by}; {each.policy}, revision {each.revision:,}"
        out().print(styled(each.root, "bold"), styled(f"{text}, log {each.head or 'without hashes'}"), sep="")


def _show_admins(session: CommandContext, found: "Mapping[str, Mapping[str, list[str]]]") -> None:
    if session.json:
        answer = [
            {"root": root, "role": role, "members": members}
            for root, roles in found.items()
            for role, members in roles.items()
        ]
        emit({"answer": answer, "complete": True})
        return
    for root, roles in found.items():
        for role, members in roles.items():
            listed = ", ".join(map(printable, members)) or "nobody"
            out().print(styled(root, "bold"), f"  {printable(role)}: {listed}", sep="")


def _table(found: "list[tenants.Root]") -> "Table":
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("root", "policy"):
        table.add_column(name, no_wrap=True)
    for name in ("revision", *SIZES):
        table.add_column(name, justify="right", no_wrap=True)
    for each in found:
        sizes = [f"{each.sizes[name]:,}" for name in SIZES]
        table.add_row(styled(_shown(each)), styled(each.policy), f"{each.revision:,}", *sizes)
    return table


def _shown(root: "tenants.Root") -> str:
    return f"{printable(root.root)}{' (dropped)' * root.dropped}{' (of a test)' * root.of_test}"


def _holds(root: "tenants.Root") -> str:
    return how_many({name: root.sizes[name] for name in SIZES})


def drop(session: CommandContext, name: Name, yes: Yes = False, by: Operator = None) -> None:
    """Remove a root with everything in it, including its history. This cannot be undone: dump it first.

    This asks for the root's name; without a terminal, --yes must confirm it. `roots --dropped` lists the removed roots.
    """
    from grantpath.engine.tenants import dropped_roots
    from grantpath.engine.tenants import registry as tenants

    store = session.store()
    try:
        root = tenants.listed_one(store, name)
        if root is None and tenants.sweep(store, name):
            _report_drop(session, name, dict.fromkeys(SIZES, 0), ": removed what an interrupted drop had left")
            return
        if root is None:
            raise dropped_roots.unknown(store, name)
        if not yes:
            confirm_drop(name, _holds(root))
        with reporting(f"dropping {printable(name)}"):
            dropped_roots.drop(store, name, by)
    finally:
        store.close()
    _report_drop(session, name, root.sizes, "")


def _report_drop(session: CommandContext, name: str, sizes: dict[str, int], what: str) -> None:
    if session.json:
        emit({"dropped": name, "sizes": sizes})
    else:
        out().print(styled("dropped", "bold green"), f" {printable(name)}{what}", sep="")


def dump(session: CommandContext, directory: Directory, format_: As = "csv") -> None:
    """Write a root into a folder, at one revision, as a backup that `grantpath load` restores.

    The folder contains the tables, the history, the refused attempts, the request ids, and meta.json with the policy
    and the SHA-256 of each file. Other users of this machine cannot read it (modes 0700 and 0600);
    a folder that exists keeps its mode.
    """
    from grantpath.engine.transfer import exporter as dumping

    with session.open() as authorizer, counting() as count:
        done = dumping.dump(authorizer, directory, format_, count)
    if session.json:
        emit({"rows": done.rows, "entries": done.entries, "revision": done.revision})
        return
    words = f" {how_many(done.rows | done.entries)}; revision {done.revision}"
    out().print(styled("dumped", "bold green"), styled(words), sep="")
