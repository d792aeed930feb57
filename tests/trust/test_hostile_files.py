"""Hostile files and names (policies, scenarios, import rows, folders, snapshots) are refused by name, or plain data.

GRANTPATH_TRUST=full tries all of them, otherwise a part; GRANTPATH_SEED chooses others.
"""

import csv
import json
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grantpath.engine.facts.snapshot.snapshot_questions import ask
from grantpath.engine.policy import policy
from grantpath.engine.policy.yaml_reader import MAX_BYTES, MAX_DEPTH, MAX_VALUES, parse_documents
from grantpath.engine.scenarios.scenario_file import read_scenarios
from grantpath.engine.transfer import tables
from grantpath.engine.transfer.importer import load
from grantpath.graph.errors import GrantpathError, Invalid, InvalidInput

from ..conftest import Closing, Tenants
from ..support.hostile_words import Words, tapped
from ..support.sizes import size
from ..support.twin import SEED
from .test_hostile_words import POLICY, ROOT, Tries, state

pytestmark = pytest.mark.trust

POLICIES = size(3_000, 200)
ROWS = size(20_000, 1_500)
HEAD = "policy: odd\nextends: gravitino\n"
BOMBS = {
    "aliases": "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n",
    "merge keys": "a: &a {x: 1}\nb: {<<: *a}\n",
    "a tag": 'policy: !!python/object/apply:os.system ["true"]\n',
    "deep": "a: " + "[" * 100_000,
    "deep blocks": "\n".join(" " * at + "a:" for at in range(MAX_DEPTH + 2)),
    "values": "[" + "a," * MAX_VALUES + "]",
    "documents": "---\n" * (MAX_VALUES + 1),
    "a large integer": "a: " + "1" * 5_000,
    "a large number": "a: 1e999",
    "a key twice": "a: 1\na: 2\n",
    "NUL": "a: \0",
    "half a character": "a: \ud800",
    "half a character, escaped": 'a: "\\ud800"',
    "a key that is a list": "? [a]\n: b\n",
    "another version": "%YAML 9.9\n---\na",
}
CONDITIONS = {
    "names that double": HEAD
    + "define:\n"
    + "".join(f"  d{n}: d{n + 1} or d{n + 1}\n" for n in range(40))
    + "  d40: owner(table)\n",
    "names in a long row": HEAD
    + "define:\n"
    + "".join(f"  d{n}: d{n + 1}\n" for n in range(4_000))
    + "  d4000: owner(table)\n",
    "a cycle": HEAD + "define:\n  d0: d0 or d0\n",
    "parentheses": HEAD + "define:\n  d0: '" + "(" * 1_990 + "owner(table)" + ")" * 1_990 + "'\n",
    "length": HEAD + "define:\n  d0: '" + " or ".join(["owner(table)"] * 20_000) + "'\n",
}


@pytest.mark.parametrize("what", BOMBS)
def test_document_that_grows_or_lies_is_refused(what: str) -> None:
    began = time.process_time()
    with pytest.raises(InvalidInput, match=r"odd\.yaml"):
        parse_documents(BOMBS[what], "odd.yaml")
    assert time.process_time() - began < 10


@pytest.mark.parametrize("what", CONDITIONS)
def test_condition_that_grows_is_refused(what: str, tmp_path: Path) -> None:
    file = tmp_path / "odd.yaml"
    file.write_text(CONDITIONS[what] + "operations:\n  table:\n    zap: d0\n")
    began = time.process_time()
    with pytest.raises(Invalid, match=r"odd\.yaml"):
        policy.load(str(file))
    assert time.process_time() - began < 10


def test_document_at_its_limits_is_accepted() -> None:
    deep = parse_documents("[" * MAX_DEPTH + "]" * MAX_DEPTH, "f")
    wide = parse_documents("[" + "a," * (MAX_VALUES - 10) + "]", "f")
    assert len(deep) == 1 and len(wide[0].data) == MAX_VALUES - 10  # type: ignore[arg-type]


def test_hostile_policies_are_refused_or_plain_data(tmp_path: Path, closing: Closing) -> None:
    words, tries, file = Words(f"policies {SEED}"), Tries("policies"), tmp_path / "odd.yaml"
    places = [
        "title: {}\n",
        "source: {}\n",
        "operations:\n  table:\n    zap: {}\n",
        "operations:\n  table:\n    {}: owner(table)\n",
        "operations:\n  {}:\n    zap: owner(table)\n",
        "privileges:\n  {}:\n    on: table\n",
        "privileges:\n  ODD:\n    on: {}\n",
        "types:\n  {}:\n    in: schema\n",
        "types:\n  odd:\n    in: {}\n",
        "members:\n  group: {}\n",
        "builtin:\n  {}:\n    hidden: true\n",
        "extends: {}\n",
        "{}: x\n",
    ]
    titles = 0
    for number in range(POLICIES):
        word, place = words.name(), places[number % len(places)]
        quoted = json.dumps(word) if words.rng.random() < 0.7 else word
        head = "policy: odd\n" if place.startswith("extends") else HEAD
        file.write_bytes((head + place.format(quoted)).encode("utf-8", "surrogatepass"))
        loaded, error = tries(lambda: policy.load(str(file)))
        if error is not None:
            assert "odd" in str(error) or place.startswith("extends")
        elif place.startswith("title") and quoted != word:
            assert loaded.file.title == word
            titles += 1
    assert titles >= POLICIES // 40
    closing(tries.summary(POLICIES // 20, POLICIES // 5))


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_hostile_rows_are_refused_or_plain_data(kind: str, tenant: Tenants, tmp_path: Path, closing: Closing) -> None:
    """One bad row prevents the load; without the bad rows, exactly the good ones are loaded, unchanged."""
    words, graph = Words(f"rows {kind} {SEED}"), tenant("gravitino")
    types = ["user", "group", "role", "role", "user", "catalog", ""]
    rows = [words.reference(types) for _ in range(ROWS // 3)]
    if kind != "jsonl":  # the other formats cannot contain half a character
        rows = [row for row in rows if "\ud800" not in row and "\udfff" not in row]
    before = state(graph)
    write(tmp_path / f"subjects.{kind}", rows)
    began = time.process_time()
    with pytest.raises(InvalidInput, match="nothing is loaded") as refused, tapped() as wire:
        load(graph, tmp_path)
    assert state(graph) == before
    bad = int(str(refused.value).split(" bad row")[0].rpartition(" ")[2].replace(",", ""))
    good = [row for row in rows if is_subject(row)]
    assert bad == len(rows) - len(good)
    write(tmp_path / f"subjects.{kind}", good)
    with tapped() as more:
        assert load(graph, tmp_path).changed
    wanted = {POLICY.reference(row, ROOT).text for row in good}
    there = {entity["ref"] for entity in graph.ask("tenant_state")["entities"]} - {"metalake:ml", *POLICY.builtins}
    assert there == wanted - {*POLICY.builtins}
    assert time.process_time() - began < 60
    assert not wire.strange and not more.strange
    assert len(good) > ROWS // 40 and bad > ROWS // 20
    closing(f"hostile rows, {kind}: {len(rows):,} tried, {len(good):,} accepted as data, {bad:,} refused; seed {SEED}")


def is_subject(text: str) -> bool:
    """Is it allowed in the table of subjects?"""
    try:
        ref = POLICY.reference(text, ROOT)
    except GrantpathError:
        return False
    return ref.type in ("user", "group", "role") and ref.text not in POLICY.builtins


def write(file: Path, rows: list[str]) -> None:
    """Writes a table with one column."""
    if file.suffix == ".parquet":
        pq.write_table(pa.table({"ref": rows}), file)
    elif file.suffix == ".jsonl":
        file.write_text("".join(json.dumps({"ref": row}) + "\n" for row in rows))
    else:
        with file.open("w", newline="", encoding="utf-8") as opened:
            writer = csv.writer(opened)
            writer.writerow(["ref"])
            writer.writerows([row] for row in rows)


def test_files_that_are_not_tables_are_refused(tenant: Tenants, tmp_path: Path) -> None:
    graph = tenant("gravitino")
    before = state(graph)

    def device(file: Path) -> None:
        file.symlink_to("/dev/zero")

    makers: dict[str, Callable[[Path], Any]] = {
        "subjects.csv": device,
        "objects.parquet": device,
        "grants.jsonl": os.mkfifo,
        "members.csv": Path.mkdir,
        "owners.jsonl": lambda file: file.write_text('{"object": ' * 100_000),
        "objects.jsonl": lambda file: file.write_bytes(b'{"ref": "' + b"x" * 10_000_000 + b'"}'),
        "objects.csv": lambda file: file.write_bytes(b"ref\n" + b"x" * 10_000_000),
        "subjects.jsonl": lambda file: file.write_text('{"ref": ' + "9" * 100_000 + "}"),
        "grants.csv": lambda file: file.write_text('effect,privilege,object,subject\nallow,"x\n'),
        "grants.parquet": lambda file: file.write_bytes(b"PAR1" + b"\xff" * 100 + b"PAR1"),
    }
    for name, make in makers.items():
        folder = tmp_path / name
        folder.mkdir()
        make(folder / name)
        began = time.process_time()
        with pytest.raises(InvalidInput, match=name.split(".")[0]):
            load(graph, folder)
        assert time.process_time() - began < 10
    assert state(graph) == before


def test_parquet_file_with_too_many_rows_is_refused(
    tenant: Tenants, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "MAX_ROWS", 10)
    write(tmp_path / "subjects.parquet", ["user:a"] * 11)
    with pytest.raises(InvalidInput, match="more than 10 rows"):
        load(tenant("gravitino"), tmp_path)


def test_hostile_paths_are_refused_or_used(tenant: Tenants, tmp_path: Path, closing: Closing) -> None:
    """As a folder to load, a policy, a scenario file and a snapshot, a path is refused by name or used as it is."""
    graph, tries = tenant("gravitino"), Tries("paths")
    big = tmp_path / "big.yaml"
    with big.open("wb") as opened:
        opened.truncate(MAX_BYTES + 1)
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "loop.yaml").symlink_to(tmp_path / "loop.yaml")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    odd = [
        "a\0b",
        "\udcff\udcfe",
        "x" * 5_000,
        "x/" * 5_000,
        "..",
        "../" * 50 + "etc/passwd",
        "-rf",
        "~root",
        "$(true)",
    ]
    paths = [tmp_path / name for name in odd] + [
        Path("/dev/zero"),
        Path("/dev/stdin/x"),
        Path("/proc/self/mem"),
        Path(odd[0]),
    ]
    paths += [tmp_path / f"{name}.yaml" for name in ("big", "pipe", "loop", "bytes")]
    for path in paths:
        readers: list[Callable[[], Any]] = [
            partial(policy.load, str(path)),
            partial(read_scenarios, path),
            partial(ask, path, "who can x on y:z"),
        ]
        for read in readers:
            assert tries(read)[1] is not None, path
        if path.name != "..":
            assert tries(lambda: load(graph, path))[1] is not None, path  # noqa: B023
    for number, name in enumerate([b"\xff\xfe", b"`x`}) DETACH DELETE n", b"a\nb", "\u202ex".encode(), b"-rf"]):
        folder = Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), name)))
        folder.mkdir()
        (folder / "subjects.csv").write_text(f"ref\nuser:u{number}\n")
        report, error = tries(lambda: load(graph, folder))  # noqa: B023
        assert error is None and report.changed
    for file, text in (
        ("meta.json", b"\xff"),
        ("meta.json", b"{"),
        ("meta.json", b"[" * 100_000),
        ("policy.json", b"\xff"),
    ):
        folder = tmp_path / f"snapshot{text[:1].hex()}{file}{len(text)}"
        folder.mkdir()
        (folder / file).write_bytes(text)
        assert tries(lambda: ask(folder, "who can x on y:z"))[1] is not None  # noqa: B023
    closing(tries.summary(5, 60))
