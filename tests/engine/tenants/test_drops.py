"""Dropped roots leave nothing behind, and can be created again."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grantpath.engine import AsyncAuthorizer, Authorizer, InvalidInput, Unknown
from grantpath.engine.policy.schema import BUILT_IN
from grantpath.engine.tenants import lifecycle, registry
from grantpath.engine.transfer import importer
from grantpath.engine.transfer.exporter import dump
from grantpath.engine.transfer.policy_upgrade import upgrade
from grantpath.graph.guard.store import Store
from grantpath.graph.guard.transaction import Row
from grantpath.graph.guard.writer_lock import Held

from ...conftest import Tenants
from ...support.command_line import Run, run
from ...support.small_estate import FACTS, facts_of
from ...support.table_files import write_csv
from ..transfer.test_upkeep import Killed
from .test_policy_upgrades import NEW_PRIVILEGE

__all__ = ["run"]

MANY = 60_000  # members, more than are removed at once


# ---- roots -----------------------------------------------------------------------------------------------------------
def test_python_drops_a_root_after_its_name_is_confirmed(store: Store) -> None:
    name = "metalake:python_drops"
    for on_loop in (False, True):
        Authorizer.open(name, "gravitino", store.uri, create=True).close()

        def drop(root: str, confirm: str, on_loop: bool = on_loop) -> None:
            if on_loop:
                asyncio.run(AsyncAuthorizer.drop_root(root, confirm=confirm, uri=store.uri))
            else:
                Authorizer.drop_root(root, confirm=confirm, uri=store.uri)

        for other in ("python_drops", "metalake:python_drop", ""):
            with pytest.raises(InvalidInput, match=f"confirm= must be the name of the root to drop, {name}"):
                drop(name, other)
        with pytest.raises(Unknown, match="write its whole name"):
            drop("python_drops", "python_drops")
        Authorizer.open(name, uri=store.uri).close()
        drop(name, name)
        assert registry.find(store, name) is None
        with pytest.raises(Unknown, match=f"the root {name} does not exist"):
            drop(name, name)


def test_dropped_root_can_be_created_again(tenant: Tenants) -> None:
    auth = tenant(given=FACTS)
    registry.remove(auth.store, auth.tenant)
    with pytest.raises(Unknown, match="does not exist"):
        auth.check("user:bob", "SELECT_TABLE", "table:hr.s.t")
    with pytest.raises(Unknown, match="does not exist"):
        auth.change("add user:cas")
    registry.create(auth.store, auth.tenant, auth.policy, auth.root)
    assert (auth.log(), auth.log(refused=True), sum(map(len, facts_of(auth).values()))) == ([], [], 0)


def test_every_call_reports_a_root_that_a_change_has_dropped(tenant: Tenants, tmp_path: Path) -> None:
    auth = tenant(given=FACTS)
    dump(auth, tmp_path / "kept")
    auth.change("drop metalake:ml")
    before = auth.log()
    for ask in (
        lambda: auth.check("user:bob", "SELECT_TABLE", "table:hr.s.t"),
        lambda: auth.check("user:bob", "USE_CATALOG", "metalake:ml"),
        lambda: auth.who("USE_CATALOG", "metalake:ml"),
        lambda: auth.change("add catalog:x"),
        lambda: auth.change("drop metalake:ml"),
        lambda: importer.load(auth, tmp_path / "kept"),
        lambda: importer.load(auth, tmp_path / "kept", replace=True),
        lambda: upgrade(auth, auth.policy),
    ):
        with pytest.raises(Unknown, match=r"was dropped, and only its history is left; `grantpath roots drop`"):
            ask()
    assert (auth.log(), sum(map(len, facts_of(auth).values()))) == (before, 0)
    assert auth.tenant not in registry.names(auth.store)  # it was never created


def test_remains_of_a_killed_drop_do_not_come_back(tenant: Tenants, monkeypatch: pytest.MonkeyPatch) -> None:
    auth = tenant(given=FACTS)

    def dies(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as broken:
        broken.setattr(registry, "sweep_root", dies)
        with pytest.raises(Killed):
            registry.remove(auth.store, auth.tenant)
    with pytest.raises(Unknown):
        auth.revision_now()
    registry.create(auth.store, auth.tenant, auth.policy, auth.root)
    assert sum(map(len, facts_of(auth).values())) == 0


@pytest.mark.slow
def test_edges_of_a_popular_entity_are_removed_in_parts(
    tenant: Tenants, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    auth, users = tenant(), [f"user:u{number}" for number in range(MANY)]
    write_csv(tmp_path / "subjects.csv", ["ref"], [["role:all"], *([user] for user in users)])
    write_csv(tmp_path / "members.csv", ["member", "of"], [[user, "role:all"] for user in users])
    importer.load(auth, tmp_path)
    ask, edges = lifecycle._ask, list[int]()

    def noting(held: Held, query: str, **given: Any) -> list[Row]:
        rows = ask(held, query, **given)
        edges.extend(row["edges"] for row in rows if query == "remove_tenant")
        return rows

    monkeypatch.setattr(lifecycle, "_ask", noting)
    registry.remove(auth.store, auth.tenant)
    assert max(edges) < MANY <= sum(edges)
    assert auth.store.execute("MATCH (n {root: $root}) RETURN count(n) AS n", {"root": auth.tenant}) == [{"n": 0}]


# ---- the command line ------------------------------------------------------------------------------------------------
@pytest.fixture
def root(run: Run, store: Store, tmp_path: Path) -> Iterator[str]:
    name = f"metalake:upkeep-{tmp_path.name}"
    (tmp_path / "facts.txt").write_text("\n".join(fact for fact in FACTS if "\n" not in fact))
    assert (
        run("change", "--file", str(tmp_path / "facts.txt"), "--root", name, "--policy", "gravitino", "--create").code
        == 0
    )
    yield name
    registry.remove(store, name)


def test_roots_are_listed_and_dropped(run: Run, root: str) -> None:
    listed = {each["root"]: each for each in run("roots", "--json").json["answer"]}
    assert listed[root]["policy"] == "gravitino"
    assert listed[root]["revision"] == listed[root]["sizes"]["changes"] == 12
    sizes = {"subjects": 6, "objects": 4, "members": 2, "owners": 1, "tags": 0, "grants": 1, "changes": 12}
    assert listed[root]["sizes"] == sizes
    assert root in run("roots").out
    asked = run("roots", "drop", root)
    assert (asked.code, "--yes" in asked.err) == (2, True)
    assert run("roots", "drop", "metalake:none", "--yes").code == 2
    assert run("roots", "drop", root, "--yes", "--json").json == {"dropped": root, "sizes": sizes}
    assert root not in run("roots").out


def test_root_dropped_by_a_change_is_listed_until_its_history_is_dropped(run: Run, root: str, tmp_path: Path) -> None:
    either = [run(*words, "--json").json["answer"] for words in (["roots", "list"], ["roots"])]
    one, other = (
        [each for each in answer if each["root"] == root] for answer in either
    )  # other tests run concurrently
    assert one == other != []
    run("change", f"owner user:ann of {root}", "--root", root)
    assert run("change", f"drop {root}", "--by", "user:ann", "--root", root, "--yes").code == 0
    listed = {each["root"]: each for each in run("roots", "--json").json["answer"]}[root]
    assert (listed["dropped"], listed["revision"]) == (True, 14)
    assert listed["sizes"] == {**dict.fromkeys(listed["sizes"], 0), "changes": 14}
    assert f"{root} (dropped)" in run("roots").out
    assert run("log", "--root", root, "--json").json["answer"][-1]["statement"] == f"drop {root}"
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "objects.csv").write_text("ref\ncatalog:x\n")
    for words in (
        ["check", "user:ann", "USE_CATALOG", root],
        ["change", "add catalog:x"],
        ["load", str(tmp_path / "kept")],
        ["dump", str(tmp_path / "out")],
        ["policy", "upgrade", "gravitino"],
    ):
        ran = run(*words, "--root", root)
        assert (ran.code, "`grantpath roots drop` removes that too" in ran.err) == (2, True), ran.err
    assert run("roots", "drop", root, "--yes").code == 0
    assert root not in run("roots").out
    assert run("change", "add catalog:x", "--root", root, "--policy", "gravitino", "--create").code == 0
    assert run("log", "--root", root, "--json").json["revision"] == 1


@pytest.mark.slow
def test_commands_dump_replace_and_upgrade_a_root(run: Run, root: str, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    dumped = run("dump", str(kept), "--root", root, "--json").json
    assert (dumped["rows"]["objects"], dumped["revision"]) == (3, 12)
    assert "12" in run("dump", str(tmp_path / "again"), "--root", root, "--format", "parquet").out
    run("change", "add catalog:more", "--root", root)
    assert run("load", str(kept), "--root", root, "--json").json["changed"] is False
    replaced = run("load", str(kept), "--replace", "--yes", "--root", root, "--json").json
    assert (replaced["changed"], replaced["revision"]) == (True, 14)
    assert run("check", "user:bob", "USE_CATALOG", "catalog:more", "--root", root).code == 2
    mine = tmp_path / "mine.yaml"
    mine.write_text((BUILT_IN / "gravitino.yaml").read_text().replace(*NEW_PRIVILEGE))
    words = ["--root", root, "--policy", str(mine)]
    asked = ["check", "user:bob", "ARCHIVE", "table:hr.s.t", *words]
    assert "in another version" in run(*asked).err
    assert "replace its policy with `grantpath policy upgrade`" in run(*asked).err
    assert run("policy", "upgrade", str(mine), "--root", root, "--json").json["changed"] is True
    assert run(*asked).code == 1
    assert "already has this policy" in run("policy", "upgrade", str(mine), "--root", root).out
    mine.write_text(mine.read_text().replace("  group: user\n", "  group: role\n"))
    refused = run("policy", "upgrade", str(mine), "--root", root)
    assert (refused.code, "member user:bob of group:readers: " in refused.err) == (2, True)
