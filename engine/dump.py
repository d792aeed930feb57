"""A root's facts as the tables of a bulk import, for keeping or moving them; `load` reads what `dump` writes."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from grantpath import cypher
from grantpath.engine.door import Door
from grantpath.engine.load_files import UNFINISHED
from grantpath.engine.load_table import TABLES
from grantpath.engine.policy import Policy
from grantpath.graph import telemetry
from grantpath.graph.errors import Inconsistent, InvalidInput
from grantpath.graph.reference import Reference
from grantpath.graph.writing import Row

Format = Literal["csv", "jsonl", "parquet"]
Ask = Callable[[str], list[Row]]
TRIES = 5


@dataclass(frozen=True)
class Facts:
    """What a root holds beside what came with its policy: rows by table, and the revision."""

    tables: dict[str, list[tuple[str, ...]]]
    revision: int


def dump(authorizer: Door, directory: Path, format_: Format = "csv") -> Facts:
    """Writes every table into a new or empty folder, or nothing. Raises InvalidInput, Inconsistent, Unavailable."""
    with telemetry.span("dump", authorizer.tenant) as span, _filling(directory):
        facts = read(authorizer)
        span.set(revision=facts.revision)
        written: list[Path] = []
        try:
            for name, rows in facts.tables.items():
                written.append(directory / f"{name}.{format_}")
                _WRITERS[format_](written[-1], TABLES[name], rows)
        except BaseException:
            for file in written:
                file.unlink(missing_ok=True)
            raise
    return facts


@contextmanager
def _filling(directory: Path) -> Iterator[None]:
    """Keeps others out of the folder, and marks it for the case that this process is killed. What fails leaves it as
    it was."""
    mark, new = directory / UNFINISHED, not directory.exists()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        mark.touch(exist_ok=False)
        try:
            if list(directory.iterdir()) != [mark]:
                raise FileExistsError
            yield
        finally:
            mark.unlink()
    except BaseException as error:
        if new:
            with suppress(OSError):
                directory.rmdir()
        if isinstance(error, FileExistsError | NotADirectoryError):
            raise InvalidInput(f"{directory} is there already; name a folder that is new or empty") from None
        if isinstance(error, OSError):
            raise InvalidInput(
                f"{directory} cannot be written: {error.strerror or error}; name another folder"
            ) from None
        raise


def read(authorizer: Door) -> Facts:
    """The facts at one revision; read again where a change came between. Raises Inconsistent, Unavailable."""

    def ask(query: str) -> list[Row]:
        return authorizer.store.read(cypher.load(query).text, {"root": authorizer.tenant})

    for _ in range(TRIES):
        before = authorizer.state_now()
        tables = tables_of(ask, authorizer.policy, authorizer.root)
        if authorizer.state_now() == before:
            return Facts(tables, before[0])
    raise Inconsistent(f"{authorizer.tenant} changed each of the {TRIES} times it was read; ask again")


def tables_of(ask: Ask, policy: Policy, root: Reference) -> dict[str, list[tuple[str, ...]]]:
    """The rows of every table, sorted; `ask` runs a query about the root. What came with the policy is left out."""
    tables: dict[str, list[tuple[str, ...]]] = {name: [] for name in TABLES}
    for row in ask("mirror_entities"):
        if row["there"] and row["ref"] != root.text and row["ref"] not in policy.builtins:
            kind = policy.file.types[row["type"]].kind
            tables["objects" if kind == "object" else "subjects"].append((row["ref"],))
    for row in ask("mirror_members"):
        containers = [*row["groups"], *row["roles"]]
        tables["members"] += [(row["ref"], of) for of in containers if not _came_along(policy, row["ref"], of)]
    for row in ask("mirror_grants"):
        for fact, object_ in zip(row["facts"], row["objects"], strict=True):
            effect, _, privilege = fact.partition(" ")
            if _is_preset(policy, root, row["ref"], privilege, object_):
                continue
            if privilege:
                tables["grants"].append((effect.lower(), privilege, object_, row["ref"]))
            else:
                tables["owners"].append((object_, row["ref"]))
    return {name: sorted(rows, key=lambda row: [part.encode() for part in row]) for name, rows in tables.items()}


def _came_along(policy: Policy, member: str, of: str) -> bool:
    holder, held = policy.builtins.get(member), policy.builtins.get(of)
    if held and held.held_by_every == member.partition(":")[0]:
        return True
    return holder is not None and of in holder.holds


def _is_preset(policy: Policy, root: Reference, subject: str, privilege: str, object_: str) -> bool:
    entry = policy.builtins.get(subject)
    if entry is None or object_ != root.text:
        return False
    return privilege in map(policy.names.canonical, entry.allow) if privilege else bool(entry.owns)


# ---- files ---------------------------------------------------------------------------------------------------------
def _write_csv(file: Path, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with file.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out, lineterminator="\n").writerows([columns, *rows])


def _write_jsonl(file: Path, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    def lines() -> Iterator[str]:
        for row in rows:
            yield json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False) + "\n"

    with file.open("w", encoding="utf-8", newline="") as out:
        out.writelines(lines())


def _write_parquet(file: Path, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    values = {column: pa.array([row[at] for row in rows], pa.string()) for at, column in enumerate(columns)}
    pq.write_table(pa.table(values), file)


_WRITERS: dict[Format, Callable[[Path, Sequence[str], Sequence[Any]], None]] = {
    "csv": _write_csv,
    "jsonl": _write_jsonl,
    "parquet": _write_parquet,
}
