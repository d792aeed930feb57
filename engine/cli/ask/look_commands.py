"""The commands that show what is in a root: show, list, grants, members, memberships, can."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

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
from grantpath.engine.cli.output import emit_model, lines, note, page, shell_word, show_lines, show_table, styled
from grantpath.graph.messages import printable

if TYPE_CHECKING:
    from pydantic import BaseModel

    from grantpath.engine.inspection.models import EntityView, Grant, GrantPage, Membership, MembershipPage

PANEL = "Look"
Ref = Annotated[str, typer.Argument(metavar="REF", help="a reference, e.g. table:hr.public.staff")]
Type = Annotated[str, typer.Argument(metavar="TYPE", help="a type, e.g. table or user")]
Container = Annotated[str, typer.Argument(metavar="REF", help="a group or a role, e.g. role:analyst")]
Subject = Annotated[
    str, typer.Argument(metavar="SUBJECT", help="a user, service principal, group or role, e.g. user:bob")
]
Every = Annotated[bool, typer.Option("--all", help="also those through other groups and roles")]
Limit = Annotated[int, typer.Option(min=1, max=10_000, metavar="N", help="the maximum number of results")]
After = Annotated[
    str | None, typer.Option(metavar="REF", help="only entries after this one, the last of the previous page")
]
AfterGrant = Annotated[
    str | None, typer.Option(metavar="GRANT", help="only grants after this one, the last of the previous page")
]


class EffectOption(StrEnum):
    """The effects of grants."""

    allow = "ALLOW"
    deny = "DENY"


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    command(app, PANEL, "grantpath show table:hr.public.staff")(show)
    command(app, PANEL, "grantpath list table --under schema:hr.public", name="list")(list_entities)
    command(app, PANEL, "grantpath grants --on table:hr.public.staff")(grants)
    command(app, PANEL, "grantpath members role:analyst --all")(members)
    command(app, PANEL, "grantpath memberships user:bob --all")(memberships)
    command(app, PANEL, "grantpath can user:bob table:hr.public.staff")(can)


def show(
    session: CommandContext,
    ref: Ref,
    at_least: AtLeast = None,
    as_of: AsOf = None,
    snapshot: Snapshots = [],  # noqa: B006
) -> None:
    """Show one entity: its parents, its owner, its members and memberships, and the grants on it and to it.

    Each list has at most 50 lines. If it is cut, the last line names the command that lists all of it, except for the
    tags of an object and for a past state.
    """
    with session.open() as authorizer:
        view = authorizer.show(ref, at_least=at_least, as_of=past(authorizer, as_of, snapshot))
    if _as_json(session, view):
        return
    _show(view, is_past=as_of is not None)


def list_entities(
    session: CommandContext,
    type_: Type,
    under: Annotated[str | None, typer.Option(metavar="REF", help="only those below this place")] = None,
    owned_by: Annotated[str | None, typer.Option(metavar="REF", help="only those with this owner")] = None,
    without_owner: Annotated[bool, typer.Option("--without-owner", help="only those without an owner")] = False,
    like: Annotated[str | None, typer.Option(metavar="TEXT", help="only those with this text in their name")] = None,
    limit: Limit = 1_000,
    after: After = None,
    at: At = None,
    at_least: AtLeast = None,
    format_: Format = None,
) -> None:
    """List the existing entities of TYPE.

    Prints one reference per line, in byte order. --like compares the part after the type, and ignores case.
    """
    form = wanted(session.json, format_)
    with session.open() as authorizer:
        found = authorizer.list(
            type_,
            under=under,
            owned_by=owned_by,
            without_owner=without_owner,
            like=like,
            limit=limit,
            after=after,
            at=at,
            at_least=at_least,
        )
    if show_as(form, found, lambda: show_lines(found.answer)):
        note_page(found)


def grants(
    session: CommandContext,
    on: Annotated[str | None, typer.Option("--on", metavar="REF", help="only grants on this object")] = None,
    to: Annotated[str | None, typer.Option("--to", metavar="SUBJECT", help="only grants to this subject")] = None,
    privilege: Annotated[str | None, typer.Option(metavar="PRIVILEGE", help="only grants of this privilege")] = None,
    effect: Annotated[
        EffectOption | None, typer.Option(case_sensitive=False, help="only grants with this effect")
    ] = None,
    limit: Limit = 1_000,
    after: AfterGrant = None,
    at: At = None,
    at_least: AtLeast = None,
    format_: Format = None,
) -> None:
    """List the stored grants that match all options, sorted by object, subject, privilege and effect.

    --on and --to are exact: grants on the places above the object, or to the groups and roles of the subject, are not
    listed. To see the resulting access, use `can` or `who`.
    """
    form = wanted(session.json, format_)
    with session.open() as authorizer:
        found = authorizer.grants(
            on=on,
            to=to,
            privilege=privilege,
            effect=None if effect is None else effect.value,
            limit=limit,
            after=after,
            at=at,
            at_least=at_least,
        )
    ends = any(each.until for each in found)
    rows = [
        (each.effect, each.privilege, each.object, each.subject, *([each.until or ""] if ends else []))
        for each in found
    ]
    columns = ("effect", "privilege", "on", "to", *(["until"] if ends else []))
    if show_as(form, found, lambda: show_table(columns, rows)):
        note_page(found)


def members(
    session: CommandContext,
    ref: Container,
    every: Every = False,
    limit: Limit = 1_000,
    after: After = None,
    at: At = None,
    at_least: AtLeast = None,
    format_: Format = None,
) -> None:
    """List the direct members of a group or a role; with --all also those through other groups and roles.

    The column `through` has the groups and roles of a shortest path from the member.
    """
    form = wanted(session.json, format_)
    with session.open() as authorizer:
        found = authorizer.members(ref, all=every, limit=limit, after=after, at=at, at_least=at_least)
    _show_memberships(form, found, "member", [each.member for each in found.answer])


def memberships(
    session: CommandContext,
    subject: Subject,
    every: Every = False,
    limit: Limit = 1_000,
    after: After = None,
    at: At = None,
    at_least: AtLeast = None,
    format_: Format = None,
) -> None:
    """List the groups and roles that SUBJECT belongs to directly; with --all also those through others.

    The column `through` has the groups and roles of a shortest path from SUBJECT.
    """
    form = wanted(session.json, format_)
    with session.open() as authorizer:
        found = authorizer.memberships(subject, all=every, limit=limit, after=after, at=at, at_least=at_least)
    _show_memberships(form, found, "belongs to", [each.container for each in found.answer])


def can(
    session: CommandContext,
    subject: Subject,
    ref: Ref,
    with_: With = [],  # noqa: B006
    as_: As = None,
    at_least: AtLeast = None,
    format_: Format = None,
) -> None:
    """List every privilege and operation on REF, with whether SUBJECT can use it.

    SUBJECT can also be a group or a role; the answers are then those for a new user with only this membership. An
    operation that needs a second object has no answer unless --with names one.
    """
    form = wanted(session.json, format_)
    with session.open() as authorizer:
        found = authorizer.can(subject, ref, as_role=as_, with_=second_objects(with_), at_least=at_least)
    words = {True: "yes", False: "no"}
    rows = [
        (each.name, words[each.allowed] if each.allowed is not None else _needs(each.needs)) for each in found.answer
    ]

    def show() -> None:
        if rows and all(each.allowed is False for each in found.answer):  # a column of `no` says nothing
            lines(page(), "no", [", ".join(name for name, _ in rows)])
        else:
            show_table(("name", "allowed"), rows)

    if show_as(form, found, show):
        note(f"{len(found.allowed):,} of {len(rows):,} allowed at revision {found.revision}")


# ---- output --------------------------------------------------------------------------------------------------------
def _as_json(session: CommandContext, answer: "BaseModel") -> bool:
    """Prints the answer if JSON is wanted; returns whether it is."""
    if session.json:
        emit_model(answer)
    return session.json


def _show(view: "EntityView", is_past: bool) -> None:
    """Prints the view. What is cut is listed by other commands, except for a past state."""

    def rest(command: str) -> str:
        return "" if is_past else f": grantpath {command}"

    console = page()
    exists = "" if view.exists else ", does not exist yet"
    console.print(styled(view.ref, "bold"), styled(f" {view.type}{exists}{', built in' * view.builtin}"), sep="")
    children = [f"{number:,} {type_}" for type_, number in view.children.items()]
    counts, ref = view.counts, shell_word(view.ref)
    sections: list[tuple[str, Sequence[str]]] = [
        ("parents", [*map(printable, view.parents)]),
        ("children", [", ".join(children)] if children else []),
        ("owner", [printable(view.owner)] if view.owner else []),
        ("owns", [f"{counts.owns:,}"] if counts.owns else []),
        ("tags", _first(view.tags, counts.tags)),
        ("tagged", _first(view.tagged, counts.tagged, rest(f"question what_has_a_tag tag={ref} type="))),
        ("members", _cut(map(_member, view.members.answer), view.members, rest(f"members {ref} --all"))),
        (
            "belongs to",
            _cut(map(_container, view.memberships.answer), view.memberships, rest(f"memberships {ref} --all")),
        ),
        ("grants on", _cut(map(_grant, view.grants_on.answer), view.grants_on, rest(f"grants --on {ref}"))),
        ("grants to", _cut(map(_grant, view.grants_to.answer), view.grants_to, rest(f"grants --to {ref}"))),
    ]
    for label, texts in sections:
        for at, text in enumerate(texts):
            console.print(styled(f"  {label if at == 0 else '':<11}", "dim"), text, sep="", soft_wrap=True)
    note(f"at revision {view.revision}")


def _cut(texts: Iterable[str], shown: "MembershipPage | GrantPage", rest: str) -> list[str]:
    return [*texts, *([] if shown.complete else [f"... and more{rest}"])]


def _first(refs: Sequence[str], count: int, rest: str = "") -> list[str]:
    more = count - len(refs)
    return [*map(printable, refs), *([f"... and {more:,} more{rest}"] if more else [])]


def _grant(each: "Grant") -> str:
    return printable(each.statement)


def _member(each: "Membership") -> str:
    return printable(each.member) + _how(each)


def _container(each: "Membership") -> str:
    return printable(each.container) + _how(each)


def _how(each: "Membership") -> str:
    """Through which other groups and roles, or when a direct membership ends."""
    if not each.direct:
        return f" (through {_through(each)})"
    return f" until {each.until}" if each.until else ""


def _through(each: "Membership") -> str:
    return ", ".join(map(printable, each.path[1:-1]))


def _needs(needs: dict[str, str]) -> str:
    return "depends on " + " ".join(f"--with {key}={type_}:NAME" for key, type_ in needs.items())


def _show_memberships(form: ListFormat | None, found: "MembershipPage", head: str, refs: Sequence[str]) -> None:
    ends = any(each.until for each in found.answer)
    rows = [
        (ref, _through(each), *([each.until or ""] if ends else []))
        for ref, each in zip(refs, found.answer, strict=True)
    ]
    if show_as(form, found, lambda: show_table((head, "through", *(["until"] if ends else [])), rows)):
        note_page(found)
