"""The commands about ends: ending, expire."""

import re
import time
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from grantpath.engine.cli.change.change_commands import PANEL
from grantpath.engine.cli.context import A_ROOT, CommandContext, command
from grantpath.engine.cli.list_formats import Format, show_as, wanted
from grantpath.engine.cli.output import emit, note, out, show_table, styled, warn
from grantpath.graph.errors import GrantpathError, InvalidInput, Unknown
from grantpath.graph.language.ends import end_text
from grantpath.graph.messages import counted, short

if TYPE_CHECKING:
    from grantpath.graph.guard.store import Store

UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
SECONDS, LONGEST = 1.0, 30.0  # between two looks of `expire --watch`, and after errors
MOST_LISTED = 10_000
MOST = 10_000 * 366 * 86_400  # more than is left until the last year
Within = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="only what ends within this time: 90m, 12h, 30d or 8w; without it, all"),
]
Limit = Annotated[int, typer.Option(min=1, max=MOST_LISTED, metavar="N", help="the maximum number of results")]
Watch = Annotated[bool, typer.Option("--watch", help="do not stop: remove what ends from now on, too")]
Every = Annotated[
    bool, typer.Option("--all", help="in all roots of the database, also in those that are created later")
]


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    command(app, PANEL, "grantpath ending --within 30d")(ending)
    command(app, PANEL, "grantpath expire --watch --all")(expire)


def ending(session: CommandContext, within: Within = None, limit: Limit = 1_000, format_: Format = None) -> None:
    """List the grants and memberships that end (`until`), the earliest first.

    To let one last longer, write it again with a later end, or without one.
    """
    form = wanted(session.json, format_)
    time_left = None if within is None else _duration(within)
    with session.open() as authorizer:
        found = authorizer.ending(within=time_left, limit=limit)
    rows = [(end_text(each.until), each.statement) for each in found]
    if show_as(form, found, lambda: show_table(("until", "statement"), rows)):
        if not rows:
            note(f"nothing ends{f' within {within}' if within else ''}")
        if not found.complete:
            limits = f"--within TIME lists fewer, and --limit up to {MOST_LISTED:,}"
            note(f"only the first {limit:,}; {limits}", "yellow", partial=True)


def expire(session: CommandContext, watch: Watch = False, every: Every = False) -> None:
    """Remove the grants and memberships whose end has come, and note each end in the log.

    Every question and every change of a client that can write does this first, so the command is needed only where all
    clients are readers: let it run there with --watch --all.
    """
    if every:
        session.need_unused(*A_ROOT, on="expire --all")
        store = session.store()
        try:
            _expire_all(session, store, watch)
        finally:
            store.close()
        return
    with session.open() as authorizer:
        authorizer.follow()
        if watch:
            _watch(authorizer.expire)
        revision = authorizer.expire()
    if session.json:
        emit({"revision": revision})
    else:
        out().print(
            styled("done", "bold green"), styled(f", no fact is left that has ended; revision {revision}"), sep=""
        )


def _expire_all(session: CommandContext, store: "Store", watch: bool) -> None:
    from grantpath.engine.change.ending import end_due
    from grantpath.engine.tenants import registry

    store.ends_by(end_due)

    later: dict[str, float] = {}  # when a root is tried again, in which another client writes for long

    def expired() -> list[str]:
        roots = [root for root, dropped in registry.names(store).items() if not dropped]
        failed: GrantpathError | None = None
        for root in roots:
            if time.monotonic() < later.get(root, 0.0):
                continue
            try:
                store.end_due(root)
            except Unknown:
                pass  # it was removed meanwhile
            except GrantpathError as error:
                if not error.retryable:
                    raise
                later[root], failed = time.monotonic() + LONGEST, error
                if watch:
                    warn(f"{error}; trying again", "yellow")
        if failed is not None and not watch:
            raise failed
        return roots

    if watch:
        _watch(expired)
    roots = expired()
    if session.json:
        emit({"roots": roots})
    else:
        text = f", no fact is left that has ended, in {counted(len(roots), 'roots')}"
        out().print(styled("done", "bold green"), styled(text), sep="")


def _watch(expire: Callable[[], object]) -> NoReturn:
    """Removes what has ended, again and again. After an error that may pass it waits, longer each time."""
    pause = SECONDS
    while True:
        try:
            expire()
            pause = SECONDS
        except GrantpathError as error:
            if not error.retryable:
                raise
            warn(f"{error}; trying again", "yellow")
            pause = min(2 * pause, LONGEST)
        time.sleep(pause)


def _duration(text: str) -> timedelta:
    found = re.fullmatch(r"([0-9]{1,9})([smhdw])", text)
    if found is None:
        raise InvalidInput(f"--within {short(text)} is not a time; write a number and s, m, h, d or w, such as 30d")
    return timedelta(seconds=min(int(found[1]) * UNITS[found[2]], MOST))
