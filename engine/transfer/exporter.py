"""Dumps a root into a folder: its facts as tables of a bulk import, its policy, its history. `load` restores it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from grantpath import cypher
from grantpath.engine.policy.policy import Policy
from grantpath.engine.tenants.one_revision import GuardedAsk
from grantpath.engine.tenants.open_tenant import OpenTenant
from grantpath.engine.transfer.dump_files import Contents, Notes, Writer, filling, from_json, writers
from grantpath.engine.transfer.dump_meta import (
    FORMAT,
    META,
    NOTES,
    WITH_ENDS,
    WITH_TAGS,
    DumpMeta,
    KeptPolicy,
    entries,
    read_meta,
    write_meta,
)
from grantpath.engine.transfer.table_files import read_back
from grantpath.engine.transfer.table_formats import Format
from grantpath.engine.transfer.tables import ENDS, TABLES
from grantpath.graph.client import telemetry
from grantpath.graph.errors import InvalidInput
from grantpath.graph.guard.store import Store
from grantpath.graph.guard.transaction import Row
from grantpath.graph.language.reference import Reference, type_of
from grantpath.graph.progress import ReportCount

Stream = Callable[[str], Iterable[Row]]  # takes the name of a query of cypher/
STEP = 10_000  # rows between two reports of progress


@dataclass(frozen=True)
class Dumped:
    """The numbers of rows by table, the numbers of entries by file of NOTES, and the revision."""

    rows: dict[str, int]
    entries: dict[str, int]
    revision: int


def dump(
    authorizer: OpenTenant, directory: Path, format_: Format = "csv", progress: ReportCount | None = None
) -> Dumped:
    """Writes a root, at one revision, into a new or empty folder; or writes nothing.

    The files are read back before the dump is complete. They and the folder are closed to other users. The time is not
    limited while the server keeps sending rows. `progress` receives the step, the number of rows done and their total.
    Raises InvalidInput, Inconsistent, Unavailable.
    """
    with telemetry.span("dump", authorizer.tenant) as span:
        done = authorizer.at_one_revision(
            lambda guarded: _dump(guarded, authorizer, directory, format_, progress or (lambda *_: None))
        )
        span.set(revision=done.revision)
        return done


def _dump(
    guarded: GuardedAsk, authorizer: OpenTenant, directory: Path, format_: Format, progress: ReportCount
) -> Dumped:
    ask = streaming(authorizer.store, authorizer.tenant)
    with filling(directory) as opened:
        revision = int(guarded("revision")["revision"])
        # without tags and ends, a dump is one that earlier versions read
        names = [name for name in TABLES if name != "tags" or authorizer.policy.file.tags]
        ends = ENDS if next(iter(ask("dump_head")))["ends"] is not None else {}
        columns = {name: (*TABLES[name], *ends.get(name, ())) for name in names}
        tables = writers(directory, format_, columns)
        notes = {name: Notes(directory / f"{name}.jsonl") for name in NOTES}
        every: list[Writer | Notes] = [*tables.values(), *notes.values()]
        for each in every:
            opened(each)
        _write(ask, authorizer, tables, notes, progress)
        head = next(iter(ask("dump_head")))
        files = {each.name: each.finish() for each in every}
        guarded("revision")
        rows = {name: each.contents.rows for name, each in tables.items()}
        kept = {name: each.contents.rows for name, each in notes.items()}
        meta = DumpMeta(
            format=WITH_ENDS if ends else WITH_TAGS if authorizer.policy.file.tags else FORMAT,
            root=authorizer.root.text,
            policy=KeptPolicy(name=head["policy"], digest=head["digest"], source=head["source"]),
            revision=revision,
            made=head["made"],
            chain=head["chain"],
            time=datetime.now(UTC).isoformat(timespec="seconds"),
            counts=rows | kept,
            files=files,
        )
        write_meta(directory, meta)
        _verify(directory, meta, tables, notes, columns)
    return Dumped(rows, kept, revision)


def _verify(
    directory: Path,
    meta: DumpMeta,
    tables: dict[str, Writer],
    notes: dict[str, Notes],
    columns: Mapping[str, Sequence[str]],
) -> None:
    """Reads a finished dump back. Raises InvalidInput if it has other contents than were written."""
    if read_meta(directory) != meta:
        raise _differs(directory / META)
    for name, table in tables.items():
        if Contents(read_back(directory / table.name, name, columns[name])) != table.contents:
            raise _differs(directory / table.name)
    for name, note in notes.items():
        found = Contents()
        for entry in entries(directory, name):
            for value in entry.values():
                from_json(value)
            found.add(entry)
        if found != note.contents:
            raise _differs(directory / note.name)


def _differs(file: Path) -> InvalidInput:
    return InvalidInput(
        f"{file} reads back with other contents than were written, so nothing is dumped; name a folder on another "
        "disk, or another format"
    )


def _write(
    ask: Stream, authorizer: OpenTenant, tables: dict[str, Writer], notes: dict[str, Notes], progress: ReportCount
) -> None:
    sizes = next(iter(ask("tenant_sizes")))
    of = sum(size for name, size in sizes.items() if name != "changes")
    at = -1
    for at, (table, row) in enumerate(rows_of(ask, authorizer.policy, authorizer.root)):
        tables[table].add(row)
        if at % STEP == 0:
            progress("reading facts", at, max(of, at))
    progress("reading facts", at + 1, at + 1)
    for at, entry in enumerate(ask("dump_log")):
        notes[entry["file"]].add(entry["kept"])
        if at % STEP == 0:
            progress("reading history", at, max(sizes["changes"], at))


def streaming(store: Store, tenant: str) -> Stream:
    """A function that streams the rows of a query about one root, by the query's name."""
    return lambda query: cypher.load(query).run(store.read_all, root=tenant)


def tables_of(ask: Stream, policy: Policy, root: Reference) -> dict[str, list[tuple[str, ...]]]:
    """The rows of every table, without those that come with the policy."""
    tables: dict[str, list[tuple[str, ...]]] = {name: [] for name in TABLES}
    for table, row in rows_of(ask, policy, root):
        tables[table].append(row)
    return tables


def rows_of(ask: Stream, policy: Policy, root: Reference) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The rows, each with its table, without those that come with the policy: entities sorted by reference, then edges
    sorted by subject. A fact without an end has no value for the column `until`."""
    kinds = {name: "objects" if entry.kind == "object" else "subjects" for name, entry in policy.file.types.items()}
    own = {root.text, *policy.builtins}
    for row in ask("dump_entities"):
        if row["created"] and row["ref"] not in own:
            yield kinds[row["type"]], (row["ref"],)
    for row in ask("dump_edges"):
        yield from _edges(
            row, partial(_comes_with_policy, policy, row["ref"]), partial(_is_preset, policy, root, row["ref"])
        )


def _edges(
    row: Row, comes_with_policy: Callable[[str], bool], is_preset: Callable[[str, str], bool]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    ref = row["ref"]
    for of, until in sorted(row["containers"]):
        if not comes_with_policy(of):
            yield "members", (ref, of, *([until] if until else []))
    yield from (("owners", (object_, ref)) for object_ in sorted(row["owned"]) if not is_preset("", object_))
    yield from (("tags", (ref, tag)) for tag in sorted(row["tags"]))
    for effect, privilege, object_, until in sorted(row["grants"]):
        if not is_preset(privilege, object_):
            yield "grants", (effect.lower(), privilege, object_, ref, *([until] if until else []))


def _comes_with_policy(policy: Policy, member: str, of: str) -> bool:
    builtin, held = policy.builtins.get(member), policy.builtins.get(of)
    if held and type_of(member) in held.held_by_every:
        return True
    return builtin is not None and of in builtin.holds


def _is_preset(policy: Policy, root: Reference, subject: str, privilege: str, object_: str) -> bool:
    entry = policy.builtins.get(subject)
    if entry is None or object_ != root.text:
        return False
    return privilege in map(policy.names.canonical, entry.allow) if privilege else bool(entry.owns)
