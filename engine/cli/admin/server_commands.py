"""The commands for the embedded server: up, down, status, browser."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from grantpath.engine.cli.context import OF_ROOTS, CommandContext, command
from grantpath.engine.cli.output import emit, out, reporting, styled
from grantpath.graph.errors import InvalidInput, ServerError

if TYPE_CHECKING:
    from grantpath.graph.embedded.server import ServerStatus

PANEL = "Server"
Line = Annotated[
    str | None, typer.Option("--neo4j", metavar="LINE", help="5.26 or 2026; default: GRANTPATH_NEO4J, then 5.26")
]


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    command(app, PANEL, "grantpath up", unused=OF_ROOTS)(up)
    command(app, PANEL, "grantpath down", unused=OF_ROOTS)(down)
    command(app, PANEL, "grantpath status --json", unused=OF_ROOTS)(status)
    command(app, PANEL, "grantpath browser", unused=("policy", "uri"))(browser)


def up(session: CommandContext, neo4j: Line = None) -> None:
    """Start the embedded Neo4j server if it is not running. Its data are kept between runs."""
    from grantpath.graph.embedded import server

    with reporting("starting Neo4j") as progress:
        running = server.up(neo4j, progress=progress)
    _show(session, running)


def down(session: CommandContext, neo4j: Line = None) -> None:
    """Stop the embedded server; its data are kept."""
    from grantpath.graph.embedded import server

    with reporting("stopping Neo4j"):
        stopped = server.down(neo4j)
    if session.json:
        emit({"stopped": stopped})
    else:
        out().print("stopped; its data are kept" if stopped else "it was not running")


def status(session: CommandContext, neo4j: Line = None) -> None:
    """Print whether the embedded server runs, its address and its login."""
    from grantpath.graph.embedded import server

    _show(session, server.status(neo4j))


def browser(
    session: CommandContext,
    neo4j: Line = None,
    open_: Annotated[bool, typer.Option("--open", help="open the guide in the web browser of this machine")] = False,
) -> None:
    """Print the address and login of Neo4j Browser and of its guide; start the server if necessary.

    With --root, the parameters of the guide's cards name this root.
    """
    from grantpath.graph.embedded import server

    if session.gives("root") and ":" not in str(session.root):
        raise InvalidInput(f"--root {session.root} has no type; write it as TYPE:NAME, e.g. metalake:{session.root}")
    with reporting("starting Neo4j") as progress:
        running = server.up(neo4j, progress=progress)
    guide = _write_guide(running, session.root)
    if session.json:
        emit({**{key: _facts(running)[key] for key in ("browser", "uri", "user", "password_file")}, "guide": guide})
    else:
        for key, value in [*browser_login(running), ("guide", guide)]:
            out().print(styled(f"{key:<12}", "dim"), styled(value), sep="", soft_wrap=True)
        out().print("\nThe guide has the legend, a style with colours, and the questions as cards.")
    if open_:
        import webbrowser

        if not webbrowser.open(guide):
            raise ServerError(f"no web browser could be opened on this machine; open {guide} yourself")


def _write_guide(running: "ServerStatus", root: str | None) -> str:
    """Writes the guide and the style for the server to serve. Returns the address that opens Browser with the guide.

    Neo4j Browser reads guides only from the host `localhost`, so it must be opened from there, too.
    """
    from grantpath.graph.embedded import browser_files, browser_guide

    here = str(running.browser).replace("127.0.0.1", "localhost")
    pages = f"{here}{browser_files.OWN}/"
    browser_files.write_page(running.home, browser_guide.STYLE, browser_guide.style())
    root = root if root and ":" in root else None
    page = browser_guide.page_name(root)
    browser_files.write_page(running.home, page, browser_guide.guide(pages, root))
    return f"{here}?cmd=guide&arg={pages}{page}"


def browser_login(running: "ServerStatus") -> list[tuple[str, str]]:
    """The address and the login for Browser."""
    return [
        ("open", str(running.browser)),
        ("connect to", str(running.uri)),
        ("user", running.user),
        ("password", f"in {running.password_file}"),
    ]


def _facts(found: "ServerStatus") -> dict[str, Any]:
    return {
        "running": found.running,
        "version": found.version,
        "uri": found.uri,
        "user": found.user,
        "password_file": str(found.password_file) if found.password_file else None,
        "browser": found.browser,
        "pid": found.pid,
        "home": str(found.home),
    }


def _show(session: CommandContext, found: "ServerStatus") -> None:
    if session.json:
        emit(_facts(found))
        return
    console = out()
    if not found.running:
        console.print(f"Neo4j {found.version} is not running; `grantpath up` starts it")
        return
    console.print(styled(f"Neo4j {found.version} is running", "bold green"), styled(f" pid {found.pid}"), sep="")
    facts = {
        "bolt": found.uri,
        "browser": found.browser,
        "user": found.user,
        "password": f"in {found.password_file}",
        "data": found.home,
    }
    for key, value in facts.items():
        console.print(styled(f"  {key:<10}", "dim"), styled(str(value)), sep="")
