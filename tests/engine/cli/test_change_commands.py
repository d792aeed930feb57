"""The command line for changes and their history: batches from files, ids, dry runs, the log and its filters."""

import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grantpath.engine import Authorizer, Change, Unavailable, Unknown
from grantpath.engine.cli.change.change_commands import naming_the_line
from grantpath.engine.policy.yaml_reader import MAX_BYTES
from grantpath.engine.tenants import registry
from grantpath.graph.guard.store import Store
from grantpath.graph.messages import printable

from ...support.command_line import Run, run
from ...support.named_roots import named_root

__all__ = ["run"]

FACTS = ["add catalog:hr", "add user:ann", "add user:bob", "add role:analyst", "member user:bob of role:analyst"]


@pytest.fixture
def root(run: Run, store: Store, tmp_path: Path) -> Iterator[str]:
    """A root that the command line created from a file."""
    name = f"metalake:changes-{tmp_path.name}"
    file = tmp_path / "facts.txt"
    file.write_text("# who and what\n\n" + "\n".join([*FACTS, f"owner user:ann of {name}"]) + "\n")
    made = run("change", "--file", str(file), "--root", name, "--policy", "gravitino", "--create", "--json")
    assert (made.code, made.json["done"], made.json["revision"]) == (0, True, 6)
    assert [each["revision"] for each in made.json["changes"]] == [1, 2, 3, 4, 5, 6]
    yield name
    registry.remove(store, name)


def test_batch_reports_the_number_of_changes(run: Run, root: str, tmp_path: Path) -> None:
    file = tmp_path / "more.txt"
    file.write_text("add user:cas\r\nadd role:maker\nmember user:bob of role:analyst\n")
    ran = run("change", "--file", str(file), "--by", "user:ann", "--root", root)
    assert (ran.code, ran.out) == (0, "done 2 of 3 statements, revision 8\n")


def test_batch_is_read_from_standard_input(run: Run, root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("add user:cas\nadd user:dan"))
    assert run("change", "--file", "-", "--root", root, "--json").json["revision"] == 8


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("/dev/zero", "not a regular file"),
        ("pipe", "not a regular file"),
        ("long", "larger than"),
        ("-", "standard input is longer"),
    ],
)
def test_endless_input_is_refused(
    run: Run, root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, text: str
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("add user:cas\n" * (MAX_BYTES // 10)))
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "long").write_text("#" * (MAX_BYTES + 1))
    ran = run("change", "--file", str(tmp_path / file) if file in ("pipe", "long") else file, "--root", root)
    assert (ran.code, ran.out, text in ran.err) == (2, "", True)


@pytest.mark.parametrize(
    ("line", "by", "code", "text"),
    [
        ("add catalog:mine", "user:bob", 1, "is refused"),
        ("add user:ann", "user:ann", 2, "exists already: omit this statement"),
        ("give user:bob all", "user:ann", 2, "is not a statement"),
    ],
)
def test_wrong_line_is_named_and_nothing_is_changed(
    run: Run, root: str, tmp_path: Path, line: str, by: str, code: int, text: str
) -> None:
    file = tmp_path / "wrong.txt"
    file.write_text(f"# one\n\n{line}\nadd user:eve\n")
    ran = run("change", "--file", str(file), "--by", by, "--root", root)
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.startswith(f"error: {file}:3: ") and text in ran.err and ran.err.endswith("; nothing is done\n")
    assert run("log", "--root", root, "--json").json["revision"] == 6


def test_each_line_of_a_file_has_an_outcome(run: Run, root: str, tmp_path: Path) -> None:
    file = tmp_path / "each.txt"
    file.write_text("add user:cas\n# no\ndrop catalog:hr\nmember user:bob of role:analyst\n")
    words = ["change", "--file", str(file), "--each", "--root", root]
    ran = run(*words, "--by", "user:bob")
    assert ran.code == 1  # bob may do nothing
    assert ran.out.startswith(f"{file}:1: refused: 'add user:cas' by user:bob is refused: ")
    assert ran.out.endswith("\n3 refused\n")
    dry = run(*words, "--dry-run", "--json").json
    assert (dry["done"], dry["dry_run"], dry["counts"]) == (False, True, {"done": 3, "refused": 0, "invalid": 0})
    assert run("log", "--root", root, "--json").json["revision"] == 6
    ran = run(*words, "--by", "user:ann", "--json")
    assert (ran.code, ran.json["done"], ran.json["counts"]) == (0, True, {"done": 3, "refused": 0, "invalid": 0})
    assert [(each["line"], each["outcome"], each["changed"]) for each in ran.json["changes"]] == [
        (1, "done", True),
        (3, "done", True),
        (4, "done", False),
    ]
    again = run(*words)
    assert (again.code, again.err) == (2, "")
    assert again.out.splitlines()[-2:] == [
        f"{file}:4: nothing to change: member user:bob of role:analyst, revision 8",
        "1 done, 2 invalid",
    ]
    told = run(*words, "--json").json["changes"][1]
    assert (told["outcome"], told["statement"], told["code"]) == ("invalid", "drop catalog:hr", "unknown")
    assert "--each needs --file" in run("change", "add user:x", "--each", "--root", root).err
    assert "--each takes no --effects" in run(*words, "--dry-run", "--effects").err


def test_failure_after_some_lines_says_that_those_are_made(
    run: Run, root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "each.txt"
    file.write_text("add user:cas\nhand over user:cas to user:dan\n")
    change = Authorizer.change

    def fails(self: Authorizer, statement: str, **named: Any) -> Change:
        if statement == "hand over user:cas to user:dan":
            raise Unavailable("the server is gone")
        return change(self, statement, **named)

    monkeypatch.setattr(Authorizer, "change", fails)
    ran = run("change", "--file", str(file), "--each", "--root", root)
    told = (
        f"error: {file}:2: the server is gone; the lines before it are made, except wrong ones: see `grantpath log`\n"
    )
    assert (ran.code, ran.err) == (2, told)
    assert run("log", "--root", root, "--json").json["revision"] == 7


def test_name_with_grants_is_named_when_it_is_created(run: Run, store: Store, tmp_path: Path) -> None:
    name = f"instance:sleeping-{tmp_path.name}"
    (tmp_path / "add").write_text("add namespace:hr\n")
    where = ["--root", name, "--policy", "cdap"]
    told = "add namespace:hr: this name has 2 grants already, which count from now on"
    try:
        grants = ["allow READ on namespace:hr to user:ann", "allow WRITE on namespace:hr to user:ann"]
        run("change", "add user:ann", *where, "--create")
        for each in grants:
            assert run("change", each, *where).code == 0
        for words in (["--dry-run"], ["--dry-run", "--effects"]):
            assert told in run("change", "add namespace:hr", *words, *where).out
        assert told in run("plan", str(tmp_path / "add"), *where).out
        assert told in run("change", "--file", str(tmp_path / "add"), "--each", "--dry-run", *where).out
        assert run("change", "add namespace:hr", "--dry-run", "--json", *where).json["note"] == told
        ran = run("change", "add namespace:hr", *where)
        assert ran.out.splitlines() == ["done revision 4", f"  {told}"]
    finally:
        registry.remove(store, name)


def test_empty_or_missing_file_is_an_error(run: Run, root: str, tmp_path: Path) -> None:
    assert "cannot be read" in run("change", "--file", str(tmp_path / "none"), "--root", root).err
    (tmp_path / "empty").write_text("# nothing\n")
    assert "has no statement" in run("change", "--file", str(tmp_path / "empty"), "--root", root).err
    usage = "give either a STATEMENT or a --file of statements. See `grantpath change --help`."
    assert usage in run("change", "--root", root).err
    assert run("change", "add user:x", "--file", "-", "--root", root).code == 2


def test_a_change_is_made_once_under_its_id(run: Run, root: str) -> None:
    first = run("change", "add user:cas", "--id", "once", "--by", "user:ann", "--root", root, "--json")
    assert len(first.json["hash"]) == 64
    assert first.json == {"done": True, "id": "once", "changed": True, "revision": 7, "hash": first.json["hash"]}
    assert (
        run("change", "add user:cas", "--id", "once", "--by", "user:ann", "--root", root, "--json").json == first.json
    )
    assert run("change", "add user:dan", "--id", "once", "--by", "user:ann", "--root", root).code == 2


def test_the_log_finds_a_batch_by_its_id(run: Run, root: str, tmp_path: Path) -> None:
    (tmp_path / "two").write_text("add user:cas\nadd user:dan\n")
    run("change", "--file", str(tmp_path / "two"), "--id", "k1", "--by", "user:ann", "--root", root)
    found = run("log", "--id", "k1", "--root", root, "--json").json["answer"]
    assert [each["id"] for each in found] == ["k1.0", "k1.1"]


def test_dry_run_reports_and_changes_nothing(run: Run, root: str, store: Store) -> None:
    words = ["--dry-run", "--root", root]
    would = run("change", "drop catalog:hr", "--by", "user:ann", *words)
    assert (would.code, would.out) == (0, "would be done revision 7\n  - catalog:hr\n")
    assert run("change", FACTS[-1], *words).out == "would be done nothing to change, revision 6\n"
    told = run("change", "drop catalog:hr", *words, "--json").json
    assert (told["done"], told["dry_run"], told["revision"]) == (False, True, 7)
    assert run("change", "drop catalog:hr", "--by", "user:bob", *words).code == 1
    assert run("change", "drop catalog:none", *words).code == 2
    missing = f"{root}-missing"
    assert run("change", "add user:x", "--dry-run", "--root", missing, "--policy", "gravitino").code == 2
    assert registry.find(store, missing) is None
    log = run("log", "--refused", "--root", root, "--json").json
    assert (log["answer"], log["revision"]) == ([], 6)


def test_dry_run_of_a_repeated_id_reports_it_as_done(run: Run, root: str, tmp_path: Path) -> None:
    file = tmp_path / "two"
    file.write_text("add user:cas\nmember user:bob of role:analyst\n")
    for words, told in (
        (["add catalog:mine", "--id", "one"], "done already at revision 7: nothing would be done\n"),
        ([FACTS[-1], "--id", "none"], "done already, it changed nothing at revision 7: nothing would be done\n"),
        (["--file", str(file), "--id", "k"], "done already, 1 of 2 statements, at revision 8: nothing would be done\n"),
    ):
        done = run("change", *words, "--root", root, "--json").json
        again = [*words, "--dry-run", "--root", root]
        assert run("change", *again).out == told
        notes = {"dry_run": True, "done_already": True, "added": [], "removed": []}
        said = run("change", *again, "--json").json
        for each in said.get("changes", []):
            assert (each.pop("added"), each.pop("removed")) == ([], [])
        assert {**notes, **said} == {**done, "done": False, **notes}
        assert run("change", *words, "--root", root, "--json").json == done
    assert run("log", "--root", root, "--json").json["revision"] == 8


def test_the_log_is_filtered_and_paged(run: Run, root: str) -> None:
    run("change", "add catalog:mine", "--by", "user:bob", "--id", "R1", "--root", root)
    run("change", "add catalog:mine", "--by", "user:ann", "--root", root)

    def statements(*words: str) -> list[str]:
        return [each["statement"] for each in run("log", "--root", root, "--json", *words).json["answer"]]

    assert statements("--by", "user:ann") == ["add catalog:mine"]
    assert statements("--object", "role:analyst", "--subject", "user:bob") == [FACTS[-1]]
    assert statements("--revision", "2") == [FACTS[1]]
    assert statements("--after", "1", "--before", "4") == FACTS[1:3]
    assert statements("--limit", "2", "--before", "3") == FACTS[:2]
    assert statements("--since", "2020-01-01T00:00", "--until", "2020-01-02") == []
    assert statements("--refused") == statements("--refused", "--id", "R1") == ["add catalog:mine"]
    assert statements("--refused", "--id", "R2") == []
    refused = run("log", "--refused", "--root", root)
    assert "user:bob" in refused.out and "CREATE_CATALOG" in refused.out
    assert "--before 7" in run("log", "--limit", "1", "--root", root).err
    for option, wrong in (("--since", "yesterday"), ("--since", ""), ("--until", "")):
        assert f"'{wrong}' is not a time" in run("log", option, wrong, "--root", root).err
    none = run("log", "--id", "none", "--root", root)
    assert (none.code, none.out, none.err) == (0, "", "no accepted change matches\n")


def test_at_least_option_requires_a_revision(run: Run, root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grantpath.graph.guard.store.PATIENCE", 0.0)
    for words in (
        ["check", "user:ann", "alter_catalog", "catalog:hr"],
        ["explain", "user:ann", "alter_catalog", "catalog:hr"],
        ["who", "alter_catalog", "catalog:hr"],
        ["which", "catalog", "user:ann", "alter_catalog"],
    ):
        assert run(*words, "--at-least", "6", "--root", root).code == 0
        late = run(*words, "--at-least", "7", "--root", root, "--json")
        assert (late.code, late.out) == (2, "")
        assert "revision 6, older than revision 7" in json.loads(late.err)["error"]


def test_signs_are_outside_the_printed_form_of_a_fact(run: Run, root: str, tmp_path: Path) -> None:
    file, fact = tmp_path / "odd.txt", "add user:\u2028x"
    printed = r"$'user:\u2028x'"
    file.write_text(f"{printable(fact)}\nmember user:bob of role:analyst\n")
    words = ["--root", root, "--dry-run"]
    assert run("change", fact, *words).out.splitlines()[1:] == [f"  + {printed}"]
    assert f"\n+ {printable(fact)}\n" in run("plan", str(file), "--root", root).out
    each = run("change", "--file", str(file), "--each", "--root", root).out.splitlines()
    assert each[0] == f"{file}:1: done: {printable(fact)}, revision 7"
    assert run("change", "drop user:\u2028x", *words).out.splitlines()[1:] == [f"  - {printed}"]
    run("change", "member user:\u2028x of role:analyst", "--root", root)
    shown = run("show", "role:analyst", "--root", root).out.splitlines()
    assert [line.split(maxsplit=1)[-1] for line in shown if "2028" in line] == [printed]


def test_error_about_a_line_of_a_file_keeps_what_it_knows() -> None:
    lost = Unavailable("statement 1: the connection is gone", unknown=True)
    lost.index, lost.question = 1, {"verb": "change_all"}
    with pytest.raises(Unavailable) as raised, naming_the_line("f", [(3, "add user:a"), (7, "add user:b")]):
        raise lost
    named = raised.value
    assert str(named) == "f:7: the connection is gone; nothing is done"
    assert (named.unknown, named.code) == (True, "outcome_unknown")
    assert (named.index, named.question) == (1, {"verb": "change_all"})
    with pytest.raises(Unknown) as about, naming_the_line("f", [(3, "drop user:a")]):
        absent = Unknown("statement 0: user:a does not exist", absent="user:a")
        absent.index = 0
        raise absent
    assert (str(about.value), about.value.absent) == ("f:3: user:a does not exist; nothing is done", "user:a")


def test_the_log_of_one_revision_is_that_of_revision_0_too(run: Run, store: Store, tmp_path: Path) -> None:
    name = f"metalake:first-{tmp_path.name}"
    with named_root(store, "gravitino", name, []):
        assert run("change", "add catalog:mine", "--by", "user:bob", "--root", name).code != 0
        words = ["log", "--root", name, "--json"]
        [attempt] = run(*words, "--refused", "--revision", "0").json["answer"]
        assert (attempt["actor"], attempt["revision"]) == ("user:bob", 0)
        run("change", "add user:ann", "--root", name)
        run("change", "add catalog:mine", "--by", "user:ann", "--root", name)
        assert run(*words, "--refused", "--revision", "0").json["answer"] == [attempt]
        [later] = run(*words, "--refused", "--revision", "1").json["answer"]
        assert (later["actor"], later["revision"]) == ("user:ann", 1)
        assert run(*words, "--revision", "0").json["answer"] == []
        for option in ("--after", "--before"):
            wrong = run("log", "--root", name, "--revision", "1", option, "0")
            assert (wrong.code, f"--revision and {option} cannot be combined" in wrong.err) == (2, True)
