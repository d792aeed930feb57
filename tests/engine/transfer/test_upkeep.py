"""Replacing loads: they make the root equal to the folder, report that, and survive a crash."""

import random
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from grantpath.engine import Inconsistent, InvalidInput, Unknown
from grantpath.engine.tenants import registry
from grantpath.engine.transfer import fact_writer, importer
from grantpath.engine.transfer.exporter import dump
from grantpath.graph.guard.store import Store
from grantpath.graph.guard.writer_lock import Held

from ...conftest import Tenants
from ...support.command_line import Run, run
from ...support.random_world import ROOT_NAME, random_world
from ...support.small_estate import FACTS, ODD, POLICIES, facts_of
from ...support.tiers import all_slow, others_slow
from ..change.test_batches import state

__all__ = ["run"]


# ---- load --replace --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("policy_name", others_slow(POLICIES))
def test_replacing_load_makes_the_root_equal_to_the_folder(
    tenant: Tenants, tmp_path: Path, policy_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fact_writer, "BATCH", 7)
    monkeypatch.setattr(fact_writer, "FEW", 5)
    wanted = tenant(policy_name, random_world(policy_name, random.Random("wanted"), 90), ROOT_NAME)
    auth = tenant(policy_name, random_world(policy_name, random.Random("before"), 120), ROOT_NAME)
    dump(wanted, tmp_path / "wanted")
    before = len(auth.log(limit=10_000))
    report = importer.load(auth, tmp_path / "wanted", replace=True, consent=True)
    assert report.changed
    assert state(auth)[1] == state(wanted)[1]
    assert state(auth)[0][1:] == state(wanted)[0][1:]
    log = auth.log(limit=10_000)[before:]
    assert [each.statement.split(":")[0] for each in log] == ["load --replace wanted"]
    assert log[0].revision == report.revision == auth.revision_now()
    assert importer.load(auth, tmp_path / "wanted", replace=True, consent=True).changed is False


@pytest.mark.parametrize(
    ("subjects", "grants", "rows", "added", "removed"),
    [
        ("user:ann user:bob role:analyst", "table:hr.s.t table:hr.s.u", 10, 2, 0),  # a table, and a grant on it
        ("user:ann user:bob role:analyst", "table:hr.s.u", 9, 2, 1),  # removes the grant
        ("user:ann role:analyst", "table:hr.s.t", 7, 1, 1),  # removes bob with the membership
        ("user:ann", "", 5, 1, 2),  # removes bob and the role with all their facts
    ],
)
def test_replacing_load_reports_additions_and_removals(
    run: Run, tenant: Tenants, tmp_path: Path, subjects: str, grants: str, rows: int, added: int, removed: int
) -> None:
    objects = ["catalog:hr", "schema:hr.s", "table:hr.s.t"]
    people = ["user:ann", "user:bob", "role:analyst"]
    grant = "allow SELECT_TABLE on table:hr.s.t to role:analyst"
    auth = tenant(given=[*(f"add {ref}" for ref in [*objects, *people]), "member user:bob of role:analyst", grant])
    tables = {
        "objects": ["ref", *objects, "table:hr.s.u"],
        "subjects": ["ref", *subjects.split()],
        "members": ["member,of", *(["user:bob,role:analyst"] if "user:bob" in subjects else [])],
        "grants": [
            "effect,privilege,object,subject",
            *(f"allow,SELECT_TABLE,{on},role:analyst" for on in grants.split()),
        ],
    }
    folder = tmp_path / "tables"
    folder.mkdir()
    for name, lines in tables.items():
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    report = importer.load(auth, folder, replace=True, consent=True)
    assert (report.added, report.removed) == (added, removed)
    last = auth.log(limit=1)[0]
    assert last.statement == f"load --replace tables: {rows} rows, {added} added, {removed} removed"
    assert (last.object, last.subject) == (None, None)
    again = importer.load(auth, folder, replace=True, consent=True)
    assert (again.added, again.removed, again.revision) == (0, 0, report.revision)


@pytest.mark.slow
def test_command_reports_additions_and_removals(run: Run, store: Store, tmp_path: Path) -> None:
    name = f"metalake:replaced-{tmp_path.name}"
    words = ["load", str(tmp_path), "--root", name, "--policy", "gravitino", "--create"]
    (tmp_path / "subjects.csv").write_text("ref\nuser:ann\nuser:bob\n")
    none = "0 objects, 0 members, 0 owners, 0 tags, 0 grants"
    assert run(*words).out == f"loaded 2 subjects, {none}; 2 added, revision 1\n"
    (tmp_path / "subjects.csv").write_text("ref\nuser:ann\nuser:cas\nuser:dan\n")
    assert run(*words, "--replace", "--yes").out == f"loaded 3 subjects, {none}; 2 added, 1 removed, revision 2\n"
    logged = run("log", "--root", name, "--json").json["answer"][-1]["statement"]
    assert logged == f"load --replace {tmp_path.name}: 3 rows, 2 added, 1 removed"
    again = run(*words, "--replace", "--json").json
    assert (again["changed"], again["added"], again["removed"], again["revision"]) == (False, 0, 0, 2)
    registry.remove(store, name)


def test_replacing_load_ignores_facts_outside_the_folder(tenant: Tenants, tmp_path: Path) -> None:
    """Parents, subjects and owners must be in the folder, too."""
    auth = tenant(given=FACTS)
    before = state(auth)
    (tmp_path / "objects.csv").write_text("ref\nschema:hr.s\n")
    with pytest.raises(InvalidInput, match=r"objects.csv:2: schema:hr.s has no parent"):
        importer.load(auth, tmp_path, replace=True, consent=True)
    assert state(auth) == before
    (tmp_path / "objects.csv").write_text("ref\ncatalog:hr\n")
    (tmp_path / "subjects.csv").write_text("ref\nuser:bob\n")
    (tmp_path / "owners.csv").write_text("object,owner\ncatalog:hr,user:bob\n")
    importer.load(auth, tmp_path, replace=True, consent=True)
    assert facts_of(auth)["owners"] == [("catalog:hr", "user:bob")]


def folder_of(tenant: Tenants, tmp_path: Path) -> Path:
    """A folder in which bob can read one table less, and another group is denied."""
    wanted = tenant(given=[*FACTS[:-2], "add group:new", f"allow SELECT_TABLE on {ODD} to role:analyst"])
    dump(wanted, tmp_path / "wanted")
    return tmp_path / "wanted"


def test_readers_never_see_half_a_replacing_load(
    tenant: Tenants, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fact_writer, "BATCH", 1)
    monkeypatch.setattr(fact_writer, "FEW", 1)
    auth = tenant(given=FACTS)
    folder = folder_of(tenant, tmp_path)
    questions = [("user:bob", "SELECT_TABLE", "table:hr.s.t"), ("user:bob", "SELECT_TABLE", ODD)]
    assert [bool(each) for each in auth.check_many(questions)] == [True, False]
    seen, stopped, over = set(), [0], threading.Event()

    def look() -> None:
        while not over.is_set():
            try:
                seen.add(tuple(bool(each) for each in auth.check_many(questions)))
            except Inconsistent:
                stopped[0] += 1

    reader = threading.Thread(target=look)
    reader.start()
    importer.load(auth, folder, replace=True, consent=True)
    over.set()
    reader.join()
    assert seen <= {(True, False), (False, True)}
    assert stopped[0] > 0
    assert [bool(each) for each in auth.check_many(questions)] == [False, True]


class Killed(BaseException):
    """Simulates the end of the process."""


@pytest.mark.parametrize(("batches", "ended"), [(4, False), (9, True), *all_slow([(1, False), (11, True)])])
def test_killed_replacing_load_is_undone_or_completed(
    tenant: Tenants, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batches: int, ended: bool
) -> None:
    """A load that is killed before its last transaction is undone; after it, the load is completed."""
    monkeypatch.setattr(fact_writer, "BATCH", 2)
    monkeypatch.setattr(fact_writer, "FEW", 1)
    auth = tenant(given=FACTS)
    others = ["add role:analyst", "add group:new", "member user:ann of group:new", "owner user:ann of table:hr.s.t"]
    before, wanted = facts_of(auth), tenant(given=[*FACTS[:3], "add user:ann", *others])
    dump(wanted, tmp_path / "wanted")
    execute = Held.execute
    left = [batches]

    def dying(self: Held, text: str, parameters: object) -> object:
        if left[0] <= 0:
            raise Killed
        left[0] -= "Batch" in text
        return execute(self, text, parameters)  # type: ignore[arg-type]

    with monkeypatch.context() as broken:
        broken.setattr(Held, "execute", dying)
        with pytest.raises(Killed):
            importer.load(auth, tmp_path / "wanted", replace=True, consent=True)
    done = auth.store.execute("MATCH (m:Revision {root: $root}) RETURN m.loading_done AS done", {"root": auth.tenant})
    assert bool(done[0]["done"]) is ended
    if ended:  # a question completes it; else the next load undoes it
        with suppress(Unknown):
            auth.check("user:bob", "SELECT_TABLE", "table:hr.s.t")
        assert facts_of(auth) == facts_of(wanted)
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "subjects.csv").write_text("ref\n")
    importer.load(auth, empty)  # adds nothing
    assert facts_of(auth) == (facts_of(wanted) if ended else before)
    assert sum(each.statement.startswith("load --replace") for each in auth.log()) == ended
    left_over = "MATCH (b:LoadedBatch|DoomedBatch {root: $root}) RETURN count(b) AS n"
    assert auth.store.execute(left_over, {"root": auth.tenant})[0]["n"] == 0
