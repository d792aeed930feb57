"""The command `demo`: the main use case end to end, on Neo4j and Spark."""

import re
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grantpath.engine.cli.admin import demo_data
from grantpath.engine.cli.admin import demo_story as parts
from grantpath.engine.cli.admin.server_commands import browser_login
from grantpath.engine.cli.bulk.spark_commands import check_in_batches, expect_small_jobs, working
from grantpath.engine.cli.context import A_ROOT, CommandContext, command
from grantpath.engine.cli.output import counting, emit, page, show_table, styled
from grantpath.graph.errors import GrantpathError, InvalidInput
from grantpath.graph.messages import how_many

if TYPE_CHECKING:
    from rich.console import Console

    from grantpath.engine.cli.command_authorizer import CommandAuthorizer
    from grantpath.graph.client.connection import Connection

SAMPLE = 500
OF_A_SNAPSHOT = re.compile(r"(^(meta|policy)\.json|\.parquet|\.crc|^_SUCCESS)$")
ASKED = ["load_table", "alter_table", "drop_table", "SELECT_TABLE"]
Folder = Annotated[Path, typer.Option("--out", metavar="DIR", help="the folder for the Spark snapshot")]


def register(app: typer.Typer) -> None:
    """Adds the command."""
    command(app, "Start here", "grantpath demo", unused=A_ROOT)(demo)


def demo(
    session: CommandContext,
    target: Folder = Path("out/demo"),
    yes: Annotated[
        bool, typer.Option("--yes", help="use a server that is not the embedded one without asking")
    ] = False,
) -> None:
    """Show the main use case end to end: changes, checks, explanations, and bulk answers in Spark.

    It recreates its two roots, metalake:demo and metalake:tpc, and its snapshot each time, but never touches roots and
    folders of these names that no demo created. It asks before it uses a server other than the embedded one; without a
    terminal, --yes must confirm this. The data are the worked example of the Gravitino document, and the tables of
    TPC-DS and TPC-H with invented users.
    """
    from grantpath.graph.embedded import server
    from grantpath.graph.embedded.connect import connection

    started = time.monotonic()
    console = page(quiet=session.json)
    _check_folder(target)
    login = connection(session.uri)
    if not yes and server.status().uri != login.uri:
        _confirm(login.uri)
    _fresh_roots(session)
    if target.exists():
        shutil.rmtree(target)
    parts.heading(
        console,
        "1  The worked example of the Gravitino document",
        "Thirteen steps in metalake:demo. Each is a guarded change: the policy authorizes or refuses its actor.",
    )
    with session.at(parts.ROOT).open() as authorizer:
        parts.worked_example(authorizer, console)
    with session.at(demo_data.ROOT).open() as authorizer:
        _estate(authorizer, console)
        parts.stories(authorizer, console)
        found = _spark(authorizer, login, console, target)
    _next(login, console, target)
    console.print()
    console.print(styled(f"The demo took {time.monotonic() - started:.0f} s.", "dim"))
    if session.json:
        emit({"roots": [parts.ROOT, demo_data.ROOT], "snapshot": str(target), **found})


def _check_folder(target: Path) -> None:
    """Raises InvalidInput if the folder is not the snapshot of a demo, or contains other files."""
    from grantpath.spark_sync.session.snapshot import Snapshot

    if not target.exists():
        return
    try:
        made_here = not target.is_symlink() and Snapshot(target).meta.root == demo_data.ROOT
    except InvalidInput:
        made_here = False
    if not made_here:
        raise InvalidInput(f"{target} exists and is not the snapshot of a demo; name another folder with --out")
    for path in target.rglob("*"):
        if path.is_symlink() or (path.is_file() and not OF_A_SNAPSHOT.search(path.name)):
            raise InvalidInput(f"{path} is not part of the demo's snapshot; move it, or name another folder with --out")


def _confirm(uri: str) -> None:
    """Asks for consent to use a server other than the embedded one. Raises InvalidInput without it."""
    what = f"the demo creates the roots {parts.ROOT} and {demo_data.ROOT} on {uri}, and removes those of the last demo"
    if not sys.stdin.isatty():
        raise InvalidInput(f"{what}; confirm it with --yes")
    if not typer.confirm(f"{what}: continue?", err=True):
        raise InvalidInput("nothing was changed")


def _fresh_roots(session: CommandContext) -> None:
    """Removes the roots of the last demo, and creates new ones. Raises InvalidInput if no demo created one of them."""
    from grantpath.engine.authorizer.authorizer import Authorizer
    from grantpath.engine.tenants import opening, registry

    store = session.store()
    try:
        there = registry.names(store)
        for root in (parts.ROOT, demo_data.ROOT):
            if root in there and not parts.made_here(Authorizer(store, *opening.open_root(store, root, None))):
                raise InvalidInput(
                    f"{root} exists, and no demo created it; dump it and drop it (`grantpath roots drop {root}`), or "
                    "name another server with --uri"
                )
        for root in (parts.ROOT, demo_data.ROOT):
            registry.remove(store, root)
            opening.open_root(store, root, demo_data.POLICY, may_create=True)
    finally:
        store.close()


def _estate(authorizer: "CommandAuthorizer", console: "Console") -> None:
    """Loads the estate."""
    from grantpath.engine.transfer.importer import load

    parts.heading(
        console,
        "2  A realistic estate",
        "The tables of TPC-DS and TPC-H in three catalogs; departments, roles, ALLOW and DENY on every level, owners.\n"
        "They are loaded as by `grantpath load`. You can run the commands below after\n"
        f"export GRANTPATH_ROOT={demo_data.ROOT}",
    )
    parts.mark(authorizer)
    with tempfile.TemporaryDirectory(prefix="grantpath-") as folder, counting() as count:
        demo_data.write_estate(Path(folder))
        report = load(authorizer, Path(folder), count)
    console.print(styled(f"  {how_many(report.rows)}"))
    console.print()


def _spark(authorizer: "CommandAuthorizer", login: "Connection", console: "Console", target: Path) -> dict[str, int]:
    """Mirrors the estate, answers for all users, and compares with Cypher. Raises GrantpathError if they differ."""
    from grantpath.spark_sync.bulk.bulk_access import access
    from grantpath.spark_sync.bulk.verification import exposed, verify, widest
    from grantpath.spark_sync.mirroring.mirror import mirror_tenant

    parts.heading(
        console,
        "3  The same graph in Spark",
        "Mirrored at one revision; GraphFrames computes the closure of memberships; then the answers for all users.",
    )
    expect_small_jobs()
    with working("Spark is working") as progress:
        meta = mirror_tenant(login, authorizer.tenant, target, progress)
        access(target, ASKED, ["load_table"], progress, in_process_limit=0)  # the demo shows Spark
    names = ("load_table", "table")
    users = [(ref, f"{many:,}") for ref, many in exposed(target, *names, 10)]
    console.print("\nWho can load each table: the ten most exposed")
    show_table(("table", "users"), users, numbers={"users"}, console=console)
    readers = [(ref, f"{many:,}") for ref, many in widest(target, *names, 5)]
    console.print("\nWidest readers")
    show_table(("user", "tables"), readers, numbers={"tables"}, console=console)
    found = verify(target, lambda checks: check_in_batches(authorizer, checks), SAMPLE, meta.revision)
    console.print()
    console.print(
        styled(f"Spark against Cypher: {found.compared:,} answers compared, {len(found.different)} different", "bold")
    )
    if found.different:
        raise GrantpathError(f"Spark and Cypher differ: {'; '.join(found.different[:3])}; please report this")
    return {"revision": meta.revision, "compared": found.compared, "different": len(found.different)}


def _next(login: "Connection", console: "Console", target: Path) -> None:
    parts.heading(console, "What to try next", "The demo's roots are kept until the next run.")
    subject, operation, object_ = demo_data.STORIES["allowed"]
    folder = Path(sys.argv[0]).absolute().parent
    on_path = shutil.which("grantpath") is not None
    for text in (
        *([] if on_path else [f'export PATH="{folder}:$PATH"']),
        f"export GRANTPATH_ROOT={demo_data.ROOT}",
        f"grantpath explain {subject} {operation} {object_}",
        f"grantpath who drop_table {object_}",
        f'grantpath change "add table:retail.store.mine" --by {subject}',
        f'grantpath ask {target} "which table can {subject} alter_table"',
        f"grantpath log --root {parts.ROOT}",
        "grantpath policy show gravitino",
    ):
        console.print(styled(f"  {text}"), soft_wrap=True)
    parquet = f"spark.read.parquet('{target}/access/exposure')"
    console.print()
    console.print(styled(f"Parquet in {target}; in Spark: {parquet}"), soft_wrap=True)
    console.print("Neo4j Browser:")
    from grantpath.graph.embedded import server

    running = server.status()
    details = browser_login(running) if running.uri == login.uri else [("connect to", login.uri), ("user", login.user)]
    for key, value in details:
        console.print(styled(f"  {key:<11} {value}"), soft_wrap=True)
    console.print("  In Browser, run the line that this command prints, then paste cypher/explain.cypher:")
    console.print(styled(f"  grantpath params {subject} {operation} {object_}"), soft_wrap=True)
