"""A dump restores its root: facts, policy, revision, history, refusals, request ids."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grantpath.engine import Authorizer, Inconsistent, Invalid, InvalidInput, Refused
from grantpath.engine.tenants import registry
from grantpath.engine.tenants.root_name import as_named_now
from grantpath.engine.transfer import importer
from grantpath.engine.transfer.dump_meta import META
from grantpath.engine.transfer.exporter import dump
from grantpath.graph.guard.store import Store

from ...conftest import Tenants
from ...oracle import oracle
from ...support.command_line import Run, run
from ...support.random_world import ROOT_NAME, random_checks, random_world
from ...support.small_estate import facts_of
from ...support.table_files import marks
from ...support.tiers import all_slow, others_slow
from ..change.test_batches import state
from .test_interrupted_loads import killed

__all__ = ["run"]

FACTS = [
    "add catalog:hr",
    "add schema:hr.public",
    "add table:hr.public.staff",
    "add user:ann",
    "add user:bob",
    "add role:analyst",
    "member user:bob of role:analyst",
    "owner user:ann of metalake:ml",
    "allow USE_CATALOG on metalake:ml to role:analyst",
    "allow USE_SCHEMA on catalog:hr to role:analyst",
    "allow SELECT_TABLE on catalog:hr to role:analyst",
]
CHECKS = [
    (user, name, on)
    for user in ("user:ann", "user:bob", "user:cas")
    for name, on in (
        ("load_table", "table:hr.public.staff"),
        ("SELECT_TABLE", "catalog:hr"),
        ("load_catalog", "catalog:hr"),
    )
]
BATCH = ["add user:cas", "member user:cas of role:analyst"]


@pytest.fixture
def lived(tenant: Tenants) -> Authorizer:
    """A root with changes of all kinds, repeated ids and a refused attempt."""
    auth = tenant(given=FACTS)
    auth.change_all(BATCH, by="user:ann", id="first batch")
    auth.change("add user:cas2", by="user:ann", id="one")
    auth.change("member user:cas of role:analyst", by="user:ann", id="nothing")
    with pytest.raises(Refused):
        auth.change("add catalog:mine", by="user:bob", id="refused")
    return auth


def everything(auth: Authorizer) -> dict[str, Any]:
    """All questions about the present and the past of a root."""
    return {
        "facts": facts_of(auth),
        "revision": auth.revision_now(),
        "checks": [each.allowed for each in auth.check_many(CHECKS)],
        "log": auth.log(limit=1_000),
        "refused": auth.log(refused=True),
        "batch": auth.log(id="first batch"),
        "repeated": [auth.change_all(BATCH, by="user:ann", id="first batch")],
        "one": auth.change("add user:cas2", by="user:ann", id="one"),
    }


def test_restored_root_answers_like_the_original(lived: Authorizer, tenant: Tenants, tmp_path: Path) -> None:
    before = everything(lived)
    done = dump(lived, tmp_path / "kept")
    assert done.entries == {"history": len(FACTS) + 3, "deltas": 0, "refusals": 1, "requests": 3}
    fresh = tenant()
    report = importer.load(fresh, tmp_path / "kept")
    assert (report.restored, report.note, report.revision) == (True, None, done.revision)
    assert everything(fresh) == before
    assert state(fresh) == state(lived)
    again = fresh.change_all(BATCH, by="user:ann", id="first batch")
    assert [each.already for each in again] == [True, True]
    assert fresh.change("add user:cas2", by="user:ann", id="one").already
    with pytest.raises(Invalid, match="the id one belongs to another change"):
        fresh.change("add user:dan", by="user:ann", id="one")
    head = lived.log(limit=1)[0].hash
    assert fresh.change("add user:dan").revision == done.revision + 1
    assert fresh.verify_log(head) and fresh.verify_log(fresh.log(limit=1)[0].hash)


@pytest.mark.parametrize("policy_name", others_slow(["gravitino", "lakehouse", "deltastream", "cdap"]))
def test_root_restored_under_another_name_decides_alike(tenant: Tenants, tmp_path: Path, policy_name: str) -> None:
    rng = random.Random(f"restore {policy_name}")
    facts = random_world(policy_name, rng, 60)
    auth = tenant(policy_name, facts, ROOT_NAME)
    dump(auth, tmp_path / "kept")
    other = tenant(policy_name, root="elsewhere")
    assert importer.load(other, tmp_path / "kept").restored
    here, there = auth.root.text, other.root.text
    world = oracle(policy_name, ROOT_NAME)
    for fact in facts:
        world.given(fact)
    asked = 0
    for subject, name, on, with_, as_role in random_checks(world, rng, 80):
        answers: list[bool | type[Invalid]] = []
        for graph, root in ((auth, here), (other, there)):
            named = {key: root if ref == here else ref for key, ref in with_.items()}
            try:
                on_it = root if on == here else on
                answers.append(bool(graph.check(subject, name, on_it, as_role=as_role, with_=named)))
            except Invalid as error:
                answers.append(type(error))
        assert answers[0] == answers[1]
        asked += isinstance(answers[0], bool)
    assert asked > 40
    statements = [as_named_now(each.statement, other.root) for each in auth.log(limit=500)]
    assert [each.statement for each in other.log(limit=500)] == statements


def test_dump_loaded_into_a_used_root_adds_only_its_tables(lived: Authorizer, tenant: Tenants, tmp_path: Path) -> None:
    dump(lived, tmp_path / "kept")
    auth = tenant(given=["add user:eve"])
    report = importer.load(auth, tmp_path / "kept")
    assert (report.restored, report.revision) == (False, 2)
    assert report.note == f"{auth.tenant} has facts or a history of its own"
    assert [each.statement.partition(":")[0] for each in auth.log()] == ["add user", "load kept"]
    assert facts_of(auth)["subjects"] == sorted([*facts_of(lived)["subjects"], ("user:eve",)])
    report = importer.load(auth, tmp_path / "kept", replace=True, consent=True)
    assert (report.restored, report.removed, facts_of(auth)) == (False, 1, facts_of(lived))
    onto = tenant("lakehouse")
    report = importer.load(onto, tmp_path / "kept")
    assert report.note == f"{onto.tenant} has the policy lakehouse, but the dump has gravitino"


def test_dry_run_of_a_restore_writes_nothing(lived: Authorizer, tenant: Tenants, tmp_path: Path) -> None:
    dump(lived, tmp_path / "kept")
    fresh = tenant()
    report = importer.load(fresh, tmp_path / "kept", dry_run=True)
    assert report.plan and (report.restored, report.changed, report.revision) == (True, True, 0)
    assert report.plan.added.counts == {table: len(rows) for table, rows in facts_of(lived).items()}
    assert (fresh.log(), sum(map(len, facts_of(fresh).values()))) == ([], 0)


# ---- altered dumps -------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def kept(module_tenant: Tenants, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept") / "dump"
    dump(module_tenant(given=FACTS), folder)
    return folder


@pytest.fixture(scope="module")
def empty(module_tenant: Tenants) -> Authorizer:
    return module_tenant()


def damage(folder: Path, what: str) -> None:
    meta = json.loads((folder / META).read_text())
    match what:
        case "a table":
            (folder / "grants.csv").write_text((folder / "grants.csv").read_text().replace("allow", "deny"))
        case "the history":
            (folder / "history.jsonl").write_text("")
        case "no table":
            (folder / "owners.csv").unlink()
        case "a table more":
            (folder / "owners.csv").rename(folder / "owners.jsonl")
        case "no meta":
            (folder / META).unlink()
        case "no json":
            (folder / META).write_text("{")
        case "version":
            (folder / META).write_text(json.dumps({**meta, "format": "grantpath dump 4"}))
        case "a key":
            (folder / META).write_text(json.dumps({**meta, "revision": "12"}))
        case "the policy":
            source = meta["policy"]["source"].replace("owner(catalog)", "owner(metalake)", 1)
            (folder / META).write_text(json.dumps({**meta, "policy": {**meta["policy"], "source": source}}))
        case "a former revision":
            (folder / META).write_text(json.dumps({**meta, "revision": meta["revision"] - 1}))
        case "no revision":
            (folder / META).write_text(json.dumps({**meta, "revision": -1}))
        case "a late revision":
            (folder / META).write_text(json.dumps({**meta, "revision": 10**20}))


@pytest.mark.parametrize(
    ("what", "says"),
    [
        (
            "a table",
            r"grants\.csv was changed or damaged: its sha256 differs from the one in meta\.json; .*dump the root again",
        ),
        ("the history", r"history\.jsonl was changed or damaged: its sha256 differs from the one in meta\.json"),
        ("no table", r"owners\.csv is missing from the dump"),
        ("a table more", r"owners\.csv is missing from the dump"),
        ("no meta", r"deltas\.jsonl is a file of a dump, but meta\.json beside it is missing or damaged; take another"),
        ("no json", r"deltas\.jsonl is a file of a dump, but meta\.json beside it is missing or damaged; take another"),
        ("the policy", r"meta\.json was changed or damaged: policy\.digest is not the sha256 of policy\.source; dump"),
        (
            "a former revision",
            r"meta\.json was changed or damaged: revision is \d+, but history\.jsonl has an entry of rev",
        ),
        ("no revision", r"meta\.json: revision: Input should be greater than or equal to 0; dump the root again"),
        ("a late revision", r"meta\.json: revision: Input should be less than 9007199254740992; dump the root again"),
        ("version", r"meta\.json: the format is 'grantpath dump 4', but this version .* restore it with the version"),
        ("a key", r"meta\.json: revision: Input should be a valid integer"),
    ],
)
def test_altered_dump_is_refused(empty: Authorizer, kept: Path, tmp_path: Path, what: str, says: str) -> None:
    folder = tmp_path / "dump"
    folder.mkdir()
    for file in kept.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    damage(folder, what)
    with pytest.raises(InvalidInput, match=says):
        importer.load(empty, folder)
    assert (empty.revision_now(), empty.log()) == (0, [])


# ---- killed restores -----------------------------------------------------------------------------------------------
@pytest.mark.crash
@pytest.mark.parametrize(("what", "at"), all_slow([("writing", 8), ("writing", 0), ("writing history", 1)]))
def test_killed_restore_is_completed_by_the_next(
    lived: Authorizer, tenant: Tenants, tmp_path: Path, what: str, at: int
) -> None:
    before = everything(lived)
    dump(lived, tmp_path / "kept")
    auth = tenant()
    killed(auth, tmp_path / "kept", at, what)
    with pytest.raises(Inconsistent, match="run it again"):
        auth.check(*CHECKS[0])
    assert importer.load(auth, tmp_path / "kept").restored
    assert everything(auth) == before
    assert marks(auth)["notes"] == 0


@pytest.mark.slow
@pytest.mark.crash
def test_killed_restore_is_undone_by_another_load(lived: Authorizer, tenant: Tenants, tmp_path: Path) -> None:
    dump(lived, tmp_path / "kept")
    auth = tenant()
    killed(auth, tmp_path / "kept", 1, "writing history")
    other = tmp_path / "other"
    other.mkdir()
    (other / "subjects.csv").write_text("ref\nuser:other\n")
    importer.load(auth, other)
    assert [each.statement for each in auth.log()] == ["load other: 1 row, 1 added"]
    assert (facts_of(auth)["subjects"], auth.log(refused=True)) == ([("user:other",)], [])
    assert not auth.change(BATCH[0], id="first batch").already


# ---- the command line ------------------------------------------------------------------------------------------------
@pytest.fixture
def names(store: Store, tmp_path: Path) -> Iterator[list[str]]:
    made = [f"metalake:{kind}-{tmp_path.name}" for kind in ("kept", "moved")]
    yield made
    for name in made:
        registry.remove(store, name)


@pytest.mark.slow
def test_command_restores_a_root(run: Run, names: list[str], tmp_path: Path) -> None:
    name, other = names
    folder, facts = str(tmp_path / "dump"), tmp_path / "facts.txt"
    facts.write_text("\n".join(FACTS).replace("metalake:ml", name))
    made = ["change", "--file", str(facts), "--root", name, "--policy", "gravitino", "--create", "--id", "mine"]
    assert run(*made).code == 0
    log = run("log", "--root", name, "--json").out
    assert "11 history" in run("dump", folder, "--root", name).out
    assert run("roots", "drop", name, "--yes").code == 0
    refused = run("load", folder)
    assert (refused.code, name in refused.err, "--create" in refused.err) == (2, True, True)
    restored = run("load", folder, "--create")
    assert restored.code == 0 and restored.out.startswith("restored "), restored.err
    assert "history, refused attempts and request ids, revision 11" in restored.out
    assert run("log", "--root", name, "--json").out == log
    repeated = ["change", "--file", str(facts), "--root", name, "--by", "user:ann"]
    assert run(*repeated).code == 2  # the history is complete
    assert run("change", "--file", str(facts), "--root", name, "--id", "mine").code == 0  # and contains the request id
    moved = run("load", folder, "--root", other, "--create", "--json").json
    assert (moved["restored"], moved["revision"], moved["note"]) == (True, 11, None)
    assert run("check", "user:bob", "load_table", "table:hr.public.staff", "--root", other).code == 0
    again = run("load", folder, "--root", other)
    assert (again.code, "are not restored: " in again.err, again.out.startswith("nothing new")) == (0, True, True)
