"""A load of some tables: the others are not read, and their facts stay as they are."""

import random
from pathlib import Path

import pytest

from grantpath.engine import InvalidInput
from grantpath.engine.tenants import registry
from grantpath.engine.transfer import importer
from grantpath.engine.transfer.exporter import dump as dump_root
from grantpath.engine.transfer.tables import TABLES
from grantpath.graph.guard.store import Store

from ...conftest import Tenants
from ...support.command_line import Run, run
from ...support.random_world import ROOT_NAME, random_world
from ...support.small_estate import facts_of
from ...support.table_files import GIVEN, dump, history, write
from ...support.tiers import others_slow

__all__ = ["run"]

PEOPLE = ["subjects", "members"]
COMPANY = [
    "add catalog:hr",
    *(f"add user:{name}" for name in ("ann", "bob", "kim", "lee")),
    "add group:readers",
    "add role:analyst",
    *(f"member user:{name} of group:readers" for name in ("bob", "kim", "lee")),
    "member group:readers of role:analyst",
    "owner user:ann of catalog:hr",
    "allow USE_CATALOG on catalog:hr to role:analyst",
    "allow SELECT_TABLE on catalog:hr to user:lee",
]


def test_other_tables_are_not_read_and_their_facts_stay(tenant: Tenants, tmp_path: Path) -> None:
    auth = tenant(given=GIVEN)
    write(tmp_path, {"subjects": [["user:kim"]], "members": [["user:kim", "group:readers"]]})
    for other in ("grants.csv", "objects.parquet", "owners.csv", "owners.jsonl", "applications.xlsx", "users.json"):
        (tmp_path / other).write_text("not a table")
    report = importer.load(auth, tmp_path, only=["members", "subjects"])
    assert (report.rows, report.added, report.staying) == ({"subjects": 1, "members": 1}, 2, ())
    assert dump(auth) == dump(tenant(given=[*GIVEN, "add user:kim", "member user:kim of group:readers"]))
    assert history(auth)[-1] == f"load --only subjects,members {tmp_path.name}: 2 rows, 2 added"
    assert not importer.load(auth, tmp_path, only=PEOPLE).changed


def test_replacement_removes_who_left_and_keeps_all_grants_and_owners(tenant: Tenants, tmp_path: Path) -> None:
    auth = tenant("lakehouse", COMPANY)
    before = facts_of(auth)
    people = [["user:ann"], ["user:bob"], ["user:cas"], ["group:readers"]]
    write(tmp_path, {"subjects": people, "members": [["user:cas", "group:readers"], ["user:bob", "group:readers"]]})
    with pytest.raises(InvalidInput, match=r"that is more than a tenth of subjects, members; nothing is changed"):
        importer.load(auth, tmp_path, replace=True, only=PEOPLE)
    assert facts_of(auth) == before
    for dry_run in (True, False):
        report = importer.load(auth, tmp_path, replace=True, only=PEOPLE, dry_run=dry_run, consent=True)
        assert report.staying == ("role:analyst", "user:lee")
        assert report.stays and report.stays.endswith("so they stay: role:analyst, user:lee")
        if report.plan:
            assert report.plan.removed.statements("subjects") == ["add user:kim"]
            assert not report.plan.missing
    gone = {"add user:kim", "member user:kim of group:readers", "member user:lee of group:readers"}
    left = [fact for fact in COMPANY if fact not in {*gone, "member group:readers of role:analyst"}]
    assert dump(auth) == dump(tenant("lakehouse", [*left, "add user:cas", "member user:cas of group:readers"]))
    assert not importer.load(auth, tmp_path, replace=True, only=PEOPLE).changed


def test_replaced_objects_keep_the_places_of_grants(tenant: Tenants, tmp_path: Path) -> None:
    auth = tenant(given=[*GIVEN, "add catalog:old", "allow USE_CATALOG on catalog:old to role:analyst"])
    (tmp_path / "objects.csv").write_text("ref\ntag:pii\n")
    report = importer.load(auth, tmp_path, replace=True, only=["objects"], consent=True)
    odd = next(fact.removeprefix("add ") for fact in GIVEN if fact.startswith("add table:hr.`a.b`.`"))
    assert report.staying == ("catalog:hr", "catalog:old", "schema:hr.`a.b`", odd)
    assert report.removed == 1
    assert {row[0] for row in facts_of(auth)["objects"]} == {*report.staying, "tag:pii"}
    missing = tenant("cdap", ["add user:ann", "allow READ on dataset:ns.d to user:ann", "add namespace:x"], root="main")
    write(tmp_path, {"objects": [["namespace:y"]]})
    assert importer.load(missing, tmp_path, replace=True, only=["objects"], consent=True).staying == ()
    stated = ["add user:ann", "allow READ on dataset:ns.d to user:ann", "add namespace:y"]
    assert dump(missing) == dump(tenant("cdap", stated, root="main"))


@pytest.mark.parametrize("policy_name", others_slow(["lakehouse", "gravitino", "onehouse", "cdap", "deltastream"]))
@pytest.mark.parametrize("only", [PEOPLE, ["subjects", "objects"]])
def test_replacement_of_some_tables_in_random_worlds(
    tenant: Tenants, tmp_path: Path, policy_name: str, only: list[str]
) -> None:
    wanted = tenant(policy_name, random_world(policy_name, random.Random("wanted"), 60), ROOT_NAME)
    dump_root(wanted, tmp_path / "new")
    auth = tenant(policy_name, random_world(policy_name, random.Random("before"), 90), ROOT_NAME)
    before, new = facts_of(auth), facts_of(wanted)
    report = importer.load(auth, tmp_path / "new", replace=True, only=only, consent=True)
    after = facts_of(auth)
    assert report.note == f"only {', '.join(only)} are loaded" and not report.restored
    staying = {(ref,) for ref in report.staying}
    for table in TABLES:
        here = set(after[table])
        if table in only:
            assert set(new[table]) <= here <= {*new[table], *staying}, table
        else:
            assert here == set(before[table]), table
    assert staying <= {*before["subjects"], *before["objects"]} and not staying & {*new["subjects"], *new["objects"]}
    dump_root(auth, tmp_path / "after")
    again = tenant(policy_name, root=ROOT_NAME)
    importer.load(again, tmp_path / "after")
    assert dump(auth) == dump(again)


def test_wrong_tables_are_refused(tenant: Tenants, tmp_path: Path) -> None:
    auth = tenant()
    write(tmp_path, {"subjects": [["user:ann"]]})
    for only, says in (
        ([], r"--only names no table; name some of subjects, objects, members, owners, tags, grants, or omit it"),
        (["member"], r"the table 'member' is unknown \(did you mean members\?\); name some of subjects, "),
        (["subjects", "users"], r"the table 'users' is unknown.*; name some of subjects, "),
        (PEOPLE, rf"{tmp_path.name} contains no table members, which --only names; write members as \.parquet, "),
    ):
        with pytest.raises(InvalidInput, match=says):
            importer.load(auth, tmp_path, only=only)
    write(tmp_path, {"members": [["user:ann", "role:service_admin"]]})
    (tmp_path / "members-new.csv").write_text("member,of\n")
    with pytest.raises(InvalidInput, match=r"members-new\.csv is not a table \(did you mean members\.csv\?\)"):
        importer.load(auth, tmp_path, only=PEOPLE)
    assert auth.revision_now() == 0
    assert importer.load(auth, tmp_path, only=["subjects"]).revision == 1


def test_command_loads_some_tables(run: Run, store: Store, tmp_path: Path) -> None:
    name = f"metalake:some-{tmp_path.name}"
    people = {"subjects": [["user:ann"]], "members": [["user:ann", "role:service_admin"]]}
    folder = str(write(tmp_path / "people", people))
    (tmp_path / "people" / "grants.csv").write_text("")
    words = ("load", folder, "--root", name)
    try:
        for only, says in (("", "--only names no table"), ("subjects,user", "the table 'user' is unknown")):
            refused = run(*words, "--policy", "gravitino", "--create", "--only", only)
            assert (refused.code, says in refused.err) == (2, True), refused.err
        assert name not in registry.names(store)
        ran = run(*words, "--policy", "gravitino", "--create", "--only", "subjects, members")
        assert ran.out == "loaded 1 subject, 1 member; 2 added, revision 1\n", ran.err
        run("change", "owner user:ann of " + name, "--root", name)
        write(tmp_path / "people", {"subjects": [["user:bob"]]})
        (tmp_path / "people" / "members.csv").write_text("member,of\n")
        replaced = run(*words, "--replace", "--only", "subjects,members", "--yes")
        assert "they stay: user:ann\n" in replaced.out, replaced.err
        assert run(*words, "--replace", "--only", "subjects,members", "--json").json["staying"] == ["user:ann"]
    finally:
        registry.remove(store, name)
