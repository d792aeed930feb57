"""The commands for bulk questions on a snapshot: access, ask, diff, verify."""

import os
import random
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from grantpath.engine.cli.context import OF_ROOTS, AsOf, CommandContext, command, split_names
from grantpath.engine.cli.list_formats import Format, ListFormat, records, show_rows, wanted
from grantpath.engine.cli.output import counting, emit, note, out, reporting, show_lines, show_table, signed, styled
from grantpath.graph.errors import InvalidInput
from grantpath.graph.messages import printable
from grantpath.graph.progress import ReportLine

if TYPE_CHECKING:
    from grantpath.engine.answers.decision import Decision
    from grantpath.engine.authorizer.authorizer import Authorizer
    from grantpath.engine.past.past_root import PastRoot
    from grantpath.spark_sync.bulk.bulk_access import AccessReport
    from grantpath.spark_sync.bulk.difference import Difference
    from grantpath.spark_sync.bulk.verification import CheckMany
    from grantpath.spark_sync.session.snapshot import Snapshot as Mirrored

PANEL = "In bulk"
BATCH = 500
MOST_CHANGES = 10_000  # the number of changes since a mirror that `verify` reads
SHOWN = 20
DIFFERENCE = ("change", "statement", "user", "name", "type", "objects")
AGES = ((24 * 60, "days"), (60, "hours"))  # in minutes
# texts: a Path would remove one of the slashes of a URI
Out = Annotated[str, typer.Argument(metavar="OUT", help="the folder to create")]
Snapshot = Annotated[str, typer.Argument(metavar="SNAPSHOT", help="a folder or URI that `grantpath mirror` wrote")]
Question = Annotated[str, typer.Argument(metavar="QUESTION", help="in quotes, as in a scenario file")]
Names = Annotated[
    list[str], typer.Option("--names", metavar="NAME,NAME", help="privileges and operations, separated by commas")
]
Expand = Annotated[
    list[str], typer.Option("--expand", metavar="NAME,NAME", help="names whose intervals are written for each user")
]

BroadcastLimit = Annotated[
    int,
    typer.Option(
        "--broadcast-limit",
        metavar="MIB",
        min=0,
        help="the most memory for the facts in each Spark worker; if they need more, a slower join is used",
    ),
]
InProcessLimit = Annotated[
    int,
    typer.Option(
        "--in-process-limit",
        metavar="N",
        min=0,
        help="a snapshot with at most N entities is answered in this process, a larger one by Spark",
    ),
]


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    command(app, PANEL, "grantpath access ./monday --names load_table,SELECT_TABLE", unused=OF_ROOTS)(access)
    command(app, PANEL, 'grantpath ask ./monday "which table can user:bob load_table"')(ask)
    command(app, PANEL, "grantpath diff ./monday ./tuesday --names load_table", unused=OF_ROOTS)(diff)
    command(app, PANEL, "grantpath verify ./monday --sample 1000")(verify)


def access(
    session: CommandContext,
    snapshot: Snapshot,
    names: Names = [],  # noqa: B006
    expand: Expand = [],  # noqa: B006
    broadcast_limit: BroadcastLimit = 256,
    in_process_limit: InProcessLimit = 250_000,
    format_: Format = None,
) -> None:
    """Answer for all users at once: who can use what, as reach by user and exposure by object.

    Without --names, this covers all privileges, and all operations that need no second object. The Parquet files are
    written into SNAPSHOT/access. Small and middle estates are answered in this process, in seconds; large ones by
    Spark, which needs the extra `spark`. --format prints the number of pairs of user and object for every name.
    """
    from grantpath.spark_sync.bulk.bulk_access import access as compute
    from grantpath.spark_sync.session.snapshot import Snapshot as Mirrored

    form = wanted(session.json, format_)
    asked = _named("--names", names)
    with working("answering for all users") as progress:
        report = compute(
            snapshot, asked or None, _named("--expand", expand), progress, broadcast_limit, in_process_limit
        )
    updated = Mirrored(snapshot).folder != report.snapshot
    heads, rows = ("name", "type", "pairs"), [(*key, many) for key, many in report.accessible.items()]
    head = {"complete": True, "reach_rows": report.reach_rows, "seconds": report.seconds}
    show_rows(
        form,
        heads,
        rows,
        own=lambda: _show_access(report, tops=bool(asked) and not updated),
        as_json=lambda: emit({"answer": [*records(heads, rows)], **head}),
    )
    if updated:
        told = f"{snapshot} was updated meanwhile, and its new version has no answers yet; run the command again"
        note(told, "yellow", partial=True)


def _named(option: str, values: list[str]) -> list[str]:
    """The names in the values of an option. Raises InvalidInput if it is given and names nothing: an empty variable
    would otherwise mean all names."""
    found = split_names(values)
    if values and not found:
        raise InvalidInput(f"{option} names nothing; write NAME,NAME, or omit it")
    return found


def _show_access(report: "AccessReport", tops: bool) -> None:
    """Prints the number of pairs of user and object by name; with `tops`, also the widest users and objects."""
    from grantpath.engine.answers.access_effects import telling_first
    from grantpath.spark_sync.bulk.verification import exposed, widest
    from grantpath.spark_sync.session.snapshot import Snapshot as Mirrored

    console, source, pairs = out(), Mirrored(report.snapshot), "pairs of user and object"
    counted = sorted(report.accessible.items(), key=lambda pair: (-pair[1], telling_first(*pair[0])))
    rows = [(name, type_, f"{many:,}") for (name, type_), many in counted if many]
    show_table(("name", "on", pairs), rows[:SHOWN], numbers={pairs})
    if len(rows) > SHOWN:
        console.print(styled(f"and {len(rows) - SHOWN} more names; --json lists them all", "dim"))
    for name, type_, _ in rows[:SHOWN] if tops else []:
        readers = [(who, f"{many:,}") for who, many in widest(source, name, type_, 5)]
        objects = [(ref, f"{many:,}") for ref, many in exposed(source, name, type_, 5)]
        console.print()
        show_table((f"widest: {name}", f"{type_}s"), readers, numbers={f"{type_}s"})
        console.print()
        show_table((f"most exposed: {name}", "users"), objects, numbers={"users"})
    console.print(styled(f"Parquet in {report.snapshot / 'access'}", "dim"))


def ask(
    session: CommandContext, snapshot: Snapshot, question: Question, as_of: AsOf = None, format_: Format = None
) -> int:
    """Answer one question from a snapshot, without the database.

    The forms are: who can NAME on REF; which TYPE can SUBJECT NAME; SUBJECT can NAME on REF. For the last form, the
    exit code is 0 if it is allowed and 1 if not; for a list it is 0. A script with untrusted arguments must therefore
    use `grantpath check`, and not build a question from them.

    With --as-of, the answer is for another revision. It is computed from the snapshot or from the present, with the log
    in the database.
    """
    from grantpath.spark_sync import ask as ask_snapshot
    from grantpath.spark_sync.session.snapshot import Snapshot as Mirrored

    form = wanted(session.json, format_)
    if as_of is None:
        session.require_unused(*OF_ROOTS, on="an answer from a snapshot alone, without --as-of")
        found, mirrored = ask_snapshot(snapshot, question), Mirrored(snapshot)
        same = mirrored.meta.revision == found.revision  # it can be updated at any time
        state = _state(mirrored) if same else f"revision {found.revision} of {mirrored.meta.root}"
    else:
        with session.at(session.root or Mirrored(snapshot).meta.root).open() as authorizer:
            found = ask_snapshot(snapshot, question, as_of=as_of, authorizer=authorizer)
        state = f"revision {found.revision} of {Mirrored(snapshot).meta.root}"
    answer, head = found.answer, {"complete": found.complete, "revision": found.revision}
    if isinstance(answer, bool) and form not in (None, ListFormat.json):
        raise InvalidInput(f"--format {form} is for a list; a check is answered by yes or no, or with --json as JSON")
    refs = [] if isinstance(answer, bool) else answer
    if show_rows(
        form,
        ("ref",),
        [(ref,) for ref in refs],
        own=lambda: _show_answer(answer),
        as_json=lambda: emit({"answer": answer, **head}),
    ):
        count = "" if isinstance(answer, bool) else f"{len(answer):,} "
        note(f"{count}at {state}")
        if found.absent:
            note(found.absent, "yellow")
    return 1 if answer is False else 0


def _show_answer(answer: "list[str] | bool") -> None:
    if isinstance(answer, bool):
        out().print(styled("yes", "bold green") if answer else styled("no", "bold red"))
    else:
        show_lines(answer)


def _state(snapshot: "Mirrored") -> str:
    """The revision and the age of a snapshot, because the graph may have changed since, and facts may have ended."""
    meta = snapshot.meta
    minutes = max(0, int((datetime.now(UTC) - datetime.fromisoformat(meta.created)).total_seconds() // 60))
    age = next((f"{minutes // each} {unit}" for each, unit in AGES if minutes >= 2 * each), f"{minutes} min")
    ended = meta.ends is not None and datetime.fromisoformat(meta.ends) <= datetime.now(UTC)
    ends = f"; some of its facts may have ended since {meta.ends}" if ended else ""
    return f"revision {meta.revision} of {meta.root}, mirrored {age} ago{ends}"


def diff(
    session: CommandContext,
    before: Annotated[str, typer.Argument(metavar="A", help="the earlier snapshot")],
    after: Annotated[str, typer.Argument(metavar="B", help="the later one")],
    names: Names = [],  # noqa: B006
    format_: Format = None,
) -> None:
    """Show the changes from snapshot A to snapshot B: entities, facts, and with --names who gained or lost access.

    With --format, each row is a statement that was added or removed, or a number of objects that a user gained or lost.
    """
    from grantpath.spark_sync.bulk.difference import diff as compare

    form = wanted(session.json, format_)
    found = compare(before, after, _named("--names", names) or None)
    show_rows(
        form,
        DIFFERENCE,
        [*_changes(found)],
        own=lambda: _show_difference(found),
        as_json=lambda: emit(asdict(found)),
    )


def verify(
    session: CommandContext,
    snapshot: Snapshot,
    sample: Annotated[int, typer.Option(min=1, metavar="N", help="the number of answers to compare")] = 1000,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="the seed of an earlier run, to repeat its sample")
    ] = None,
) -> int:
    """Compare a random sample of Spark's answers with those of Cypher.

    Questions that changes since the mirror may affect are compared with the graph at the snapshot's revision. If the
    log does not lead back to that revision, they are skipped; --json lists them. Exit code 0: all answers are the same,
    1: some differ.
    """
    from grantpath.spark_sync.bulk.verification import verify as compare
    from grantpath.spark_sync.mirroring.snapshot_origin import require_root
    from grantpath.spark_sync.session.snapshot import Snapshot as Mirrored

    session = session.with_its_policy()  # before the snapshot is read
    chosen = random.randrange(2**32) if seed is None else seed
    source = Mirrored(snapshot)
    with session.at(session.root or source.meta.root).open() as authorizer:
        require_root(source, authorizer.tenant)
        found = compare(
            snapshot,
            lambda checks: check_in_batches(authorizer, checks),
            sample,
            chosen,
            lambda revision: authorizer.log(after=revision, limit=MOST_CHANGES),
            lambda made, revision: _past_checks(authorizer, made, revision),
        )
    if session.json:
        emit(asdict(found))
    else:
        show_lines(found.different)
        text = f"{found.compared:,} compared, {found.allowed:,} of them allowed, {len(found.different)} different"
        if found.left_out:
            text += f"; {len(found.left_out):,} skipped, which changes since the mirror may affect"
        out().print(styled(text, "bold red" if found.different else "bold green"), styled(f"  seed {chosen}", "dim"))
    return 1 if found.different else 0


def _past_checks(authorizer: "Authorizer", made: str | None, revision: int) -> "CheckMany":
    """Checks at a past revision. Raises InvalidInput if the root was created again, or the log does not reach that
    revision."""
    if made is None or authorizer.ask("revision")["made"] != made:
        raise InvalidInput(f"{authorizer.tenant} was created again since the mirror")
    past = authorizer.past(revision)
    return lambda checks: check_in_batches(authorizer, checks, past)


@contextmanager
def working(what: str) -> Iterator[ReportLine]:
    """`reporting` for Spark jobs, with a working Ctrl-C.

    PySpark installs its own handler when Spark starts. That handler fails, because it uses the connection that waits
    for an answer. The first progress report comes after the start, so each report restores Python's handler.
    """
    with reporting(what) as progress:

        def report_line(text: str) -> None:
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGINT, signal.default_int_handler)
            progress(text)

        yield report_line


def expect_small_jobs() -> None:
    """Makes the JVM compile faster but less well, which halves the time of small jobs. Must be called before Spark
    starts."""
    os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1")


def check_in_batches(
    authorizer: "Authorizer", checks: list[tuple[str, str, str]], as_of: "PastRoot | None" = None
) -> "Sequence[Decision]":
    """The decisions on any number of checks, by Cypher or from a past state."""
    decisions: list[Decision] = []
    with counting() as count:
        for begin in range(0, len(checks), BATCH):
            decisions += authorizer.check_many(checks[begin : begin + BATCH], as_of=as_of)
            count("checks by Cypher", len(decisions), len(checks))
    return decisions


def _changes(found: "Difference") -> "Iterator[tuple[str | int | None, ...]]":
    """The rows of DIFFERENCE."""
    added, removed = _statements(found)
    for change, statements in (("added", added), ("removed", removed)):
        yield from ((change, each, None, None, None, None) for each in statements)
    for access in found.access:
        for user, counts in access.by_user.items():
            for change, objects in zip(("gained", "lost"), counts, strict=True):
                if objects:
                    yield change, None, user, access.name, access.type, objects


def _statements(found: "Difference") -> tuple[list[str], list[str]]:
    """What was added and what was removed."""
    return (
        [*(f"add {ref}" for ref in found.added), *found.facts_added],
        [*(f"add {ref}" for ref in found.dropped), *found.facts_removed],
    )


def _show_difference(found: "Difference") -> None:
    console = out()
    added, removed = _statements(found)
    for sign, style, statements in (("+", "green", added), ("-", "red", removed)):
        for each in statements:
            console.print(signed(sign, each.removeprefix("add "), style))
    for change in found.access:
        console.print()
        text = f"{change.name} on {change.type}: {change.gained:,} gained, {change.lost:,} lost"
        console.print(styled(text, "bold"))
        most = sorted(change.by_user.items(), key=lambda each: (-sum(each[1]), each[0]))
        for user, (gained, lost) in most[:SHOWN]:
            console.print(f"  {printable(user)}  +{gained:,} -{lost:,}")
        if len(most) > SHOWN:
            console.print(styled(f"  and {len(most) - SHOWN:,} more users; --json lists them all", "dim"))
    if not (added or removed):
        console.print("no difference; the ends of grants and memberships are not compared")
