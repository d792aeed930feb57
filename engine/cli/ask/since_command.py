"""The command `since`: the change that gave a check its present answer."""

import typer

from grantpath.engine.cli.ask.ask_commands import PANEL, Name, Ref, Subject, asked
from grantpath.engine.cli.context import As, CommandContext, With, command, second_objects
from grantpath.engine.cli.output import emit_model, lines, out, styled


def register(app: typer.Typer) -> None:
    """Adds the command."""
    command(app, PANEL, "grantpath since user:bob load_table table:hr.public.staff")(since)


def since(
    session: CommandContext,
    subject: Subject,
    name: Name,
    ref: Ref,
    with_: With = [],  # noqa: B006
    as_: As = None,
) -> int:
    """Show since when SUBJECT can (or cannot) use NAME on REF, and which change caused this.

    The changes of the log are undone one by one until the answer is different. If the log does not reach back that far,
    the output reports it. Exit codes as for check.
    """
    with session.open() as authorizer:
        found = authorizer.since(subject, name, ref, as_role=as_, with_=second_objects(with_))
        if session.json:
            emit_model(found)
        else:
            verdict = styled("allowed", "bold green") if found else styled("not allowed", "bold red")
            out().print(verdict, styled(f" {asked(found.question)}"), sep="")
            lines(out(), "since", found.reasons, "green" if found else "yellow")
        if not found and not session.json:
            authorizer.note_absent(subject)
    return 0 if found else 1
