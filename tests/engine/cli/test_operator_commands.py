"""Commands for the operator of a root: the operator in the log, dropped roots, verifying and pruning the log."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from grantpath.engine.tenants import registry
from grantpath.graph.guard.store import Store

from ...support.command_line import Run, run

__all__ = ["run"]


@pytest.fixture
def root(run: Run, store: Store, tmp_path: Path) -> Iterator[str]:
    name = f"metalake:operators-{tmp_path.name}"
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "subjects.csv").write_text("ref\nuser:ann\nuser:bob\n")
    words = ["load", str(tmp_path / "t"), "--root", name, "--policy", "lakehouse", "--create", "--by", "user:op"]
    assert run(*words, "--json").code == 0
    yield name
    registry.remove(store, name)
    store.execute("MATCH (note:DroppedRoot {root: $root}) DELETE note", {"root": name})


def test_log_names_the_operator_of_maintenance(run: Run, root: str, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("policy: mine\nextends: lakehouse\n")
    upgraded = run("policy", "upgrade", str(tmp_path / "mine.yaml"), "--root", root, "--by", "user:eve", "--json")
    assert (upgraded.code, len(upgraded.json["hash"])) == (0, 64)
    entries = run("log", "--root", root, "--json").json["answer"]
    assert [(each["actor"], each["statement"].split()[0]) for each in entries] == [
        ("user:op", "load"),
        ("user:eve", "policy"),
    ]
    for wrong in ("group:x", "user", "nosuch:x"):
        assert run("load", str(tmp_path / "t"), "--root", root, "--by", wrong).code == 2
        assert run("roots", "drop", root, "--yes", "--by", wrong).code == 2


def test_a_dropped_root_leaves_a_note(run: Run, root: str) -> None:
    head = run("log", "--root", root, "--json").json["answer"][-1]["hash"]
    assert root not in run("roots", "--dropped").out
    assert run("roots", "drop", root, "--yes", "--by", "user:op").code == 0
    assert root not in run("roots").out
    notes = [each for each in run("roots", "--dropped", "--json").json["answer"] if each["root"] == root]
    assert [(each["by"], each["revision"], each["head"], each["policy"]) for each in notes] == [
        ("user:op", 1, head, "lakehouse")
    ]
    shown = [line for line in run("roots", "list", "--dropped").out.splitlines() if root in line]
    assert len(shown) == 1 and "by user:op; lakehouse, revision 1" in shown[0]


def test_a_log_is_verified_and_pruned(run: Run, root: str, store: Store) -> None:
    made = run("change", "add user:cas", "--by", "user:ann", "--root", root)
    assert made.code == 1  # refused: not in the log
    head = run("change", "add user:cas", "--root", root, "--json").json["hash"]
    verified = run("log", "--verify", "--head", head, "--root", root)
    assert (verified.code, verified.out.split()[0]) == (0, "verified")
    without = run("log", "--verify", "--root", root, "--json")
    assert (without.code, without.json["intact"], len(without.json["unseen"]), without.json["head"]) == (
        0,
        True,
        2,
        head,
    )
    assert run("log", "--head", head, "--root", root).out == verified.out  # a head is only for a verification
    assert run("log", "--verify", "--head", "x", "--root", root).code == 2
    assert run("log", "--verify", "--prune-before", "2", "--root", root).code == 2
    assert (
        "removes 1 entries permanently; confirm it with --yes" in run("log", "--prune-before", "2", "--root", root).err
    )
    pruned = run("log", "--prune-before", "2", "--yes", "--by", "user:op", "--root", root, "--json")
    assert (pruned.code, pruned.json["pruned"], pruned.json["revision"]) == (0, 1, 3)
    assert "the log begins at revision 2" in run("log", "--root", root).err
    shown = run("log", "--verify", "--head", head, "--root", root)
    assert shown.code == 0 and "entries up to revision 1 were removed" in shown.out and "by user:op" in shown.out
    store.execute("MATCH (c:Change {root: $root, revision: 2}) SET c.actor = 'user:eve'", {"root": root})
    altered = run("log", "--verify", "--head", head, "--root", root)
    assert (altered.code, altered.out.split()[0]) == (1, "altered")
    assert "does not match its hash" in altered.out
    assert "pruned nothing" in run("log", "--prune-before", "2020-01-01", "--yes", "--root", root).out


def test_a_dump_is_not_loaded_into_a_root_that_only_a_variable_names(
    run: Run, root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: Store
) -> None:
    kept, other = str(tmp_path / "kept"), f"{root}-other"
    assert run("dump", kept, "--root", root).code == 0
    assert run("change", "add user:eve", "--root", other, "--policy", "lakehouse", "--create").code == 0
    try:
        monkeypatch.setenv("GRANTPATH_ROOT", other)
        refused = run("load", kept)
        assert (refused.code, refused.out) == (2, "")
        assert f"is a dump of {root}, but GRANTPATH_ROOT names {other}; write --root {root}, or" in refused.err
        assert run("list", "user").out == "user:eve\n"
        assert run("load", kept, "--root", root).out.startswith("nothing new")
        assert run("load", kept, "--root", other).code == 0
        assert run("list", "user").out == "user:ann\nuser:bob\nuser:eve\n"
        monkeypatch.setenv("GRANTPATH_ROOT", root.partition(":")[2])
        assert run("load", kept).out.startswith("nothing new")
    finally:
        registry.remove(store, other)


@pytest.mark.parametrize(
    "words",
    [
        *(
            ["--prune-before", "2", "--yes", *more]
            for more in (["--object", "user:ann"], ["--refused"], ["--head", "x"])
        ),
        ["--prune-before", "2", "--yes", "--since", "2026-01-31"],
        ["--prune-before", "2", "--yes", "--limit", "5"],
        ["--verify", "--by", "user:ann"],
        ["--verify", "--format", "csv"],
        ["--yes"],
    ],
)
def test_options_of_the_log_that_have_no_effect_together_are_refused(run: Run, root: str, words: list[str]) -> None:
    before = run("log", "--root", root, "--json").json["answer"]
    wrong = run("log", *words, "--root", root)
    assert (wrong.code, "cannot be combined" in wrong.err or " needs --" in wrong.err) == (2, True), wrong.err
    assert run("log", "--root", root, "--json").json["answer"] == before


def test_pruning_takes_a_date_only_with_hyphens(run: Run, root: str) -> None:
    before = run("log", "--root", root, "--json").json["answer"]
    wrong = run("log", "--prune-before", "20260131", "--yes", "--root", root)
    assert (wrong.code, "or a time such as 2026-01-31" in wrong.err) == (2, True)
    assert run("log", "--root", root, "--json").json["answer"] == before


@pytest.mark.parametrize(
    ("before", "says"),
    [
        ("9" * 5_000, "before=999999999999999999: "),
        ("0" * 5_000 + "99", "before=99: "),
        (
            "yesterday",
            "--prune-before='yesterday' is neither a revision nor a time; write a revision, e.g. 41, or a time, e.g.",
        ),
        ("x" * 5_000, "xxx... is neither a revision nor a time"),
    ],
)
def test_bound_of_a_pruning_is_a_revision_or_a_time(run: Run, root: str, before: str, says: str) -> None:
    wrong = run("log", "--prune-before", before, "--yes", "--root", root)
    assert (wrong.code, says in wrong.err, len(wrong.err) < 300) == (2, True, True), wrong.err


def test_times_are_written_with_z(run: Run, root: str) -> None:
    run("change", "add user:cas", "--by", "user:ann", "--root", root)
    run("change", "add user:cas", "--root", root)
    assert run("log", "--prune-before", "2", "--yes", "--root", root).code == 0
    [made, _] = run("log", "--root", root, "--json").json["answer"]
    [refused] = run("log", "--refused", "--root", root, "--json").json["answer"]
    pruned = run("log", "--verify", "--root", root, "--json").json["pruned"]
    assert run("roots", "drop", root, "--yes").code == 0
    [dropped] = [each for each in run("roots", "--dropped", "--json").json["answer"] if each["root"] == root]
    for each in (made, refused, pruned, dropped):
        assert each["at"].endswith("Z") and datetime.fromisoformat(each["at"]).utcoffset() == timedelta()
