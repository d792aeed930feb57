"""Maintenance of a log by `grantpath log`: verifying its hash chain, and pruning it."""

import sys
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING

import typer

from grantpath.engine.cli.context import CommandContext
from grantpath.engine.cli.output import counting, emit, lines, out, styled, warn
from grantpath.graph.errors import InvalidInput
from grantpath.graph.messages import counted, time_text, to_second

if TYPE_CHECKING:
    from grantpath.engine.change.log_verify import LogCheck


def verify_log(session: CommandContext, head: str | None) -> int:
    """`log --verify`: prints the result. Returns the exit code: 0 if no entry was altered, otherwise 1."""
    with session.open(history=True) as authorizer, counting() as count:
        found = authorizer.verify_log(head, lambda read: count("verifying", read, max(read, authorizer.revision)))
    if session.json:
        pruned = {**asdict(found.pruned), "at": time_text(found.pruned.at)} if found.pruned else None
        emit({**asdict(found), "pruned": pruned})
        return 0 if found else 1
    verdict = styled("verified", "bold green") if found else styled("altered", "bold red")
    out().print(verdict, styled(f" {_counted(found)}"), sep="")
    if found.pruned:
        by = f" by {found.pruned.by}" if found.pruned.by else ""
        at = to_second(found.pruned.at)
        lines(out(), "pruned", [f"entries up to revision {found.pruned.up_to} were removed at {at}{by}"])
    lines(out(), "wrong", found.problems)
    lines(out(), "unseen", found.unseen)
    return 0 if found else 1


def _counted(found: "LogCheck") -> str:
    span = f", revisions {found.begins} to {found.revision}" if found.entries else ""
    older = f"; {found.unchained:,} older ones have no hash and are not proven" if found.unchained else ""
    proven = f"; the head proves those up to revision {found.proven}" if found.proven is not None else ""
    return f"{counted(found.entries, 'entries')}{span}{older}{proven}; head {found.head}"


def prune_log(session: CommandContext, before: str, by: str | None, yes: bool) -> None:
    """`log --prune-before`: asks, then removes the entries before a time or a revision."""
    from grantpath.engine.change.audit_log import revision_or_time
    from grantpath.engine.change.log_prune import prune

    bound = revision_or_time("--prune-before", before)
    with session.open(history=True) as authorizer:
        if not yes:
            _confirm(authorizer.tenant, prune(authorizer, bound, by, dry_run=True).entries, bound)
        with counting() as count:
            done = prune(authorizer, bound, by, progress=lambda gone: count("removing", gone, gone))
    if session.json:
        emit({"pruned": done.entries, "up_to": done.up_to, "revision": done.revision, "hash": done.hash})
        return
    what = f" {done.entries:,} entries, up to revision {done.up_to}" if done.entries else " nothing: no entry is older"
    out().print(styled("pruned", "bold green"), styled(f"{what}; revision {done.revision}"), sep="")


def _confirm(root: str, entries: int, bound: int | datetime) -> None:
    if not sys.stdin.isatty():
        raise InvalidInput(f"pruning the log of {root} removes {entries:,} entries permanently; confirm it with --yes")
    shown = time_text(bound) if isinstance(bound, datetime) else bound
    warn(f"{entries:,} entries before {shown} will be removed permanently", "yellow")
    if not typer.confirm(f"Prune the log of {root}?", err=True):
        raise InvalidInput("nothing was pruned")
