"""Each pair of a writer and a reader is an identity for every accepted name."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grantpath.engine import Authorizer, InvalidInput
from grantpath.engine.tenants import registry
from grantpath.engine.transfer import exporter, importer, table_files
from grantpath.engine.transfer.dump_files import Notes, Writer, from_json
from grantpath.engine.transfer.dump_meta import DumpMeta, KeptPolicy, entries, write_meta
from grantpath.engine.transfer.table_formats import Format
from grantpath.engine.transfer.tables import TABLES, Problems
from grantpath.graph.guard.store import Store
from grantpath.graph.language.reference import Reference, encodable, parse, reference
from grantpath.graph.language.statement import parse_statement
from grantpath.graph.messages import printable, read_printed

from ...conftest import Tenants
from ...support.command_line import Run, run

__all__ = ["run"]

FORMATS: list[Format] = ["csv", "jsonl", "parquet"]
# The code points that may be special to a format; the others share names.
SPECIAL = [
    *range(0x500),
    *range(0x2000, 0x2100),
    *range(0xD7F0, 0xD800),
    *range(0xE000, 0xE010),
    *range(0xFEF0, 0x10010),
]
AROUND = ["{}", "{}a", "a{}", "a{}b", "{}{}"]


def accepted(name: str) -> bool:
    return bool(name) and encodable(name) and "\0" not in name


def names() -> Iterator[str]:
    """Every code point; special ones alone, first, last and in the middle; and 5,000 random names."""
    points = [point for point in range(1, 0x110000) if not 0xD800 <= point < 0xE000]
    yield from ("".join(map(chr, points[at : at + 60])) for at in range(0, len(points), 60))
    yield from filter(accepted, (form.format(*[chr(point)] * 2) for point in SPECIAL for form in AROUND))
    chosen, pool = random.Random("names"), "\r\n\t\"'`,.:;|\\{}[]# \u2028\u0085\ufeff\x1c\x7fabé漢😀"
    for _ in range(5_000):
        yield "".join(chosen.choice(pool) for _ in range(chosen.randrange(1, 12)))


NAMES = [*names()]


@pytest.mark.parametrize("format_", FORMATS)
def test_tables_of_a_dump_keep_every_name(tmp_path: Path, format_: Format) -> None:
    """By the reader of `load`, and by the one that verifies a dump."""
    rows = {
        "subjects": [[name] for name in NAMES],
        "members": list(map(list, zip(NAMES, reversed(NAMES), strict=True))),
    }
    for table, wanted in rows.items():
        writer = Writer(tmp_path / f"{table}.{format_}", TABLES[table], format_)
        for row in wanted:
            writer.add(row)
        writer.finish()
        assert [*table_files.read_back(tmp_path / writer.name, table, TABLES[table])] == wanted
    problems = Problems()
    found = table_files.read(tmp_path, problems, lambda *_: None)
    problems.raise_any()
    for table, wanted in rows.items():
        listed = [found[table].columns[name] for name in TABLES[table]]
        columns = [[one.values[code] for code in one.codes] for one in listed]
        assert list(map(list, zip(*columns, strict=True))) == wanted


def test_history_of_a_dump_keeps_every_name(tmp_path: Path) -> None:
    notes = Notes(tmp_path / "history.jsonl")
    for name in NAMES:
        notes.add({"statement": name, "refs": [name, "x"], "revision": 2**62})
    notes.finish()
    found = [{key: from_json(value) for key, value in entry.items()} for entry in entries(tmp_path, "history")]
    assert found == [{"refs": [name, "x"], "revision": 2**62, "statement": name} for name in NAMES]


def test_metadata_of_a_dump_keeps_every_name(tmp_path: Path) -> None:
    for number, name in enumerate(["".join(NAMES[:50_000]), *NAMES[::5_000]]):
        (tmp_path / str(number)).mkdir()
        meta = DumpMeta(
            format="grantpath dump 1",
            root=name,
            policy=KeptPolicy(name=name, digest="d", source=name),
            revision=1,
            made=None,
            chain=name,
            time="t",
            counts={name: 1},
            files={},
        )
        write_meta(tmp_path / str(number), meta)
        read = json.loads((tmp_path / str(number) / "meta.json").read_text(encoding="utf-8"))
        assert DumpMeta.model_validate(read) == meta


def test_references_and_statements_keep_every_name() -> None:
    for name in NAMES:
        ref, user = Reference("table", ("a", name, "b")), Reference("user", (name,))
        assert (parse(ref.text), parse(user.text, {"user"})) == (ref, user)
        statement = parse_statement(f"allow SELECT_TABLE on {ref.text} to {user.text}")
        assert (statement.object, statement.subject) == (ref.text, user.text)


def test_printed_form_is_read_back_as_the_name_and_is_no_other_name() -> None:
    texts = {Reference("user", (name,), True).text for name in NAMES} | {f"add role:`{name}`" for name in NAMES}
    printed = {text: printable(text) for text in texts}
    assert all(form.isprintable() and read_printed(form) == text for text, form in printed.items())
    assert len({*printed.values()}) == len(texts)


def test_reference_of_a_raw_name_is_canonical() -> None:
    for name in NAMES:
        for type_, one_segment in (("user", True), ("role", True), ("table", False)):
            text = reference(type_, name)
            assert text == Reference(type_, (name,), one_segment).text
            assert parse(text, {type_} if one_segment else ()).segments == (name,)


def test_log_replayed_as_a_file_makes_the_same_root(store: Store, tenant: Tenants, run: Run, tmp_path: Path) -> None:
    """The statements of the log in their printed form, one per line."""
    odd = [*filter(accepted, (form.format("\\", "\\") for form in AROUND)), *NAMES[-400:], "analyst\r", "analyst\n"]
    users = sorted({Reference("user", (name,), True).text for name in odd})
    made, name = tenant(), f"metalake:replayed-{tmp_path.name}"
    made.change_all(["add role:r", *(f"add {user}" for user in users), *(f"member {user} of role:r" for user in users)])
    entries_of_log = made.log(limit=10_000)
    file = tmp_path / "log.txt"
    file.write_text("\n".join(printable(entry.statement) for entry in entries_of_log), encoding="utf-8")
    try:
        ran = run("change", "--file", str(file), "--root", name, "--policy", "gravitino", "--create")
        assert ran.code == 0, ran.err
        with Authorizer.open(root=name) as copy:
            assert copy.list("user").answer == made.list("user").answer
            assert {*users} <= {*copy.list("user").answer}
            assert copy.members("role:r").answer == made.members("role:r").answer
    finally:
        registry.remove(store, name)


@pytest.mark.parametrize("format_", FORMATS)
def test_dump_and_load_keep_odd_names(tenant: Tenants, tmp_path: Path, format_: Format) -> None:
    """A role whose name ends in a carriage return, beside one of the same name without it."""
    odd = [*NAMES[-300:], "analyst\r", "analyst\r\n", "\ranalyst", "analyst\n", "analyst", "a\u2028"]
    roles = sorted({Reference("role", (name,)).text for name in odd})
    plain, other = (Reference("role", (name,)).text for name in ("analyst", "analyst\r"))
    facts = [f"add {ref}" for ref in (*roles, "catalog:c", "user:bob")]
    facts += [f"member user:bob of {plain}", f"allow USE_CATALOG on catalog:c to {other}"]
    auth, fresh = tenant(given=facts), tenant()
    assert not auth.check("user:bob", "USE_CATALOG", "catalog:c")
    exporter.dump(auth, tmp_path / "kept", format_)
    assert importer.load(fresh, tmp_path / "kept").restored
    assert fresh.list("role").answer == auth.list("role").answer
    assert not fresh.check("user:bob", "USE_CATALOG", "catalog:c")


@pytest.mark.parametrize("format_", FORMATS)
def test_dump_that_reads_back_otherwise_fails_and_leaves_nothing(
    tenant: Tenants, tmp_path: Path, format_: Format, monkeypatch: pytest.MonkeyPatch
) -> None:
    auth = tenant(given=["add user:ann", "add role:analyst", "member user:ann of role:analyst"])
    flush = Writer._flush

    def loses(self: Writer) -> None:
        self._part = [[value.replace("analyst", "analys") for value in row] for row in self._part]
        flush(self)

    monkeypatch.setattr(Writer, "_flush", loses)
    with pytest.raises(InvalidInput, match=rf"subjects\.{format_} reads back with other contents than were written"):
        exporter.dump(auth, tmp_path / "kept", format_)
    assert not (tmp_path / "kept").exists()


def test_history_that_reads_back_otherwise_fails(
    tenant: Tenants, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    auth = tenant(given=["add user:ann"])
    add = Notes.add

    def loses(self: Notes, entry: dict[str, Any]) -> None:
        add(self, entry)
        self.contents.add("another entry")

    monkeypatch.setattr(Notes, "add", loses)
    with pytest.raises(InvalidInput, match=r"history\.jsonl reads back with other contents"):
        exporter.dump(auth, tmp_path / "kept")
