"""The commands that ask questions: check, explain, revocation, who, which."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from grantpath.engine.cli.change.effects_view import show_effects
from grantpath.engine.cli.context import (
    As,
    AsOf,
    At,
    AtLeast,
    CommandContext,
    Snapshots,
    With,
    command,
    past,
    second_objects,
)
from grantpath.engine.cli.list_formats import Format, ListFormat, note_page, show_as, wanted
from grantpath.engine.cli.output import emit_model, lines, note, out, show_lines, styled
from grantpath.graph.errors import InvalidInput
from grantpath.graph.messages import printable

if TYPE_CHECKING:
    from grantpath.engine.advise.revocation import Revocation
    from grantpath.engine.answers.decision import Decision
    from grantpath.engine.answers.listing import Listing, ReferencePage
    from grantpath.graph.language.statement import Check

PANEL = "Ask"


class PathForm(StrEnum):
    """The forms in which the paths of an explanation are drawn."""

    tree = "tree"
    mermaid = "mermaid"
    dot = "dot"


Subject = Annotated[str, typer.Argument(metavar="SUBJECT", help="the subject, e.g. user:bob")]
Name = Annotated[
    str, typer.Argument(metavar="NAME", help="a PRIVILEGE or an operation, e.g. SELECT_TABLE or load_table")
]
Ref = Annotated[str, typer.Argument(metavar="REF", help="the object, e.g. table:hr.public.staff")]
OneSubject = Annotated[str | None, typer.Argument(metavar="SUBJECT", help="the subject, e.g. user:bob")]
OneName = Annotated[
    str | None, typer.Argument(metavar="NAME", help="a PRIVILEGE or an operation, e.g. SELECT_TABLE or load_table")
]
OneRef = Annotated[str | None, typer.Argument(metavar="REF", help="the object, e.g. table:hr.public.staff")]
File = Annotated[
    str | None, typer.Option("--file", metavar="FILE", help="answer the checks in this file; - is standard input")
]
Type = Annotated[str, typer.Argument(metavar="TYPE", help="a type of object, e.g. table; any: all types")]
SubjectType = Annotated[
    str | None,
    typer.Option(
        "--type", metavar="TYPE", help="the type of subject, if the policy allows checks about it, e.g. group"
    ),
]
Limit = Annotated[int | None, typer.Option(min=1, metavar="N", help="the maximum number of results; default: all")]
After = Annotated[
    str | None, typer.Option(metavar="REF", help="only references after this one, the last of the previous page")
]


RevocationEffects = Annotated[
    bool, typer.Option("--effects", help="also list all access that the statements would take away; reads all facts")
]


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    command(app, PANEL, "grantpath check user:bob load_table table:hr.public.staff")(check)
    command(app, PANEL, "grantpath explain user:bob load_table table:hr.public.staff")(explain)
    command(app, PANEL, "grantpath revocation user:bob load_table table:hr.public.staff")(revocation)
    command(app, PANEL, "grantpath who load_table table:hr.public.staff")(who)
    command(app, PANEL, "grantpath which table user:bob load_table")(which)


def check(
    session: CommandContext,
    subject: OneSubject = None,
    name: OneName = None,
    ref: OneRef = None,
    with_: With = [],  # noqa: B006
    as_: As = None,
    file: File = None,
    at_least: AtLeast = None,
    as_of: AsOf = None,
    snapshot: Snapshots = [],  # noqa: B006
) -> int:
    """Check whether SUBJECT can use NAME on REF.

    A name in UPPER_CASE is a privilege, one in lower_case an operation of the policy. Exit code 0: allowed, 1: not
    allowed, 2: an error. Only "allowed" ends with 0.

    In a script, write `--` before untrusted arguments, so that none of them is read as an option:

    grantpath check -- "$S" "$NAME" "$REF"

    With --file, each line is a check: SUBJECT NAME OBJECT, or a JSON object. Empty lines and lines that begin with #
    are skipped. The answers are in the order of the lines, in batches of 1,000, and each batch has one revision. Exit
    code 0: all are allowed, 1: at least one is not, 2: an error, which names the line. With --json, each answer is one
    JSON object.
    """
    if file is not None:
        if subject is not None or with_ or as_:
            raise InvalidInput("--file cannot be combined with a check, --with or --as; write these into the file")
        from grantpath.engine.cli.ask.check_file import check_file

        return check_file(session, file, at_least, as_of, snapshot)
    if subject is None or name is None or ref is None:
        missing = "SUBJECT" if subject is None else "NAME" if name is None else "REF"
        raise InvalidInput(f"Missing argument '{missing}'. See `grantpath check --help`.")
    with session.open() as authorizer:
        decision = authorizer.check(
            subject,
            name,
            ref,
            as_role=as_,
            with_=second_objects(with_),
            at_least=at_least,
            as_of=past(authorizer, as_of, snapshot),
        )
        if session.json:
            emit_model(decision)
        else:
            show_decision(decision)
            if not decision and as_of is None:
                authorizer.note_absent(subject)
    return 0 if decision else 1


def explain(
    session: CommandContext,
    subject: Subject,
    name: Name,
    ref: Ref,
    with_: With = [],  # noqa: B006
    as_: As = None,
    every: Annotated[bool, typer.Option("--all", help="the paths of every deciding fact")] = False,
    at_least: AtLeast = None,
    as_of: AsOf = None,
    snapshot: Snapshots = [],  # noqa: B006
    form: Annotated[
        PathForm | None, typer.Option("--format", help="a tree (default), or a diagram for Mermaid or Graphviz")
    ] = None,
) -> int:
    """Explain why SUBJECT can use NAME on REF, or why not.

    If it is allowed, this prints paths in the graph that allow it; if not, the nearest remedy, with the path of each
    DENY that the remedy revokes. The paths are a tree; an asterisk marks grants and ownerships. If further grants or
    memberships lead to the same decision, the last line reports it, and --all prints their paths too. --format mermaid
    and --format dot print only a diagram. --json has each path as a line of text and as nodes and edges, the statements
    of the remedy as `remedy`, and whether the paths are complete as `complete`. Exit codes as for check.
    """
    if session.json and form is not None:
        raise InvalidInput(f"--json and --format {form} cannot be combined; give one of them")
    with session.open() as authorizer:
        explanation = authorizer.explain(
            subject,
            name,
            ref,
            as_role=as_,
            with_=second_objects(with_),
            all=every,
            at_least=at_least,
            as_of=past(authorizer, as_of, snapshot),
        )
    if session.json:
        emit_model(explanation)
    elif form in (PathForm.mermaid, PathForm.dot):
        if drawn := explanation.draw("mermaid" if form is PathForm.mermaid else "dot"):
            print(drawn)
        else:
            note(f"there is no path to draw; without --format, the answer says why{'' if explanation else ' not'}")
    else:
        show_decision(explanation.decision)
        tree = explanation.draw("tree").split("\n") if explanation.typed_paths else explanation.paths
        lines(out(), "path" if len(explanation.paths) < 2 else "paths", tree, "cyan")
        if not explanation.complete:
            more = "the list is cut" if every else "--all has the paths of every deciding fact"
            others = "these are not all paths" if explanation.paths else "there are other facts about it"
            out().print(styled(f"  {others}: {more}", "dim"))
    return 0 if explanation else 1


def revocation(
    session: CommandContext,
    subject: Subject,
    name: Name,
    ref: Ref,
    with_: With = [],  # noqa: B006
    as_: As = None,
    at_least: AtLeast = None,
    effects: RevocationEffects = False,
) -> int:
    """List the smallest set of statements after which SUBJECT cannot use NAME on REF any more. It changes nothing.

    The statements are revokes, removals of memberships and changes of owner. `or` lists DENYs that each have the same
    effect alone. The set is proved smallest if at most 20 facts are candidates; a line reports whether it is.
    --effects also lists all access that the statements would take away, from SUBJECT and from others.
    Exit code 0: there is such a set, or SUBJECT is not allowed anyway, 1: none was found, 2: an error.
    """
    with session.open() as authorizer:
        found = authorizer.revocation(
            subject, name, ref, as_role=as_, with_=second_objects(with_), at_least=at_least, effects=effects
        )
        if session.json:
            emit_model(found)
        else:
            _show_revocation(found)
            if not found.allowed:
                authorizer.note_absent(subject)
    return 0 if found.statements is not None else 1


def _show_revocation(found: "Revocation") -> None:
    question = asked(found.question)
    console, proof = out(), "proved smallest" if found.proved_smallest else "not proved smallest"
    if not found.allowed:
        console.print(styled("not allowed", "bold red"), styled(f" {question}"), sep="")
        return
    console.print(styled("allowed", "bold green"), styled(f" {question}"), sep="")
    if found.statements is None:
        none = "no revocation is possible" if found.proved_smallest else "no revocation was found"
        console.print(styled(f"  {none}", "yellow"))
    lines(console, "revoke", [*(found.statements or ())], "yellow")
    lines(console, "or", [*found.denies], "yellow")
    if found.statements:
        console.print(styled(f"  {proof}, of {found.candidates:,} candidate facts", "dim"))
    if found.effects is not None:
        show_effects(found.effects, "effects of revoke" if found.denies else "effects")


def who(
    session: CommandContext,
    name: Name,
    ref: Ref,
    type_: SubjectType = None,
    with_: With = [],  # noqa: B006
    limit: Limit = None,
    after: After = None,
    at: At = None,
    at_least: AtLeast = None,
    as_of: AsOf = None,
    snapshot: Snapshots = [],  # noqa: B006
    format_: Format = None,
) -> None:
    """List who can use NAME on REF.

    Prints one user or service principal per line, in byte order; with --type, the subjects of that type.
    """
    form = wanted(session.json, format_)
    with session.open() as authorizer:
        found = authorizer.who(
            name,
            ref,
            type=type_,
            with_=second_objects(with_),
            limit=limit,
            after=after,
            at=at,
            at_least=at_least,
            as_of=past(authorizer, as_of, snapshot),
        )
        _list(found, form, as_of is not None)


def which(
    session: CommandContext,
    type_: Type,
    subject: Subject,
    name: Name,
    with_: With = [],  # noqa: B006
    as_: As = None,
    limit: Limit = None,
    after: After = None,
    at: At = None,
    at_least: AtLeast = None,
    as_of: AsOf = None,
    snapshot: Snapshots = [],  # noqa: B006
    format_: Format = None,
) -> None:
    """List the objects of TYPE on which SUBJECT can use NAME.

    Prints one object per line, in byte order. With `any` as TYPE, the objects of all types on which NAME can be asked.
    """
    form = wanted(session.json, format_)
    with session.open() as authorizer:
        found = authorizer.which(
            type_,
            subject,
            name,
            as_role=as_,
            with_=second_objects(with_),
            limit=limit,
            after=after,
            at=at,
            at_least=at_least,
            as_of=past(authorizer, as_of, snapshot),
        )
        page = _list(found, form, as_of is not None)
        if as_of is None and after is None and form is not ListFormat.json and not page.answer:
            authorizer.note_absent(subject)


def asked(check: "Check") -> str:
    """A check in a line: its subject, name and object."""
    return f"{printable(check.subject)} {check.name} on {printable(check.object)}"


def show_decision(decision: "Decision") -> None:
    """Prints a decision as text: the verdict, and the reasons or what is missing."""
    console, question = out(), asked(decision.question)
    if decision:
        console.print(styled("allowed", "bold green"), styled(f" {question}"), sep="")
    else:
        console.print(styled("not allowed", "bold red"), styled(f" {question}"), sep="")
    lines(console, "because", decision.because, "green")
    lines(console, "why not", decision.missing, "yellow")


def _list(listing: "Listing", form: ListFormat | None, past: bool) -> "ReferencePage":
    found = listing.read()
    if show_as(form, found, lambda: show_lines(found.answer)):
        note_page(found, past)
    return found
