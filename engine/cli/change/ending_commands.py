"""The commands about ends: ending, expire."""

import re
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
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
SECONDS = 1.0  # between two looks of `expire --watch`
FIRST, LONGEST = 2.0, 30.0  # the pauses after errors
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
        session.require_unused(*A_ROOT, on="expire --all")
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

    def expire_one(root: str) -> None:
        with suppress(Unknown):  # it was removed meanwhile
            store.end_due(root)

    if watch:
        retries = _Retries()

        def look() -> None:
            for root in registry.present(registry.names(store)):
                retries.run(root, partial(expire_one, root))

        _watch(look)
    roots, failed = registry.present(registry.names(store)), None
    for root in roots:
        try:
            expire_one(root)
        except GrantpathError as error:
            if not error.retryable:
                raise
            failed = error  # a load of one root must not keep the others waiting
    if failed is not None:
        raise failed
    if session.json:
        emit({"roots": roots})
    else:
        text = f", no fact is left that has ended, in {counted(len(roots), 'roots')}"
        out().print(styled("done", "bold green"), styled(text), sep="")


class _Retries:
    """Works that are repeated. One that fails with an error that may pass is left out for a pause, twice as long after
    each failure, up to LONGEST; the others go on."""

    def __init__(self) -> None:
        self._failed: dict[str, tuple[float, float]] = {}  # by name: the end of the pause, and the next pause

    def run(self, name: str, work: Callable[[], object]) -> None:
        """Does the work, unless it is left out now."""
        until, pause = self._failed.get(name, (0.0, FIRST))
        if time.monotonic() < until:
            return
        try:
            work()
        except GrantpathError as error:
            if not error.retryable:
                raise
            warn(f"{error}; trying again", "yellow")
            self._failed[name] = time.monotonic() + pause, min(2 * pause, LONGEST)
        else:
            self._failed.pop(name, None)


def _watch(expire: Callable[[], object]) -> NoReturn:
    """Removes what has ended, again and again."""
    retries = _Retries()
    while True:
        retries.run("", expire)
        time.sleep(SECONDS)


def _duration(text: str) -> timedelta:
    found = re.fullmatch(r"([0-9]+)([smhdw])", text)
    if found is None:
        raise InvalidInput(f"--within {short(text)} is not a time; write a number and s, m, h, d or w, such as 30d")
    digits = found[1].lstrip("0") or "0"
    if len(digits) > 9:
        raise InvalidInput(f"--within {short(text)} is too long; write at most 9 digits, or omit it to list all")
    return timedelta(seconds=min(int(digits) * UNITS[found[2]], MOST))
