"""The plan of a load, and the consent that a replacement needs."""

import io
import random
from pathlib import Path

import pytest

from grantpath.engine import Authorizer, Invalid, InvalidInput
from grantpath.engine.tenants import registry
from grantpath.engine.transfer import importer
from grantpath.engine.transfer.exporter import dump
from grantpath.engine.transfer.import_plan import Plan
from grantpath.engine.transfer.tables import SAY
from grantpath.engine.transfer.tables import TABLES as TABLE_COLUMNS
from grantpath.graph.guard.store import Store

from ...conftest import Tenants
from ...support.command_line import Run, run
from ...support.random_world import ROOT_NAME, random_world
from ...support.small_estate import facts_of
from ...support.table_files import ESTATE, GIVEN, history, write
from ...support.tiers import others_slow

__all__ = ["run"]


def statements(auth: Authorizer) -> dict[str, set[str]]:
    """The rows of a dump as statements."""
    return {table: {SAY[table].format(*row) for row in rows} for table, rows in facts_of(auth).items()}


@pytest.mark.parametrize("policy_name", others_slow(["gravitino", "lakehouse", "onehouse", "cdap"]))
@pytest.mark.parametrize("replace", [False, True])
def test_dry_run_lists_exactly_the_changes_of_the_load(
    tenant: Tenants, tmp_path: Path, policy_name: str, replace: bool
) -> None:
    world = random_world(policy_name, random.Random("before"), 90)
    dump(tenant(policy_name, random_world(policy_name, random.Random("wanted"), 60), ROOT_NAME), tmp_path / "new")
    auth = tenant(policy_name, world if replace else [], ROOT_NAME)
    before, log = statements(auth), history(auth)
    planned = importer.load(auth, tmp_path / "new", replace=replace, dry_run=True)
    assert planned.plan and planned.changed
    assert (statements(auth), history(auth), auth.revision_now()) == (before, log, planned.revision)
    done = importer.load(auth, tmp_path / "new", replace=replace, consent=True)
    after = statements(auth)
    assert (done.added, done.removed, done.plan) == (planned.added, planned.removed, None)
    for table in SAY:
        added, removed = planned.plan.added.statements(table), planned.plan.removed.statements(table)
        assert (set(added), len(added)) == (after[table] - before[table], len(set(added)))
        assert (set(removed), len(removed)) == (before[table] - after[table], len(set(removed)))
        if replace:
            assert planned.plan.held[table] == len(before[table])
    again = importer.load(auth, tmp_path / "new", replace=replace, dry_run=True)
    assert again.plan and not again.changed
    assert {*again.plan.added.counts.values(), *again.plan.removed.counts.values()} == {0}


def many(auth: Authorizer, count: int) -> list[list[str]]:
    auth.given(f"add user:u{at:02}" for at in range(count))
    return [[f"user:u{at:02}"] for at in range(count)]


TABLES = ("objects", "members", "owners", "grants")


def folder_of(folder: Path, users: list[list[str]]) -> Path:
    write(folder, {"subjects": users})
    for table in TABLES:
        (folder / f"{table}.csv").write_text(",".join(load_columns(table)) + "\n")
    return folder


def load_columns(table: str) -> list[str]:
    return list(TABLE_COLUMNS[table])


def test_replacement_that_removes_a_tenth_of_a_table_needs_no_consent(tenant: Tenants, tmp_path: Path) -> None:
    auth = tenant()
    users = many(auth, 20)
    assert importer.load(auth, folder_of(tmp_path, users[2:]), replace=True).removed == 2


def test_replacement_that_removes_more_than_a_tenth_needs_consent(tenant: Tenants, tmp_path: Path) -> None:
    auth = tenant()
    folder = folder_of(tmp_path, many(auth, 20)[3:])
    before = statements(auth)
    with pytest.raises(InvalidInput, match=r"(?s)nothing is changed.*--yes.*\n3 of 20 subjects: user:u00, ") as no:
        importer.load(auth, folder, replace=True)
    assert len(str(no.value).splitlines()) == 2
    seen: list[Plan] = []

    def refuse(plan: Plan) -> bool:
        seen.append(plan)
        return False

    with pytest.raises(InvalidInput, match="nothing is changed"):
        importer.load(auth, folder, replace=True, consent=refuse)
    assert (statements(auth), seen[0].needs_consent, seen[0].counts["subjects"]) == (before, True, 3)
    assert importer.load(auth, folder, replace=True, consent=True).removed == 3


def test_replacement_without_a_table_file_needs_consent(tenant: Tenants, tmp_path: Path) -> None:
    auth = tenant()
    folder = folder_of(tmp_path, many(auth, 20)[1:])
    (folder / "grants.csv").unlink()
    with pytest.raises(InvalidInput, match=r"(?s)has no file for grants; .*\n1 of 20 subjects: user:u00"):
        importer.load(auth, folder, replace=True)
    (folder / "grants.csv").write_text("effect,privilege,object,subject\n")
    assert importer.load(auth, folder, replace=True).removed == 1


def test_replacement_keeps_an_owner_of_the_root(tenant: Tenants, tmp_path: Path) -> None:
    auth = tenant(given=["add user:ann", "add user:bob"])
    folder = write(tmp_path, {"subjects": [["user:bob"]], "owners": []})
    auth.change(f"owner user:ann of {auth.root}")
    for dry_run in (True, False):
        with pytest.raises(InvalidInput, match=rf"user:ann owns {auth.root}, .*must keep an owner.*list it in owners"):
            importer.load(auth, folder, replace=True, dry_run=dry_run, consent=True)
    assert auth.show("user:ann")
    write(folder, {"owners": [[auth.root.text, "user:bob"]]})
    importer.load(auth, folder, replace=True, consent=True)
    assert auth.show(auth.root.text).owner == "user:bob"
    with pytest.raises(Invalid, match="must keep an owner"):
        auth.change("drop user:bob")


def test_edges_removed_with_an_entity_count(tenant: Tenants, tmp_path: Path) -> None:
    """One user of twenty is removed with half of the memberships."""
    auth = tenant()
    users = many(auth, 20)
    auth.given(["add role:r", "add role:s", "member user:u00 of role:r", "member user:u01 of role:s"])
    folder = folder_of(tmp_path, [["role:r"], ["role:s"], *users[1:]])
    (folder / "members.csv").write_text("member,of\nuser:u01,role:s\n")
    with pytest.raises(InvalidInput, match=r"\n1 of 2 members: member user:u00 of role:r"):
        importer.load(auth, folder, replace=True)


def test_duplicate_rows_are_counted(tenant: Tenants, tmp_path: Path) -> None:
    again = ["ALLOW", "USE_SCHEMA", "catalog:`hr`", "role:analyst"]
    tables = {
        **ESTATE,
        "subjects": [*ESTATE["subjects"], ["user:ann"], ["user:`ann`"]],
        "grants": [*ESTATE["grants"], again],
    }
    assert importer.load(tenant(), write(tmp_path, tables)).duplicates == {"subjects": 2, "grants": 1}


# ---- the command line ------------------------------------------------------------------------------------------------
@pytest.mark.slow
def test_command_lists_removals_asks_and_removes(
    run: Run, store: Store, tenant: Tenants, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"metalake:plan-{tmp_path.name}"
    given = folder_of(tmp_path / "all", [[f"user:u{at:02}"] for at in range(8)] + [["user:u00"]])
    words = ["--root", name]
    try:
        assert run("load", str(given), *words, "--policy", "gravitino", "--create").out.endswith(
            "; 8 added, 1 duplicate subject, revision 1\n"
        )
        few = str(folder_of(tmp_path / "few", [["user:u00"], ["user:new"]]))
        planned = run("load", few, "--replace", "--dry-run", *words)
        assert planned.out.splitlines()[1:] == [
            "  + 1 subject: user:new",
            "  - 7 subjects: user:u01, user:u02, user:u03, user:u04, user:u05, ... and 2 more",
        ]
        printed = run("load", few, "--replace", "--dry-run", "--json", *words).json
        assert (printed["dry_run"], printed["would_add"]["subjects"], printed["revision"]) == (
            True,
            ["add user:new"],
            1,
        )
        assert printed["would_remove"]["subjects"] == [f"add user:u{at:02}" for at in range(1, 8)]
        refused = run("load", few, "--replace", *words)
        assert (refused.code, "--yes" in refused.err, "7 of 8 subjects" in refused.err) == (2, True, True)
        for answer, code in (("n\n", 2), ("y\n", 0)):
            terminal = io.StringIO(answer)
            monkeypatch.setattr(terminal, "isatty", lambda: True)
            monkeypatch.setattr("sys.stdin", terminal)
            ran = run("load", few, "--replace", *words)
            assert (ran.code, "removing 7 of 8 subjects" in ran.err) == (code, True), ran.err
        assert run("log", *words, "--json").json["answer"][-1]["revision"] == 2
    finally:
        registry.remove(store, name)


def test_statements_of_a_plan_are_the_facts_of_the_load(tenant: Tenants, tmp_path: Path) -> None:
    planned = importer.load(tenant(), write(tmp_path, ESTATE), dry_run=True)
    assert planned.plan
    assert sorted(each for rows in planned.plan.added.lists().values() for each in rows) == sorted(GIVEN)
