"""The commands `plan` and `apply`: a change that is reviewed before it is made."""

from typing import TYPE_CHECKING, Annotated

import typer

from grantpath.engine.cli.change.change_commands import (
    PANEL,
    By,
    Id,
    batch_summary,
    consent_to_drop,
    naming_the_line,
    read_statements,
    show_changes,
)
from grantpath.engine.cli.change.consent import Yes
from grantpath.engine.cli.context import As, CommandContext, command
from grantpath.engine.cli.output import emit_model
from grantpath.graph.messages import as_markdown, counted, printable

if TYPE_CHECKING:
    from grantpath.engine.change.change_plan import ChangePlan

CHANGES = 3  # the exit code of a plan that changes something
SHOWN = 500  # the most entries of each list of a plan: facts, losses, gains
File = Annotated[str, typer.Argument(metavar="FILE", help="a file of statements, one per line; - reads standard input")]
AtRevision = Annotated[int, typer.Option("--at-revision", metavar="REVISION", help="the revision that the plan states")]
RootId = Annotated[
    str | None, typer.Option("--root-id", metavar="ID", help="the creation id of the root, from the plan")
]


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    command(app, PANEL, "grantpath plan changes.txt --by user:ann")(plan)
    command(app, PANEL, "grantpath apply changes.txt --by user:ann --at-revision 12")(apply)


def plan(session: CommandContext, file: File, by: By = None, as_: As = None) -> int:
    """Print a plan of the statements in a file, as Markdown for a review. Changes nothing.

    The plan has the revision, every fact that would be added or removed, and the effects: who would gain and who would
    lose which privileges and operations on what. `grantpath apply` makes exactly this change, or nothing. Exit code 0:
    nothing would change, 3: something would change, 1: refused, 2: an error.
    """
    lines = read_statements(file)
    with session.open() as authorizer:
        with naming_the_line(file, lines):
            planned = authorizer.plan([text for _, text in lines], by=by, as_role=as_)
        tenant = authorizer.tenant
    if session.json:
        emit_model(planned)
    else:
        print("\n".join(_markdown(planned, tenant, file, by, as_)))
    return CHANGES if planned.added or planned.removed else 0


def apply(
    session: CommandContext,
    file: File,
    at_revision: AtRevision,
    root_id: RootId = None,
    by: By = None,
    as_: As = None,
    id_: Id = None,
    yes: Yes = False,
) -> None:
    """Make all changes of a file in one transaction, if the root is still at the revision of the plan.

    If the root was changed since then, nothing is done, and the exit code is 2; plan the changes again. With --root-id,
    the same applies if the root was dropped, even if a new root has the same name and revision. Before dropping the
    root itself, this asks for its name, and before dropping a tag with DENYs, for consent; without a terminal, --yes
    must confirm it. Exit code 0: done, 1: refused, 2: an error.
    """
    lines = read_statements(file)
    texts = [text for _, text in lines]
    with session.open(history=id_ is not None) as authorizer:
        consent_to_drop(authorizer, texts, yes, by, as_)
        with naming_the_line(file, lines):
            made = authorizer.change_all(texts, by=by, as_role=as_, id=id_, at_revision=at_revision, root_id=root_id)
    show_changes(session, made, False, batch_summary(made, False))


def _markdown(planned: "ChangePlan", tenant: str, file: str, by: str | None, as_role: str | None) -> list[str]:
    """The lines of the plan."""
    count, effects = len(planned.changes), planned.effects
    actor = f", by {as_markdown(by)}{f' as {as_markdown(as_role)}' if as_role else ''}" if by else ""
    lines = [
        f"# Plan for {as_markdown(tenant)} at revision {planned.revision}",
        "",
        f"{counted(count, 'statements')} of {as_markdown(file)}{actor}: {as_markdown(effects.summary())}.",
    ]
    signed = [("-", each) for each in planned.removed] + [("+", each) for each in planned.added]
    facts = [f"{sign} {printable(each)}" for sign, each in signed]
    if facts:
        lines += ["", "## Facts", "", "~~~diff", *facts[:SHOWN], "~~~", *_rest(len(facts))]
    else:
        lines += ["", "Nothing would change."]
    if notes := [f"- {as_markdown(each.note)}" for each in planned.changes if each.note]:
        lines += ["", "## Notes", "", *notes[:SHOWN], *_rest(len(notes))]
    for verb, title in (("lose", "Lost"), ("gain", "Gained")):
        told = [each.sentence() for each in effects.effects if each.effect == verb]
        if told:
            lines += ["", f"## {title}", "", *(f"- {as_markdown(each)}" for each in told[:SHOWN]), *_rest(len(told))]
    if effects.omitted:
        lines += ["", f"Not compared, because they need a second object: {', '.join(effects.omitted)}."]
    if facts:
        same = f"`--at-revision {planned.revision} --root-id {planned.root_id}`"
        lines += ["", f"Make exactly this change with {same} of `grantpath apply`."]
    return lines


def _rest(count: int) -> list[str]:
    return ["", f"... and {count - SHOWN:,} more; `--json` has all of them."] if count > SHOWN else []
