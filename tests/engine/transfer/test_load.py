"""A bulk import is all or nothing, and has the same effect as the statements of its rows."""

import random
from pathlib import Path

import pytest

from grantpath.engine import Authorizer, InvalidInput
from grantpath.engine.transfer import fact_writer, importer
from grantpath.engine.transfer.tables import TABLES

from ...conftest import Tenants
from ...support.random_world import ROOT_NAME, random_world
from ...support.table_files import ESTATE, GIVEN, ODD, POLICIES, WRITERS, Tables, dump, history, marks, settled, write


def tables_of(auth: Authorizer) -> dict[str, list[list[str]]]:
    """A tenant's facts as the tables of an import."""
    tables: dict[str, list[list[str]]] = {name: [] for name in TABLES}
    own = {auth.root.text, *auth.policy.builtins}
    rows = auth.store.execute(
        "MATCH (e:Entity {root: $root}) WHERE coalesce(e.exists, true) RETURN e.ref AS ref, e.type AS type",
        {"root": auth.tenant},
    )
    for row in rows:
        if row["ref"] not in own:
            kind = auth.policy.file.types[row["type"]].kind
            tables["objects" if kind == "object" else "subjects"].append([row["ref"]])
    edges = auth.store.execute(
        """MATCH (a:Entity {root: $root})-[e:MEMBER_OF|HAS_ROLE|OWNS|TAGGED|ALLOW|DENY]->(b)
        RETURN a.ref AS a, type(e) AS type, e.privilege AS privilege, b.ref AS b""",
        {"root": auth.tenant},
    )
    for row in edges:
        if row["type"] == "OWNS":
            tables["owners"] += [[row["b"], row["a"]]] if row["b"] != auth.root.text or row["a"] not in own else []
        elif row["type"] == "TAGGED":
            tables["tags"].append([row["a"], row["b"]])
        elif row["privilege"]:
            tables["grants"].append([row["type"].lower(), row["privilege"], row["b"], row["a"]])
        else:
            tables["members"].append([row["a"], row["b"]])
    return tables


# ---- accepted tables -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("format_", WRITERS)
def test_import_has_the_effect_of_its_statements(tenant: Tenants, tmp_path: Path, format_: str) -> None:
    loaded, stated = tenant(), tenant(given=GIVEN)
    report = importer.load(loaded, write(tmp_path, ESTATE, format_))
    assert report == importer.LoadReport({name: len(ESTATE.get(name, [])) for name in TABLES}, True, 1, report.added, 0)
    assert dump(loaded) == dump(stated)
    assert marks(loaded) == settled(1)
    assert history(loaded) == [f"load {tmp_path.name}: {sum(map(len, ESTATE.values()))} rows, {report.added} added"]
    there = loaded.ask("tenant_state")
    mine = [each for each in there["entities"] if not each["builtin"] and each["ref"] != loaded.root.text]
    assert report.added == len(mine) + len(there["edges"])
    assert loaded.check("user:bob", "load_table", "table:hr.`a.b`.staff")
    assert not loaded.check("user:bob", "load_table", ODD)


@pytest.mark.parametrize("policy", POLICIES)
def test_random_facts_are_loaded_completely_in_every_policy(
    tenant: Tenants, tmp_path: Path, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fact_writer, "BATCH", 7)
    facts = random_world(policy, random.Random(f"load {policy}"), 150)
    if policy in ("gravitino", "lakehouse"):
        facts += ["add catalog:tagged", "add schema:tagged.s", "add tag:load", "add policy:load"]
        facts += ["tag schema:tagged.s with tag:load", "tag catalog:tagged with policy:load"]
    stated = tenant(policy, facts, root=ROOT_NAME)
    tables = tables_of(stated)
    filled = {name for name, rows in tables.items() if rows}
    assert filled >= TABLES.keys() - {"tags"} or policy in ("onehouse", "cdap", "cdap_design")
    assert ("tags" in filled) is (policy in ("gravitino", "lakehouse"))
    for rows in tables.values():
        random.Random(1).shuffle(rows)
    loaded = tenant(policy, root=ROOT_NAME)
    importer.load(loaded, write(tmp_path, tables, "parquet"))
    assert dump(loaded) == dump(stated)
    assert importer.load(loaded, tmp_path).changed is False
    assert dump(loaded) == dump(stated)


def test_loading_the_same_folder_twice_changes_nothing(tenant: Tenants, tmp_path: Path) -> None:
    auth = tenant()
    folder = write(tmp_path, {name: [*rows, *rows] for name, rows in ESTATE.items()})
    assert importer.load(auth, folder).changed
    before = dump(auth), history(auth), marks(auth)
    report = importer.load(auth, folder)
    assert (report.changed, report.revision) == (False, 1)
    assert (dump(auth), history(auth), marks(auth)) == before


def test_import_adds_to_existing_facts(tenant: Tenants, tmp_path: Path) -> None:
    auth = tenant(given=GIVEN)
    more: Tables = {
        "objects": [["table:hr.`a.b`.more"]],
        "members": [["user:ann", "group:readers"], ["user:bob", "group:readers"]],
        "owners": [["catalog:hr", "user:ann"], ["table:hr.`a.b`.more", "user:bob"]],
        "grants": [
            ["DENY", "SELECT_TABLE", "table:hr.`a.b`.more", "role:analyst"],
            ["ALLOW", "SELECT_TABLE", "catalog:hr", "role:analyst"],
        ],
    }
    report = importer.load(auth, write(tmp_path, more))
    assert report.revision == len(GIVEN) + 1
    new = [
        "add table:hr.`a.b`.more",
        "member user:ann of group:readers",
        "owner user:bob of table:hr.`a.b`.more",
        "deny SELECT_TABLE on table:hr.`a.b`.more to role:analyst",
    ]
    assert dump(auth) == dump(tenant(given=[*GIVEN, *new]))


def test_grants_on_missing_names_are_loaded_if_the_policy_allows_them(tenant: Tenants, tmp_path: Path) -> None:
    auth = tenant("cdap", root="main")
    subjects = {"subjects": [["user:ann"]]}
    grants = {"grants": [["allow", "READ", "dataset:ns.d", "user:ann"]]}
    importer.load(auth, write(tmp_path / "a", {**subjects, **grants}))
    stated = tenant("cdap", ["add user:ann", "allow READ on dataset:ns.d to user:ann"], root="main")
    assert dump(auth) == dump(stated)
    created = write(tmp_path / "b", {"objects": [["namespace:ns"], ["namespace:other"], ["dataset:ns.d"]]})
    for dry_run in (True, False, False):
        report = importer.load(auth, created, dry_run=dry_run)
        taken_over = (1, 0) if report.changed else (0, 0)
        assert (report.kept_grants, report.kept_memberships) == taken_over
        names = f"names that {'it would create' if dry_run else 'it created'} have"
        assert report.taken_over == (f"{names} 1 grant already, which count from now on" if report.changed else None)
    assert not report.changed
    stated.given(["add namespace:other"])
    stated.given(["add namespace:ns", "add dataset:ns.d"])
    assert dump(auth) == dump(stated)


def test_load_reports_progress(tenant: Tenants, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fact_writer, "BATCH", 3)
    reports: list[tuple[str, int, int]] = []
    importer.load(tenant(), write(tmp_path, ESTATE), lambda *each: reports.append(each))
    assert list(dict.fromkeys(what for what, _, _ in reports)) == ["reading", "checking", "writing"]
    for what in ("reading", "checking", "writing"):
        counts = [done for each, done, _ in reports if each == what]
        ends = {of for each, _, of in reports if each == what}
        assert counts == sorted(counts) and ends == {counts[-1]}


def test_empty_table_changes_nothing(tenant: Tenants, tmp_path: Path) -> None:
    (tmp_path / "owners.csv").write_text("object,owner\n")
    report = importer.load(tenant(), tmp_path)
    assert report == importer.LoadReport(dict.fromkeys(TABLES, 0), False, 0, 0, 0)


@pytest.mark.parametrize("replace", [False, True])
def test_folder_without_a_table_is_refused(tenant: Tenants, tmp_path: Path, replace: bool) -> None:
    auth = tenant(given=GIVEN)
    before = dump(auth)
    (tmp_path / "kept.txt").write_text("ref\n")
    with pytest.raises(InvalidInput, match=r"contains no table; .* subjects, objects, .* as \.parquet"):
        importer.load(auth, tmp_path, replace=replace)
    assert (dump(auth), len(history(auth))) == (before, len(GIVEN))
