"""Keeping an estate: roots listed and dropped, dumps that load reads, loads that replace, policies upgraded."""

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from grantpath.engine import Authorizer, Inconsistent, Invalid, InvalidInput, Unknown
from grantpath.engine.policy import policy
from grantpath.engine.policy.schema import BUILT_IN
from grantpath.engine.tenants import registry
from grantpath.engine.transfer import importer
from grantpath.engine.transfer.exporter import dump
from grantpath.engine.transfer.policy_upgrade import upgrade
from grantpath.graph.connection import Connection
from grantpath.graph.store import Store
from grantpath.graph.writer_lock import Held
from grantpath.spark_sync import graph_reader as mirroring

from ..changes.test_batches import state
from ..cli.test_commands import Run, run
from ..conftest import Tenants
from ..support.random_world import ROOT_NAME, random_world
from ..support.small_estate import FACTS, ODD, POLICIES, facts_of
from ..support.tiers import all_slow, others_slow

__all__ = ["run"]


# ---- load --replace --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("policy_name", others_slow(POLICIES))
def test_a_load_that_replaces_makes_the_root_equal_to_the_folder(
    tenant: Tenants, tmp_path: Path, policy_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importer, "BATCH", 7)
    monkeypatch.setattr(importer, "FEW", 5)
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
        ("user:ann user:bob role:analyst", "table:hr.s.u", 9, 2, 1),  # the grant goes
        ("user:ann role:analyst", "table:hr.s.t", 7, 1, 1),  # bob goes with his membership
        ("user:ann", "", 5, 1, 2),  # bob and the role go with all that was theirs
    ],
)
def test_a_load_that_replaces_says_what_it_wrote_and_what_it_took(
    run: Run, tenant: Tenants, tmp_path: Path, subjects: str, grants: str, rows: int, added: int, removed: int
) -> None:
    objects = ["catalog:hr", "schema:hr.s", "table:hr.s.t"]
    people = ["user:ann", "user:bob", "role:analyst"]
    grant = "allow SELECT_TABLE on table:hr.s.t to role:analyst"
    auth = tenant(given=[*(f"add {ref}" for ref in [*objects, *people]), "member user:bob of role:analyst", grant])
    said = {
        "objects": ["ref", *objects, "table:hr.s.u"],
        "subjects": ["ref", *subjects.split()],
        "members": ["member,of", *(["user:bob,role:analyst"] if "user:bob" in subjects else [])],
        "grants": [
            "effect,privilege,object,subject",
            *(f"allow,SELECT_TABLE,{on},role:analyst" for on in grants.split()),
        ],
    }
    folder = tmp_path / "said"
    folder.mkdir()
    for name, lines in said.items():
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    report = importer.load(auth, folder, replace=True, consent=True)
    assert (report.added, report.removed) == (added, removed)
    last = auth.log(limit=1)[0]
    assert last.statement == f"load --replace said: {rows} rows, {added} added, {removed} removed"
    assert (last.object, last.subject) == (None, None)
    again = importer.load(auth, folder, replace=True, consent=True)
    assert (again.added, again.removed, again.revision) == (0, 0, report.revision)


@pytest.mark.slow
def test_the_command_says_what_a_load_wrote_and_took(run: Run, store: Store, tmp_path: Path) -> None:
    name = f"metalake:replaced-{tmp_path.name}"
    words = ["load", str(tmp_path), "--root", name, "--policy", "gravitino", "--create"]
    (tmp_path / "subjects.csv").write_text("ref\nuser:ann\nuser:bob\n")
    none = "0 objects, 0 members, 0 owners, 0 grants"
    assert run(*words).out == f"loaded 2 subjects, {none}; 2 added, revision 1\n"
    (tmp_path / "subjects.csv").write_text("ref\nuser:ann\nuser:cas\nuser:dan\n")
    assert run(*words, "--replace", "--yes").out == f"loaded 3 subjects, {none}; 2 added, 1 removed, revision 2\n"
    told = run("log", "--root", name, "--json").json["answer"][-1]["statement"]
    assert told == f"load --replace {tmp_path.name}: 3 rows, 2 added, 1 removed"
    again = run(*words, "--replace", "--json").json
    assert (again["changed"], again["added"], again["removed"], again["revision"]) == (False, 0, 0, 2)
    registry.remove(store, name)


def test_what_is_not_in_the_folder_does_not_help_it(tenant: Tenants, tmp_path: Path) -> None:
    """Parents, subjects and owners count only where the folder lists them."""
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
    """A folder in which bob reads one table less and another group is denied."""
    wanted = tenant(given=[*FACTS[:-2], "add group:new", f"allow SELECT_TABLE on {ODD} to role:analyst"])
    dump(wanted, tmp_path / "wanted")
    return tmp_path / "wanted"


def test_readers_never_see_half_of_it(tenant: Tenants, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importer, "BATCH", 1)
    monkeypatch.setattr(importer, "FEW", 1)
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
    """The end of a process, for those who are in it."""


@pytest.mark.parametrize(("batches", "ended"), [(4, False), (9, True), *all_slow([(1, False), (11, True)])])
def test_a_load_that_dies_is_undone_or_ended_by_the_next(
    tenant: Tenants, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batches: int, ended: bool
) -> None:
    """Killed before its last transaction it never was; killed behind it, it is ended."""
    monkeypatch.setattr(importer, "BATCH", 2)
    monkeypatch.setattr(importer, "FEW", 1)
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


# ---- policy upgrade --------------------------------------------------------------------------------------------------
@pytest.fixture
def edited(tmp_path: Path) -> Callable[..., policy.Policy]:
    """Gravitino's policy with something replaced."""

    def edit(*changes: tuple[str, str]) -> policy.Policy:
        text = (BUILT_IN / "gravitino.yaml").read_text()
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        file = tmp_path / "gravitino.yaml"
        file.write_text(text)
        return policy.load(str(file))

    return edit


def reopened(auth: Authorizer) -> Authorizer:
    kept = registry.find(auth.store, auth.tenant)
    assert kept
    return Authorizer(auth.store, auth.tenant, policy.from_source(kept["source"]), auth.root)


NEW_PRIVILEGE = ("  CREATE_TAG: {on: metalake}", "  CREATE_TAG: {on: metalake}\n  ARCHIVE: {on: table}")


def test_an_edited_policy_is_put_on_a_root(
    tenant: Tenants, edited: Callable[..., policy.Policy], server: Connection, tmp_path: Path
) -> None:
    auth = tenant(given=FACTS)
    before = facts_of(auth)
    with pytest.raises(Unknown):
        auth.check("user:bob", "ARCHIVE", "table:hr.s.t")
    done = upgrade(auth, edited(NEW_PRIVILEGE))
    assert (done.facts, done.changed, done.revision) == (len(FACTS), True, len(FACTS) + 1)
    for late in (
        lambda: auth.check("user:bob", "SELECT_TABLE", "table:hr.s.t"),
        lambda: auth.who("SELECT_TABLE", "table:hr.s.t"),
        lambda: auth.which("table", "user:bob", "SELECT_TABLE"),
        lambda: auth.explain("user:bob", "SELECT_TABLE", "table:hr.s.t"),
        lambda: auth.change("add user:cas"),
        lambda: auth.given(["add user:cas"]),
        auth.revision_now,
        lambda: dump(auth, tmp_path / "dump"),
    ):
        with pytest.raises(Inconsistent, match="another policy since it was opened"):
            late()
    revision, mirrored, _ = mirroring.read(server, auth.tenant, print)
    assert (revision, mirrored.digest) == (done.revision, edited(NEW_PRIVILEGE).digest)
    fresh = reopened(auth)
    fresh.change("allow ARCHIVE on table:hr.s.t to role:analyst")
    assert fresh.check("user:bob", "ARCHIVE", "table:hr.s.t")
    fresh.change("revoke allow ARCHIVE on table:hr.s.t from role:analyst")
    assert facts_of(fresh) == before
    assert fresh.log()[len(FACTS)].statement.startswith("policy upgrade gravitino (")
    assert upgrade(fresh, edited(NEW_PRIVILEGE)).changed is False
    assert fresh.revision_now() == len(FACTS) + 3


def test_what_was_done_before_it_is_done(tenant: Tenants, edited: Callable[..., policy.Policy]) -> None:
    """Said again under its id, though the new policy doesn't know the privilege."""
    new, old = edited(NEW_PRIVILEGE), edited()
    auth = tenant(given=FACTS)
    upgrade(auth, new)
    auth = reopened(auth)
    allow, revoke = (
        "allow ARCHIVE on table:hr.s.t to role:analyst",
        "revoke allow ARCHIVE on table:hr.s.t from role:analyst",
    )
    done = auth.change(allow, id="one")
    undone = auth.change_all([revoke, "add user:cas"], id="all")
    upgrade(auth, old)
    auth = reopened(auth)
    assert (auth.change(allow, id="one"), auth.change_all([revoke, "add user:cas"], id="all")) == (done, undone)
    assert auth.change(allow, id="one", dry_run=True).already
    for late in (
        lambda: auth.change(allow),
        lambda: auth.change(allow, id="two"),
        lambda: auth.change(revoke, id="one"),
        lambda: auth.change_all([revoke, "add user:dan"], id="all"),
    ):
        with pytest.raises(Unknown, match="the privilege ARCHIVE is unknown"):
            late()


def test_facts_that_are_against_it_are_named_and_nothing_changes(
    tenant: Tenants, edited: Callable[..., policy.Policy]
) -> None:
    auth = tenant(given=FACTS)
    before, kept = state(auth), registry.find(auth.store, auth.tenant)
    narrow = (
        '  SELECT_TABLE: {on: "metalake, catalog, schema, table"}',
        '  SELECT_TABLE: {on: "metalake, schema, table"}',
    )
    with pytest.raises(Invalid, match=r"1 of its facts .*\nallow SELECT_TABLE on catalog:hr to role:analyst: "):
        upgrade(auth, edited(narrow))
    with pytest.raises(Invalid, match=r"1 of its facts .*\nmember group:readers of role:analyst: "):
        upgrade(auth, edited(("  role: user, group", "  role: user")))
    with pytest.raises(Invalid, match=r"add role:analyst: .* brings a role:analyst of its own"):
        upgrade(auth, edited(("builtin:\n", "builtin:\n  role:analyst: {}\n")))
    with pytest.raises(Invalid, match="the root of onehouse is an account, not a metalake"):
        upgrade(auth, policy.load("onehouse"))
    assert (state(auth), registry.find(auth.store, auth.tenant)) == (before, kept)


def test_what_comes_with_the_policy_comes_and_goes(tenant: Tenants, edited: Callable[..., policy.Policy]) -> None:
    auth = tenant(given=FACTS)
    plain = state(auth)
    upgrade(auth, edited(("builtin:\n", "builtin:\n  role:public: {held_by_every: user, allow: USE_CATALOG}\n")))
    assert reopened(auth).check("user:ann", "USE_CATALOG", "catalog:hr")
    assert facts_of(reopened(auth)) == facts_of(tenant(given=FACTS))
    upgrade(reopened(auth), edited())
    assert not reopened(auth).check("user:ann", "USE_CATALOG", "catalog:hr")
    assert state(auth)[1] == plain[1]
    assert state(auth)[0][1:] == plain[0][1:]


def test_grants_follow_a_privilege_to_its_new_name(tenant: Tenants, edited: Callable[..., policy.Policy]) -> None:
    auth = tenant(given=[*FACTS, "allow SELECT_TABLE on metalake:ml to role:analyst"])
    questions = [("user:bob", "SELECT_TABLE", each) for each in ("table:hr.s.t", ODD, "catalog:hr")]
    before = [bool(each) for each in auth.check_many(questions)]
    line = '  SELECT_TABLE: {on: "metalake, catalog, schema, table"}'
    upgrade(auth, edited((line, line.replace("SELECT", "READ") + "\n  SELECT_TABLE: {alias_of: READ_TABLE}")))
    assert {row[1] for row in facts_of(reopened(auth))["grants"]} == {"READ_TABLE"}
    assert [bool(each) for each in reopened(auth).check_many(questions)] == before == [True, False, True]


# ---- roots -----------------------------------------------------------------------------------------------------------
def test_a_dropped_root_is_gone_and_may_be_made_again(tenant: Tenants) -> None:
    auth = tenant(given=FACTS)
    registry.remove(auth.store, auth.tenant)
    with pytest.raises(Unknown, match="is not there"):
        auth.check("user:bob", "SELECT_TABLE", "table:hr.s.t")
    with pytest.raises(Unknown, match="is not there"):
        auth.change("add user:cas")
    registry.create(auth.store, auth.tenant, auth.policy, auth.root)
    assert (auth.log(), auth.log(refused=True), sum(map(len, facts_of(auth).values()))) == ([], [], 0)


def test_what_a_change_has_dropped_says_so_whatever_is_asked(tenant: Tenants, tmp_path: Path) -> None:
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
        with pytest.raises(Unknown, match=r"was dropped, and its history alone is left; `grantpath roots drop`"):
            ask()
    assert (auth.log(), sum(map(len, facts_of(auth).values()))) == (before, 0)
    assert auth.tenant not in registry.names(auth.store)  # it never had a name of its own


def test_what_a_killed_drop_left_does_not_come_back(tenant: Tenants, monkeypatch: pytest.MonkeyPatch) -> None:
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
    sizes = {"subjects": 6, "objects": 4, "members": 2, "owners": 1, "grants": 1, "changes": 12}
    assert listed[root]["sizes"] == sizes
    assert root in run("roots").out
    asked = run("roots", "drop", root)
    assert (asked.code, "--yes" in asked.err) == (2, True)
    assert run("roots", "drop", "metalake:none", "--yes").code == 2
    assert run("roots", "drop", root, "--yes", "--json").json == {"dropped": root, "sizes": sizes}
    assert root not in run("roots").out


def test_a_root_dropped_by_a_change_is_listed_until_its_history_goes_too(run: Run, root: str, tmp_path: Path) -> None:
    either = [run(*words, "--json").json["answer"] for words in (["roots", "list"], ["roots"])]
    one, other = ([each for each in answer if each["root"] == root] for answer in either)  # others test beside this one
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
        assert (ran.code, "`grantpath roots drop` takes that away too" in ran.err) == (2, True), ran.err
    assert run("roots", "drop", root, "--yes").code == 0
    assert root not in run("roots").out
    assert run("change", "add catalog:x", "--root", root, "--policy", "gravitino", "--create").code == 0
    assert run("log", "--root", root, "--json").json["revision"] == 1


@pytest.mark.slow
def test_a_root_is_dumped_replaced_and_upgraded(run: Run, root: str, tmp_path: Path) -> None:
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
    assert "give it this one by `grantpath policy upgrade`" in run(*asked).err
    assert run("policy", "upgrade", str(mine), "--root", root, "--json").json["changed"] is True
    assert run(*asked).code == 1
    assert "has that policy already" in run("policy", "upgrade", str(mine), "--root", root).out
    mine.write_text(mine.read_text().replace("  group: user\n", "  group: role\n"))
    refused = run("policy", "upgrade", str(mine), "--root", root)
    assert (refused.code, "member user:bob of group:readers: " in refused.err) == (2, True)
