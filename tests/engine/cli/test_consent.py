"""Irreversible actions need consent in every command, and files of statements keep every character."""

import io
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from grantpath.engine.authorizer.authorizer import Authorizer
from grantpath.engine.cli.change import change_commands
from grantpath.engine.scenarios import runner
from grantpath.engine.scenarios.scenario_file import read_scenarios
from grantpath.engine.tenants import registry
from grantpath.graph.errors import Inconsistent, InvalidInput
from grantpath.graph.guard.store import Store

from ...support.command_line import Run, run

__all__ = ["run"]


@pytest.fixture
def root(run: Run, store: Store) -> Iterator[str]:
    name = f"metalake:consent_{uuid.uuid4().hex[:8]}"
    assert run("change", "add user:ann", "--root", name, "--policy", "gravitino", "--create").code == 0
    yield name
    registry.remove(store, name)


Drop = Callable[[str, Path], list[str]]


def by_argument(root: str, _: Path) -> list[str]:
    return ["change", f"drop {root}"]


def by_argument_quoted(root: str, _: Path) -> list[str]:
    return ["change", f"drop metalake:`{root.partition(':')[2]}` "]


def by_file(root: str, folder: Path) -> list[str]:
    (folder / "drop.txt").write_text(f"add user:bob\ndrop {root}\n")
    return ["change", "--file", str(folder / "drop.txt")]


def by_roots_drop(root: str, _: Path) -> list[str]:
    return ["roots", "drop", root]


@pytest.mark.parametrize("drop", [by_argument, by_argument_quoted, by_file, by_roots_drop])
def test_a_root_is_dropped_only_with_consent(
    run: Run, root: str, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, drop: Drop
) -> None:
    words = drop(root, tmp_path)
    if words[0] == "change":
        words += ["--root", root]
    asked = run(*words)
    assert (asked.code, asked.err) == (2, f"error: dropping {root} cannot be undone; confirm it with --yes\n")
    assert registry.names(store)[root] is False
    if words[0] == "change":
        assert run(*words, "--dry-run").code == 0

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for typed, code in (("yes\n", 2), (f"{root}\n", 0)):
        monkeypatch.setattr("sys.stdin", Terminal(typed))
        told = run(*words)
        assert (told.code, f"{root} holds " in told.err) == (code, True), told.err
    assert registry.names(store).get(root) is not False


def test_consent_is_given_by_yes(run: Run, root: str, store: Store) -> None:
    assert run("change", f"drop {root}", "--root", root, "--yes").code == 0
    assert registry.names(store)[root] is True
    assert run("roots", "drop", root, "--yes").code == 0
    assert root not in registry.names(store)


TAGGED = [
    *("add catalog:hr", "add schema:hr.s", "add table:hr.s.t", "add tag:pii", "add user:bob"),
    *("allow USE_CATALOG on catalog:hr to user:bob", "allow USE_SCHEMA on catalog:hr to user:bob"),
    *("allow SELECT_TABLE on catalog:hr to user:bob", "tag table:hr.s.t with tag:pii"),
]
DENY = "deny SELECT_TABLE on tag:pii to user:bob"


@pytest.mark.parametrize("after", [["drop tag:pii"], ["rename tag:pii to x", "drop tag:x"]])
@pytest.mark.parametrize("each", [[], ["--each"]])
def test_a_tag_with_a_deny_is_dropped_only_with_consent(
    run: Run, store: Store, tmp_path: Path, after: list[str], each: list[str]
) -> None:
    name = f"metalake:tagged_{uuid.uuid4().hex[:8]}"
    file = tmp_path / "changes.txt"
    file.write_text("\n".join([*TAGGED, DENY]))
    try:
        assert run("change", "--file", str(file), "--root", name, "--policy", "lakehouse", "--create").code == 0
        file.write_text("\n".join(after))
        words = ["change", "--file", str(file), *each, "--root", name]
        asked = run(*words)
        assert asked.code == 2
        assert "dropping the tag ends deny SELECT_TABLE on tag:" in asked.err
        assert "user:bob gains" in asked.err and "on table:hr.s.t" in asked.err
        assert run("check", "user:bob", "SELECT_TABLE", "table:hr.s.t", "--root", name).code == 1
        assert run(*words, "--yes").code == 0
        assert run("check", "user:bob", "SELECT_TABLE", "table:hr.s.t", "--root", name).code == 0
        file.write_text("add tag:none\ndrop tag:none\n")  # without a DENY, nothing asks
        assert run(*words).code == 0
    finally:
        registry.remove(store, name)


@pytest.mark.parametrize("wrong", ["drop tag:typo", "drop metalake", "allow NOTHING on tag:pii to user:bob"])
def test_a_wrong_line_does_not_hide_that_a_tag_with_a_deny_is_dropped(
    run: Run, store: Store, tmp_path: Path, wrong: str
) -> None:
    name = f"metalake:tagged_{uuid.uuid4().hex[:8]}"
    file = tmp_path / "changes.txt"
    file.write_text("\n".join([*TAGGED, DENY]))
    words = ["change", "--file", str(file), "--root", name]
    try:
        assert run(*words, "--policy", "lakehouse", "--create").code == 0
        file.write_text(f"{wrong}\ndrop tag:pii\n")
        asked = run(*words, "--each")
        assert asked.code == 2 and "can drop a tag with deny SELECT_TABLE on tag:pii to user:bob, and" in asked.err
        assert "it is not known who gains what; confirm it with --yes" in asked.err
        assert run("check", "user:bob", "SELECT_TABLE", "table:hr.s.t", "--root", name).code == 1
        all_or_nothing = run(*words)  # nothing will be done, so nothing asks
        assert (all_or_nothing.code, "--yes" in all_or_nothing.err) == (2, False), all_or_nothing.err
        assert run(*words, "--each", "--yes").code == 2
        assert run("check", "user:bob", "SELECT_TABLE", "table:hr.s.t", "--root", name).code == 0
    finally:
        registry.remove(store, name)


def test_a_tag_is_dropped_only_with_consent_if_its_drop_cannot_be_planned(
    run: Run, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"metalake:tagged_{uuid.uuid4().hex[:8]}"
    file = tmp_path / "changes.txt"
    file.write_text("\n".join([*TAGGED, DENY]))
    try:
        assert run("change", "--file", str(file), "--root", name, "--policy", "lakehouse", "--create").code == 0

        def busy(*_: Any, **__: Any) -> None:
            raise Inconsistent("the root changes too much")

        monkeypatch.setattr(Authorizer, "plan", busy)
        asked = run("change", "drop tag:pii", "--root", name)
        assert (asked.code, "confirm it with --yes" in asked.err) == (2, True), asked.err
    finally:
        registry.remove(store, name)


def test_consent_is_asked_only_for_tags_that_will_be_dropped(run: Run, store: Store, tmp_path: Path) -> None:
    name = f"metalake:tagged_{uuid.uuid4().hex[:8]}"
    file = tmp_path / "changes.txt"
    file.write_text("\n".join([*TAGGED, DENY, "add tag:unused"]))
    words = ["change", "--file", str(file), "--root", name]
    try:
        assert run(*words, "--policy", "lakehouse", "--create").code == 0
        for lines, options, code in (
            ("drop tag:pii", ["--by", "user:bob", "--each"], 1),  # refused
            ("drop user:bob\ndrop tag:unused", [], 0),  # its DENY on a tag ends, but no tag that has one is dropped
        ):
            file.write_text(lines)
            told = run(*words, *options)
            assert (told.code, "--yes" in told.err) == (code, False), told.err
    finally:
        registry.remove(store, name)


def test_tags_that_were_moved_and_all_below_a_container_are_looked_at(
    run: Run, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, policy, file = f"org:tags_{uuid.uuid4().hex[:8]}", tmp_path / "tags.yaml", tmp_path / "changes.txt"
    policy.write_text(
        "policy: tags\ntypes:\n  {org: {}, area: {in: org}, doc: {in: area}, tag: {in: area}, "
        "user: {in: org, kind: user}}\n"
        "tags: {tag: {on: doc}}\ngrants: {to: user, deny: true}\n"
        "privileges: {READ: {on: 'doc, tag'}}\noperations: {}\n"
    )
    many = [f"add tag:a.t{at:04}" for at in range(1_001)]
    given = ["add area:a", "add area:b", "add doc:a.d", "add user:bob", *many, "deny READ on tag:a.t1000 to user:bob"]
    words = ["change", "--file", str(file), "--root", name]
    try:
        file.write_text("\n".join(given))
        assert run(*words, "--policy", str(policy), "--create").code == 0

        def busy(*_: Any, **__: Any) -> None:
            raise Inconsistent("the root changes too much")

        monkeypatch.setattr(Authorizer, "plan", busy)
        for lines in (
            "drop area:a",
            "move tag:a.t1000 to area:b\ndrop area:b",
            "move tag:a.t1000 to area:b\ndrop tag:b.t1000",
        ):
            file.write_text(lines)
            asked = run(*words)
            assert asked.code == 2 and "tag with deny READ on tag:a.t1000 to user:bob, and" in asked.err, asked.err
    finally:
        registry.remove(store, name)


@pytest.mark.parametrize(
    "char", ["\u00a0", "\x1f", "\u2003", "\u200b", "\u3000", "\x0b", "\x0c", "\x85", "\x7f", "\ufeff"]
)
def test_line_that_ends_with_an_invisible_character_is_refused(tmp_path: Path, char: str) -> None:
    file = tmp_path / "facts.txt"
    for line in (f"add user:bob{char}", f"{char}add user:bob", f"add user:bob {char}", char):
        file.write_bytes(f"# facts\nadd user:ann\n{line}\n".encode())
        with pytest.raises(
            InvalidInput, match=rf":3: the line (ends|begins) with the invisible U\+{ord(char):04X}.*backticks"
        ):
            change_commands.read_statements(str(file))


def test_a_file_of_statements_keeps_every_character(tmp_path: Path) -> None:
    file = tmp_path / "facts.txt"
    file.write_bytes(
        "\ufeff  add user:`bob\u00a0`\t\r\n\t# no\nadd user:`\x1fx`\r\n \t\r\nadd user:a\u00a0b\n".encode()
        + b"add user:`x\ry`\n"
    )
    kept = [(1, "add user:`bob\u00a0`"), (3, "add user:`\x1fx`"), (5, "add user:a\u00a0b"), (6, "add user:`x\ry`")]
    assert change_commands.read_statements(str(file)) == kept


def test_remains_of_a_killed_test_are_listed_and_removed(run: Run, store: Store, tmp_path: Path) -> None:
    file = tmp_path / "one.yaml"
    file.write_text(
        "scenario: killed\npolicy: gravitino\nroot: killed\ngiven: [add catalog:hr]\nthen:\n"
        "  - user:ann cannot load_catalog on catalog:hr\n"
    )
    left: list[str] = []
    remove = registry.remove

    def killed(_: Any, tenant: str) -> None:
        left.append(tenant)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "remove", killed)
        assert runner.run(read_scenarios(file), store).failed == 0
    (tenant,) = left
    try:
        listed = {each["root"]: each for each in run("roots", "--json").json["answer"]}
        assert (listed[tenant]["of_test"], listed[tenant]["policy"]) == (True, "gravitino")
        assert f"{tenant} (of a test)" in run("roots").out
        assert tenant not in registry.names(store)  # no command takes it for a root that is meant
        assert run("roots", "drop", tenant).code == 2
        dropped = run("roots", "drop", tenant, "--yes", "--json")
        assert (dropped.code, dropped.json["sizes"]["objects"]) == (0, 2)
        assert (
            store.read("MATCH (n:Entity|Revision|Change {root: $root}) RETURN count(n) AS many", {"root": tenant})[0][
                "many"
            ]
            == 0
        )
    finally:
        remove(store, tenant)


def test_root_names_are_not_cut_on_a_narrow_terminal(run: Run, root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Narrow(io.StringIO):
        def isatty(self) -> bool:
            return True

    shown = Narrow()
    monkeypatch.setattr("sys.stdout", shown)
    for name, value in (("COLUMNS", "80"), ("TERM", "dumb")):
        monkeypatch.setenv(name, value)
    run("roots")
    assert f"{root}  gravitino, revision 1\n" in shown.getvalue()
