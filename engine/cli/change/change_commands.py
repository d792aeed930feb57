"""The command `change`."""

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grantpath.engine.cli.change.consent import NAMED, Yes, confirm_drop, confirm_opening
from grantpath.engine.cli.change.effects_view import show_effects
from grantpath.engine.cli.context import As, CommandContext, Create, command
from grantpath.engine.cli.output import about_item, emit, out, show_lists, styled
from grantpath.graph.errors import GrantpathError, Invalid, InvalidInput, Refused, Unknown
from grantpath.graph.messages import how_many, printable, read_printed

if TYPE_CHECKING:
    from grantpath.engine.answers.access_effects import Effects
    from grantpath.engine.authorizer.authorizer import Outcome
    from grantpath.engine.change.made import Change
    from grantpath.engine.cli.command_authorizer import CommandAuthorizer
    from grantpath.graph.language.reference import Reference

PANEL = "Change"
BLANK = " \t\r"
NONE_DONE = "nothing is done"
EACH_BEFORE = "the lines before it are made, except wrong ones: see `grantpath log`"
Statement = Annotated[
    str | None, typer.Argument(metavar="[STATEMENT]", help="the change, in quotes; see the forms above")
]
File = Annotated[
    str | None,
    typer.Option("--file", metavar="FILE", help="a file of statements, one per line; - reads standard input"),
]
Id = Annotated[
    str | None,
    typer.Option(
        "--id", metavar="ID", help="a request id of your choice: with it, a repeated change is made only once"
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="list what would be added and removed, without changing anything")
]
ShowEffects = Annotated[
    bool, typer.Option("--effects", help="with --dry-run: also list who would gain and lose what; reads all facts")
]
Each = Annotated[
    bool,
    typer.Option("--each", help="with --file: make each statement that can be made; others may be refused or invalid"),
]
By = Annotated[
    str | None,
    typer.Option("--by", metavar="SUBJECT", help="the actor, e.g. user:ann; without it, a fact is written"),
]


def register(app: typer.Typer) -> None:
    """Adds the command."""
    grant = '"allow SELECT_TABLE on table:hr.public.staff to role:analyst"'
    command(app, PANEL, f"grantpath change {grant} --by user:ann")(change)


def change(
    session: CommandContext,
    statement: Statement = None,
    by: By = None,
    as_: As = None,
    file: File = None,
    id_: Id = None,
    dry_run: DryRun = False,
    effects: ShowEffects = False,
    create: Create = False,
    each: Each = False,
    yes: Yes = False,
) -> int | None:
    """Make one change, or all changes of a file or none, or each change of a file that can be made.

    Statements: add REF, drop REF, member SUBJECT of SUBJECT, remove SUBJECT from SUBJECT, owner SUBJECT of REF,
    hand over SUBJECT to SUBJECT (everything that the first one owns), rename REF to NAME, move REF to REF (the new
    parent), tag REF with REF, untag REF from REF, allow (or deny) PRIVILEGE on REF to SUBJECT, revoke allow (or deny)
    PRIVILEGE on REF from SUBJECT. With `until 2026-12-31T00:00:00Z` after member, allow or deny, the fact is removed at
    that time. A file has one statement per line; each sees the ones before it (with --each --dry-run, only the present
    state). Lines that start with # are ignored.

    With --by, the policy decides whether the actor is allowed to make the change; without it, a fact is written. With
    --create, the root is created if it does not exist; with --create --by, by this user, who becomes its owner. With
    --create --dry-run, no root is left. Before dropping the root itself, this asks for its name, and before dropping a
    tag with DENYs, which can open access, for consent; without a terminal, --yes must confirm it.

    --dry-run --effects also lists who would gain and who would lose which privileges and operations on what, with the
    deciding grants. The widest effect comes first. Exit code 0: done, 1: refused, 2: an error. With --each, every
    statement has an outcome of its own; 0: all are done, 2: one or more are invalid, 1: none is, but some are refused.
    """
    from grantpath.graph.language.statement import parse_statement

    if (statement is None) == (file is None):
        raise typer.BadParameter("give either a STATEMENT or a --file of statements")
    if each and (file is None or effects):
        raise typer.BadParameter("--each needs --file" if file is None else "--each takes no --effects; omit it")
    if effects and (not dry_run or id_ is not None):
        raise typer.BadParameter("--effects needs --dry-run" if not dry_run else "--effects takes no --id; omit it")
    history = id_ is not None  # the change with this id can be the drop of the root
    if statement is not None:
        parse_statement(statement)
        with session.open(create, history, by=by if create else None, dry_run=dry_run) as authorizer:
            consent_to_drop(authorizer, [statement], dry_run or yes, by, as_, each)
            if effects:
                with naming_the_statement():
                    planned = authorizer.plan([statement], by=by, as_role=as_)
                show_changes(session, [*planned.changes], True, _summary(planned.changes[0], True), planned.effects)
            else:
                done = authorizer.change(statement, by=by, as_role=as_, id=id_, dry_run=dry_run)
                show_changes(session, [done], dry_run, _summary(done, dry_run))
        return None
    lines = read_statements(str(file))
    texts = [text for _, text in lines]
    before = EACH_BEFORE if each and not dry_run else NONE_DONE
    with (
        session.open(create, history, by=by if create else None, dry_run=dry_run) as authorizer,
        naming_the_line(str(file), lines, before),
    ):
        consent_to_drop(authorizer, texts, dry_run or yes, by, as_, each)
        if each:
            outcomes = authorizer.change_all(texts, by=by, as_role=as_, id=id_, dry_run=dry_run, each=True)
            return show_each(session, str(file), lines, outcomes, dry_run)
        if effects:
            planned = authorizer.plan(texts, by=by, as_role=as_)
            made = [*planned.changes]
        else:
            made = authorizer.change_all(texts, by=by, as_role=as_, id=id_, dry_run=dry_run)
        show_changes(session, made, dry_run, batch_summary(made, dry_run), planned.effects if effects else None)
    return None


@contextmanager
def naming_the_statement() -> Iterator[None]:
    """Removes the number from an error about the only statement of a list."""
    try:
        yield
    except GrantpathError as error:
        if error.index is None:
            raise
        named = about_item(error, "statement")
        named.index = None
        raise named from None


@contextmanager
def naming_the_line(file: str, lines: list[tuple[int, str]], before: str = NONE_DONE) -> Iterator[None]:
    """Adds the line to an error about one of the statements of a file, and what is done of the lines before it."""
    try:
        yield
    except GrantpathError as error:
        if error.index is None:
            raise
        raise about_item(error, "statement", f"{file}:{lines[error.index][0]}: ", f"; {before}") from None


def consent_to_drop(
    authorizer: "CommandAuthorizer",
    statements: list[str],
    given: bool,
    by: str | None,
    as_role: str | None,
    each: bool = False,
) -> None:
    """Asks for consent to statements that drop the root with everything in it, or a tag that has a DENY. Raises
    InvalidInput without it. `each`: the others are made if one of them is wrong."""
    from grantpath.engine.tenants.registry import sizes

    if given:
        return
    dropped = [ref for text in statements if (ref := _object_of(authorizer, text, "drop"))]
    if any(ref != authorizer.root and _tag_types(authorizer, ref) for ref in dropped):
        denies, effects = _ended_denies(authorizer, statements, by, as_role, each)
        if denies:
            confirm_opening(denies, effects)
    if authorizer.root in dropped:
        row = sizes(authorizer.store, authorizer.tenant)
        holds = how_many({name: row[name] for name in ("subjects", "objects", "members", "owners", "tags", "grants")})
        confirm_drop(authorizer.root.text, holds)


def _ended_denies(
    authorizer: "CommandAuthorizer", statements: list[str], by: str | None, as_role: str | None, each: bool
) -> "tuple[list[str], Effects | None]":
    """The DENYs on the tags that statements drop, as statements, and the effects of all statements, if they can be
    planned together. No DENYs if nothing will be done: the change itself reports why."""
    try:
        planned = authorizer.plan(statements, by=by, as_role=as_role)
    except GrantpathError:  # also if the change is too large for a plan
        # with `each`, the others are made, and can give the actor the right to drop a tag
        if not each or len(statements) == 1:
            try:
                authorizer.change_all(statements, by=by, as_role=as_role, dry_run=True)
            except (Refused, Invalid):
                return [], None
        found: dict[str, None] = {}
        for fact in _present_denies(authorizer, statements):
            found[fact] = None
            if len(found) > NAMED:
                break  # the question names no more
        return list(found), None
    return [fact for change in planned.changes for fact in _denies_on_dropped(authorizer, change)], planned.effects


def _denies_on_dropped(authorizer: "CommandAuthorizer", change: "Change") -> list[str]:
    """The DENYs on the tags that a change drops, as statements."""
    from grantpath.graph.language.reference import type_of
    from grantpath.graph.language.statement import parse_statement

    if parse_statement(change.question.statement).kind != "drop":
        return []
    removed = [(fact, parse_statement(fact)) for fact in change.removed]
    types = authorizer.policy.file.tags
    tags = {words.object for _, words in removed if words.kind == "add" and type_of(words.object) in types}
    return [fact for fact, words in removed if words.effect == "DENY" and words.object in tags]


def _present_denies(authorizer: "CommandAuthorizer", statements: list[str]) -> Iterator[str]:
    """The DENYs that are now on the tags which statements drop, and on those that they rename or move before."""
    kinds = ("drop", "rename", "move")
    found = dict.fromkeys(ref for kind in kinds for text in statements if (ref := _object_of(authorizer, text, kind)))
    for tag in (tag for ref in found for tag in _tags_at(authorizer, ref)):
        with suppress(Unknown):  # it was dropped meanwhile
            yield from (fact.statement for fact in authorizer.grants(on=tag, effect="DENY"))


def _tags_at(authorizer: "CommandAuthorizer", ref: "Reference") -> Iterator[str]:
    """An entity if it is a tag, and all tags below it."""
    for type_ in _tag_types(authorizer, ref):
        if type_ == ref.type:
            yield ref.text
        more, after = type_ in authorizer.policy.names.below(ref.type), None
        while more:
            try:
                page = authorizer.list(type_, under=ref.text, after=after)
            except Unknown:  # it does not exist now
                break
            yield from page
            more, after = page.after is not None, page.after


def _tag_types(authorizer: "CommandAuthorizer", ref: "Reference") -> list[str]:
    """The types of the tags that are dropped with an entity: its own, and those below it."""
    below = authorizer.policy.names.below(ref.type)
    return [type_ for type_ in authorizer.policy.file.tags if type_ == ref.type or type_ in below]


def _object_of(authorizer: "CommandAuthorizer", text: str, kind: str) -> "Reference | None":
    """The reference that a statement of a kind is about; None for other statements."""
    from grantpath.graph.language.statement import parse_statement

    try:
        statement = parse_statement(text)
        object_ = authorizer.policy.reference(statement.object, authorizer.root)
        return object_ if statement.kind == kind else None
    except Invalid:
        return None  # the change itself reports the error


def read_statements(file: str) -> list[tuple[int, str]]:
    """The statements of a file (-: standard input), each with its line number. Raises InvalidInput.

    A line can be a statement in its printed form. Only spaces, tabs and carriage returns around a statement are
    removed. Other white space is invisible and can be part of a name, so a line that begins or ends with it is an
    error.
    """
    from grantpath.engine.policy.yaml_reader import read_text

    text = _read_input() if file == "-" else read_text(Path(file))
    numbered = enumerate(text.removeprefix("\ufeff").split("\n"), 1)
    found = [(at, line.strip(BLANK)) for at, line in numbered]
    found = [(at, line) for at, line in found if line and not line.startswith("#")]
    for at, line in found:
        for char, where in ((line[0], "begins"), (line[-1], "ends")):
            if char.isspace() or not char.isprintable():
                raise InvalidInput(
                    f"{file}:{at}: the line {where} with the invisible U+{ord(char):04X}; remove it, or quote "
                    "the name that it belongs to with backticks; nothing is done"
                )
    if not found:
        raise InvalidInput(f"{file} has no statement; write one per line, e.g. add user:bob")
    return [(at, read_printed(line)) for at, line in found]


def _read_input() -> str:
    from grantpath.engine.policy.yaml_reader import MAX_BYTES

    try:
        text = sys.stdin.read(MAX_BYTES + 1)
    except UnicodeDecodeError:
        raise InvalidInput("standard input is not UTF-8; write it in UTF-8") from None
    if len(text) > MAX_BYTES:
        raise InvalidInput(f"standard input is longer than {MAX_BYTES:,} characters; split it, or `grantpath load` it")
    return text


def _summary(change: "Change", dry_run: bool) -> dict[str, Any]:
    summary: dict[str, Any] = {
        "id": change.id,
        "changed": change.id is not None,
        "revision": change.revision,
        "hash": change.hash,
    }
    if change.note:
        summary["note"] = change.note
    if change.without_owner != []:
        summary["without_owner"] = change.without_owner
    return {**summary, "added": change.added, "removed": change.removed} if dry_run else summary


def batch_summary(made: "list[Change]", dry_run: bool) -> dict[str, Any]:
    """A batch as JSON. `hash` is the hash of the last entry, which proves the whole batch; `added` and `removed` are
    the net facts."""
    from grantpath.engine.change.deltas import net

    hashes = [each.hash for each in made if each.hash]
    changed = any(each.id is not None for each in made)
    summary = {"changes": [_summary(each, dry_run) for each in made], "changed": changed, "revision": made[-1].revision}
    together = net(made)
    lists = {"added": together.added, "removed": together.removed} if dry_run else {}
    return {**summary, "hash": hashes[-1] if hashes else None, **lists}


def show_each(
    session: CommandContext, file: str, lines: list[tuple[int, str]], outcomes: "list[Outcome]", dry_run: bool
) -> int:
    """Prints the outcome of each line of a file, and returns the exit code."""
    words = [_outcome(each) for each in outcomes]
    found = Counter(words)
    counts = {word: found[word] for word in ("done", "refused", "invalid")}
    if session.json:
        rows = [
            {"line": at, "statement": text, "outcome": word}
            | (each.as_dict() if isinstance(each, GrantpathError) else _summary(each, dry_run))
            for (at, text), word, each in zip(lines, words, outcomes, strict=True)
        ]
        dry = {"dry_run": True} if dry_run else {}
        emit({"done": counts["done"] == len(rows) and not dry_run, **dry, "changes": rows, "counts": counts})
    else:
        for (at, text), word, each in zip(lines, words, outcomes, strict=True):
            if isinstance(each, GrantpathError):
                verdict, rest, color = word, printable(str(each)), "bold red"
            else:
                verdict = "nothing to change" if each.id is None else "would be done" if dry_run else "done"
                rest, color = f"{printable(each.note or text)}, revision {each.revision}", "bold green"
            out().print(f"{printable(file)}:{at}: ", styled(verdict, color), f": {rest}", sep="")
        out().print(styled(", ".join(f"{count:,} {word}" for word, count in counts.items() if count)))
    return 2 if counts["invalid"] else 1 if counts["refused"] else 0


def _outcome(each: "Outcome") -> str:
    return "refused" if isinstance(each, Refused) else "invalid" if isinstance(each, GrantpathError) else "done"


def show_changes(
    session: CommandContext,
    made: "list[Change]",
    dry_run: bool,
    summary: dict[str, Any],
    effects: "Effects | None" = None,
) -> None:
    """Prints changes that were made, or that a dry run would make. `summary` is their JSON."""
    from grantpath.engine.change.deltas import net

    already = dry_run and made[0].already
    if session.json:
        notes = {**({"dry_run": True} if dry_run else {}), **({"done_already": True} if already else {})}
        told = {} if effects is None else {"effects": effects.model_dump(mode="json")}
        emit({"done": not dry_run, **notes, **summary, **told})
        return
    changed = [each for each in made if each.id is not None]
    many = f" {len(changed):,} of {len(made):,} statements," if len(made) != 1 else ""
    revision = changed[-1].revision if changed else made[-1].revision
    if already:
        what = many and f",{many}"
        verdict = "done already"
        rest = f"{what if changed else ', it changed nothing'} at revision {revision}: nothing would be done"
    else:
        verdict = "would be done" if dry_run else "done"
        rest = f"{many}{'' if changed else ' nothing to change,'} revision {revision}"
    out().print(styled(verdict, "bold green"), styled(rest), sep="")
    for each in made:
        if each.note:
            out().print(styled(f"  {each.note}", "yellow"))
    if dry_run and not already:
        together = net(made)
        show_lists([("-", together.removed), ("+", together.added)])
    if effects is not None:
        show_effects(effects)
