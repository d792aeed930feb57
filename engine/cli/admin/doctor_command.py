"""The command `doctor`: whether the set-up is fine."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from grantpath.engine.cli.context import A_ROOT, CommandContext, command
from grantpath.engine.cli.output import emit, page, styled

if TYPE_CHECKING:
    from grantpath.engine.cli.admin.setup_findings import Finding


def register(app: typer.Typer) -> None:
    """Adds the command."""
    command(app, "Server", "grantpath doctor --uri bolt://localhost:7687", unused=A_ROOT)(doctor)


def doctor(session: CommandContext) -> int:
    """Print whether the set-up is fine: the server, its Java and memory, the driver and the optional packages.

    A line that is not fine says what to do. The command changes nothing and starts no server. The exit code is 0 if all
    is fine, and 1 if a line needs action.
    """
    from grantpath.engine.cli.admin.setup_findings import findings

    found = list(findings(session.uri, session.timeout or 10.0))
    fine = all(each.remedy is None for each in found)
    if session.json:
        emit({"fine": fine, "findings": [asdict(each) for each in found]})
    else:
        _show(found)
    return 0 if fine else 1


def _show(found: "list[Finding]") -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column()
    for each in found:
        about, text = styled(each.about, "bold"), styled(each.found)
        if each.remedy is None:
            table.add_row(about, styled("fine", "green"), text)
        else:
            table.add_row(about, styled("act", "bold red"), Text.assemble(text, ": ", styled(each.remedy, "yellow")))
    page().print(table)
