"""The commands for the embedded server: up, down, status, browser."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from grantpath.engine.cli.context import CommandContext, command
from grantpath.engine.cli.output import emit, out, reporting, styled

if TYPE_CHECKING:
    from grantpath.graph.embedded.server import ServerStatus

PANEL = "Server"
Line = Annotated[
    str | None, typer.Option("--neo4j", metavar="LINE", help="5.26 or 2026 [env: GRANTPATH_NEO4J, else 5.26]")
]


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    command(app, PANEL, "grantpath up")(up)
    command(app, PANEL, "grantpath down")(down)
    command(app, PANEL, "grantpath status --json")(status)
    command(app, PANEL, "grantpath browser")(browser)


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


def browser(session: CommandContext, neo4j: Line = None) -> None:
    """Print the address and login of Neo4j Browser; start the server if necessary."""
    from grantpath.graph.embedded import server

    with reporting("starting Neo4j") as progress:
        running = server.up(neo4j, progress=progress)
    if session.json:
        emit({key: _facts(running)[key] for key in ("browser", "uri", "user", "password_file")})
        return
    for key, value in browser_login(running):
        out().print(styled(f"{key:<12}", "dim"), styled(value), sep="")
    out().print("\nThen run the line that `grantpath params SUBJECT NAME REF` prints, and paste cypher/check.cypher.")


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
