"""The command `log`: the history of a root."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grantpath.engine.cli.admin.log_upkeep import prune_log, verify_log
from grantpath.engine.cli.change.change_commands import PANEL
from grantpath.engine.cli.context import CommandContext, command
from grantpath.engine.cli.list_formats import Format, ListFormat, show_as, wanted
from grantpath.engine.cli.output import emit, note, show_table, styled
from grantpath.graph.messages import to_second

if TYPE_CHECKING:
    from grantpath.engine.change.audit_log import Log, Logged

MOST = 10_000  # audit_log.MOST; that module takes long to import
USUAL = 20  # entries that are shown
TIME = "a day or a time in UTC, e.g. 2026-01-31 or 2026-01-31T12:00"
Limit = Annotated[int, typer.Option(min=1, max=MOST, metavar="N", help="show the last N entries")]
Actor = Annotated[str | None, typer.Option("--by", metavar="SUBJECT", help="only changes by this user, e.g. user:ann")]
ALSO = ", including changes whose statement names another entity"
About = Annotated[str | None, typer.Option("--object", metavar="REF", help=f"only changes of this object{ALSO}")]
Subject = Annotated[str | None, typer.Option(metavar="SUBJECT", help=f"only changes of this subject{ALSO}")]
Since = Annotated[str | None, typer.Option(metavar="TIME", help=f"only changes at or after this time: {TIME}")]
Until = Annotated[str | None, typer.Option(metavar="TIME", help="only changes before this time")]
Revision = Annotated[int | None, typer.Option(metavar="N", help="only the change with this revision")]
After = Annotated[int | None, typer.Option(metavar="N", help="only revisions after this one")]
Before = Annotated[int | None, typer.Option(metavar="N", help="only revisions before this one, for the previous page")]
ById = Annotated[str | None, typer.Option("--id", metavar="ID", help="only the change, or the batch, with this id")]
Verify = Annotated[bool, typer.Option("--verify", help="check that no entry was altered; exit code 1 if one was")]
Head = Annotated[str | None, typer.Option(metavar="HASH", help="verify up to a hash that a change returned")]
PruneBefore = Annotated[
    str | None,
    typer.Option(
        "--prune-before",
        metavar="TIME|REVISION",
        help="remove the entries before this time or revision; --by names the operator",
    ),
]
Yes = Annotated[bool, typer.Option("--yes", help="with --prune-before: do not ask")]
OnlyRefused = Annotated[bool, typer.Option("--refused", help="show refused attempts instead, with the reason")]


def register(app: typer.Typer) -> None:
    """Adds the command."""
    command(app, PANEL, "grantpath log --by user:ann --since 2026-01-31")(log)


def log(
    session: CommandContext,
    limit: Limit = USUAL,
    by: Actor = None,
    object_: About = None,
    subject: Subject = None,
    since: Since = None,
    until: Until = None,
    revision: Revision = None,
    after: After = None,
    before: Before = None,
    id_: ById = None,
    refused: OnlyRefused = False,
    verify: Verify = False,
    head: Head = None,
    prune_before: PruneBefore = None,
    yes: Yes = False,
    format_: Format = None,
) -> int:
    """Show the accepted changes of a root, or the refused attempts: when, by whom, and what; the newest last.

    An entry must match all of the given options. A load is a single entry with the number of its changes. --object
    and --subject also find a change that affected this entity although its statement names another one, e.g. the drop
    of the parent. Such a change is not found if it has more than 200,000 facts, or if an older version wrote its entry.
    --by, --object and --subject also find entries under other names that the entity has had.

    --verify or --head checks the hash chain of the log instead. Exit code 0: no entry was altered, 1: one was altered.
    --prune-before removes old entries permanently, and keeps the chain verifiable. None of these takes a filter.
    """
    filters = {
        "--limit": limit != USUAL or None,
        "--object": object_,
        "--subject": subject,
        "--since": since,
        "--until": until,
        "--revision": revision,
        "--after": after,
        "--before": before,
        "--id": id_,
        "--refused": refused or None,
        "--format": format_,
    }
    if prune_before is not None:
        _require_none("--prune-before", {"--verify": verify or None, "--head": head, **filters})
        prune_log(session, prune_before, by, yes)
        return 0
    if verify or head is not None:
        _require_none("--verify" if verify else "--head", {"--by": by, "--yes": yes or None, **filters})
        return verify_log(session, head)
    if yes:
        raise typer.BadParameter("--yes needs --prune-before")
    if revision is not None:
        _require_none("--revision", {"--after": after, "--before": before})
        after, before = revision - 1, revision + 1
    from grantpath.engine.change.audit_log import moment

    form = wanted(session.json, format_)
    with session.open(history=True) as authorizer:
        entries = authorizer.log(
            id=id_,
            actor=by,
            object=object_,
            subject=subject,
            since=moment(since) if since is not None else None,
            until=moment(until) if until is not None else None,
            after=after,
            before=before,
            refused=refused,
            limit=limit,
        )
        if not entries and form is not ListFormat.json:
            authorizer.note_absent(object_, subject, by)
    page = {"complete": entries.complete, "revision": entries.revision}
    if not show_as(
        form,
        entries.read(),
        own=lambda: _show(entries, refused),
        as_json=lambda: emit({"answer": [*map(_summary, entries)], **page}),
    ):
        return 0
    if not entries.complete:
        before = entries.read().before  # None if earlier attempts have the revision of the first one
        more = "" if before is None else f", --before {before} the previous ones"
        note(f"more entries match: --limit N shows the last N{more}", partial=True)
    elif authorizer.log_begins is not None and not refused:
        note(f"the log begins at revision {authorizer.log_begins}: older entries were pruned")
    return 0


def _require_none(what: str, others: Mapping[str, object]) -> None:
    """Raises BadParameter if one of the other options is given, which `what` does not go with."""
    for name, value in others.items():
        if value is not None:
            raise typer.BadParameter(f"{what} and {name} cannot be combined; give one of them")


def _summary(entry: "Logged") -> dict[str, Any]:
    summary = entry.model_dump(mode="json")
    if entry.reason is None:
        del summary["reason"]
    else:
        del summary["hash"]
    return summary


def _show(entries: "Log", refused: bool) -> None:
    if not entries and entries.complete:
        note(f"no {'refused attempt' if refused else 'accepted change'} matches")
    rows = [
        (
            str(each.revision),
            to_second(each.at),
            _actor(each) if each.actor else styled("(a fact)", "dim"),
            each.reason or each.statement,
        )
        for each in entries
    ]
    show_table(("revision", "at (UTC)", "by", "refused" if refused else "statement"), rows, numbers={"revision"})


def _actor(entry: "Logged") -> str:
    return f"{entry.actor} as {entry.as_role}" if entry.as_role else str(entry.actor)
