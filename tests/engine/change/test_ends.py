"""Grants and memberships with an end: how they are written, replaced and removed, and what the log says about them."""

import threading
import time
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from grantpath.engine import Authorizer, Inconsistent, Invalid, InvalidInput
from grantpath.engine.answers.graph_path import GraphPath
from grantpath.engine.memory.memory_authorizer import authorizer
from grantpath.engine.transfer import exporter, importer
from grantpath.graph.language.ends import end_of, end_text, seconds_of
from grantpath.graph.language.statement import parse_statement
from grantpath.spark_sync.bulk.difference import diff
from grantpath.spark_sync.mirroring.mirror import mirror

from ...conftest import Tenants
from .conftest import Clock

FACTS = [
    *(
        "add catalog:hr",
        "add schema:hr.s",
        "add table:hr.s.t",
        "add role:r",
        "add group:g",
        "member user:bob of role:r",
    ),
    *("allow USE_CATALOG on catalog:hr to role:r", "allow USE_SCHEMA on schema:hr.s to role:r"),
]
GRANT = "allow SELECT_TABLE on table:hr.s.t to role:r"
EARLY, LATE = "2100-01-01T00:00:00Z", "2100-01-01T00:00:10Z"


@pytest.fixture(params=["neo4j", "memory"])
def auth(request: pytest.FixtureRequest) -> Authorizer:
    if request.param == "memory":
        return authorizer("gravitino", FACTS, "ml")
    made: Authorizer = request.getfixturevalue("tenant")("gravitino", FACTS)
    return made


def can(auth: Authorizer, user: str = "user:bob") -> bool:
    return auth.check(user, "load_table", "table:hr.s.t").allowed


# ---- the text of an end --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("given", "end"),
    [
        ("2026-12-31T00:00:00Z", "2026-12-31T00:00:00Z"),
        ("2026-12-31T01:00:00+02:00", "2026-12-30T23:00:00Z"),
        ("2026-12-31T00:00Z", "2026-12-31T00:00:00Z"),
        (datetime(2026, 12, 31, tzinfo=timezone(timedelta(hours=-1))), "2026-12-31T01:00:00Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
    ],
)
def test_end_has_one_spelling(given: object, end: str) -> None:
    assert end_text(given) == end
    assert end_of(seconds_of(end)) == end


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("tomorrow", "is not a time; write it as 2026-12-31T00:00:00Z"),
        ("10000-01-01T00:00:00Z", "is not a time"),
        ("2026-12-31", "has no zone; write Z for UTC"),
        ("2026-12-31T00:00:00", "has no zone"),
        (datetime(2026, 12, 31), "has no zone"),
        ("2026-12-31T00:00:00.5Z", "has a fraction of a second; write a whole second, such as 2026-12-31T00:00:00Z"),
        (datetime(2026, 12, 31, microsecond=5, tzinfo=UTC), r"of a datetime, use .replace\(microsecond=0\)"),
        ("9999-12-31T23:59:59-01:00", "is not in the years 1 to 9999"),
        ("0001-01-01T00:00:00+01:00", "is not in the years 1 to 9999"),
        (7, "is not a time"),
    ],
)
def test_wrong_end_is_refused(given: object, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        end_text(given)


def test_until_belongs_to_grants_and_memberships_only() -> None:
    assert parse_statement(f"{GRANT} until {EARLY}").until == EARLY
    assert parse_statement(f"member user:a of group:until until {EARLY}").object == "group:until"
    assert parse_statement("allow P on table:`a until b` to user:until").until is None
    for text in (
        "add user:a",
        "owner user:a of catalog:c",
        "revoke allow P on table:t from user:a",
        "tag table:t with tag:x",
    ):
        with pytest.raises(InvalidInput):
            parse_statement(f"{text} until {EARLY}")


# ---- changes -------------------------------------------------------------------------------------------------------
def test_fact_is_there_until_its_end(auth: Authorizer, clock: Clock) -> None:
    auth.change(f"{GRANT} until {EARLY}")
    clock("2099-12-31T23:59:59Z")
    assert can(auth)
    revision = auth.revision_now()
    clock(EARLY)
    assert not can(auth)
    assert auth.revision_now() == revision + 1
    clock("2099-12-31T23:59:59Z")  # a clock that steps back: what has ended stays ended
    assert not can(auth)
    assert auth.revision_now() == revision + 1


def test_membership_ends(auth: Authorizer, clock: Clock) -> None:
    auth.change(GRANT)
    auth.join("user:ann", "role:r", until=datetime(2100, 1, 1, tzinfo=UTC)) if auth.given(["add user:ann"]) else None
    assert can(auth, "user:ann")
    assert [each.until for each in auth.members("role:r")] == [EARLY, None]
    clock(EARLY)
    assert [each.member for each in auth.members("role:r")] == ["user:bob"]
    assert not can(auth, "user:ann")


def test_end_of_a_deny_gives_access_back(auth: Authorizer, clock: Clock) -> None:
    auth.change(GRANT)
    made = auth.deny("SELECT_TABLE", on="table:hr.s.t", to="role:r", until=EARLY)
    assert made.note is not None
    assert made.note.endswith(f"the access that this DENY removes comes back at {EARLY}")
    assert not can(auth)
    clock(EARLY)
    assert can(auth)


def test_later_statement_replaces_the_end(auth: Authorizer, clock: Clock) -> None:
    auth.change(f"{GRANT} until {EARLY}")
    assert auth.change(f"{GRANT} until {EARLY}").id is None
    moved = auth.change(f"{GRANT} until {LATE}", dry_run=True)
    assert (moved.removed, moved.added) == ([f"{GRANT} until {EARLY}"], [f"{GRANT} until {LATE}"])
    assert auth.change(f"{GRANT} until {LATE}").id
    clock(EARLY)
    assert can(auth)
    assert auth.change(GRANT).id
    clock(LATE)
    assert can(auth)
    assert [each.until for each in auth.grants(on="table:hr.s.t")] == [None]


def test_end_goes_with_its_fact(auth: Authorizer, clock: Clock) -> None:
    auth.change(f"{GRANT} until {EARLY}")
    assert auth.revoke("SELECT_TABLE", on="table:hr.s.t", from_="role:r", dry_run=True).removed == [
        f"{GRANT} until {EARLY}"
    ]
    assert f"{GRANT} until {EARLY}" in auth.drop("role:r", dry_run=True).removed
    auth.revoke("SELECT_TABLE", on="table:hr.s.t", from_="role:r")
    auth.change(GRANT)
    clock(EARLY)
    assert can(auth)


def test_renamed_entity_keeps_the_ends_of_its_facts(auth: Authorizer, clock: Clock) -> None:
    auth.change(f"{GRANT} until {EARLY}")
    renamed = auth.rename("table:hr.s.t", to="u", dry_run=True)
    assert f"allow SELECT_TABLE on table:hr.s.u to role:r until {EARLY}" in renamed.added
    auth.rename("table:hr.s.t", to="u")
    assert auth.check("user:bob", "load_table", "table:hr.s.u")
    clock(EARLY)
    assert not auth.check("user:bob", "load_table", "table:hr.s.u")


NAMES = ["add namespace:n", "add user:bob"]  # in the policy cdap, a name can have grants before it is created


@pytest.mark.parametrize("engine", ["neo4j", "memory"])
def test_created_name_takes_over_a_grant_with_its_end(tenant: Tenants, clock: Clock, engine: str) -> None:
    auth = tenant("cdap", NAMES) if engine == "neo4j" else authorizer("cdap", NAMES, "ml")
    auth.change(f"allow READ on dataset:n.d to user:bob until {EARLY}")
    assert auth.change("add dataset:n.d").kept_grants == 1
    assert [each.until for each in auth.grants(on="dataset:n.d")] == [EARLY]
    clock(EARLY)
    assert [*auth.grants(on="dataset:n.d")] == []


def test_name_that_only_had_a_grant_is_gone_with_it(tenant: Tenants, clock: Clock) -> None:
    auth = tenant("cdap", NAMES)
    auth.change(f"allow READ on dataset:n.d to user:bob until {EARLY}")
    clock(EARLY)
    assert not auth.check("user:bob", "READ", "dataset:n.d")
    left = auth.store.execute("MATCH (e:Entity {root: $root, ref: 'dataset:n.d'}) RETURN e", {"root": auth.tenant})
    assert left == []


def test_past_end_is_refused_and_nothing_is_done(auth: Authorizer, clock: Clock) -> None:
    clock(LATE)
    before = auth.revision_now()
    with pytest.raises(Invalid, match=f"its end is past, since the server's clock says {LATE}; write a later end"):
        auth.change_all([GRANT, f"{GRANT} until {LATE}"])
    assert auth.revision_now() == before


def test_what_the_policy_gives_does_not_end(tenant: Tenants) -> None:
    auth = tenant("deltastream")
    for fact in (
        f"member role:ORGADMIN of role:SYSADMIN until {EARLY}",
        f"allow MANAGE_GRANTS on {auth.root} to role:SECURITYADMIN until {EARLY}",
    ):
        with pytest.raises(Invalid, match="by the policy deltastream; omit `until`"):
            auth.change(fact)
    with pytest.raises(InvalidInput, match="is not a statement"):
        auth.change(f"revoke {GRANT.replace(' to ', ' from ')} until {EARLY}")


def test_batch_sees_the_ends_of_its_earlier_statements(auth: Authorizer, clock: Clock) -> None:
    with auth.batch() as batch:
        batch.allow("SELECT_TABLE", on="table:hr.s.t", to="role:r", until=EARLY)
        batch.allow("SELECT_TABLE", on="table:hr.s.t", to="role:r", until=LATE)
    assert [each.until for each in auth.grants(on="table:hr.s.t")] == [LATE]
    clock(EARLY)
    assert can(auth)


def test_ending_lists_what_ends(auth: Authorizer) -> None:
    soon = end_text((datetime.now(UTC) + timedelta(days=10)).replace(microsecond=0))
    auth.change_all([f"{GRANT} until {soon}", f"member user:bob of role:r until {EARLY}"])
    assert [each.statement for each in auth.ending()] == [
        f"{GRANT} until {soon}",
        f"member user:bob of role:r until {EARLY}",
    ]
    assert [each.subject for each in auth.ending(within=timedelta(days=30))] == ["role:r"]
    assert not auth.ending(limit=1).complete
    for wrong in (timedelta(days=-1), "x" * 5_000):
        with pytest.raises(InvalidInput, match="timedelta") as error:
            auth.ending(within=wrong)  # type: ignore[arg-type]
        assert len(str(error.value)) < 200


def test_explanation_says_when_an_edge_ends(tenant: Tenants) -> None:
    auth = tenant("gravitino", FACTS)
    auth.change_all([f"{GRANT} until {EARLY}", f"member user:bob of role:r until {LATE}"])
    [path] = auth.explain("user:bob", "SELECT_TABLE", "table:hr.s.t").typed_paths
    assert [edge.until for edge in path.edges] == [LATE, EARLY]
    assert f"-HAS_ROLE until {LATE}-> role:r -ALLOW SELECT_TABLE until {EARLY}-> " in str(path)


def test_path_of_a_question_says_when_an_edge_ends(tenant: Tenants) -> None:
    auth = tenant("gravitino", FACTS)
    auth.change_all([f"{GRANT} until {EARLY}", "deny SELECT_TABLE on table:hr.s.t to role:r"])
    [row] = auth.question("grants_shadowed_by_a_deny").answer
    path = row["path"]
    assert isinstance(path, GraphPath)
    assert [edge.until for edge in path.edges] == [EARLY]


# ---- the log -------------------------------------------------------------------------------------------------------
def test_each_end_has_an_entry_dated_to_the_end(tenant: Tenants, clock: Clock) -> None:
    auth = tenant("gravitino", FACTS)
    auth.change_all(
        [
            f"{GRANT} until {LATE}",
            f"member user:bob of role:r until {EARLY}",
            f"member user:bob of group:g until {EARLY}",
        ]
    )
    before = auth.revision_now()
    clock("2100-01-02T00:00:00Z")
    auth.change("add user:late")
    entries = auth.log(after=before)
    assert [(each.revision - before, each.statement) for each in entries] == [
        (1, f"2 facts ended at {EARLY}"),
        (2, f"ended: {GRANT} until {LATE}"),
        (3, "add user:late"),
    ]
    assert [end_text(each.at) for each in entries[:2]] == [EARLY, LATE]
    assert auth.verify_log().intact
    assert not auth.check("user:bob", "load_table", "table:hr.s.t", as_of=before + 1)
    assert auth.check("user:bob", "load_table", "table:hr.s.t", as_of=before)


def test_actor_needs_the_right_of_the_grant(tenant: Tenants, clock: Clock) -> None:
    rights = ["add role:m", "allow MANAGE_GRANTS on metalake:ml to role:m", "member user:ann of role:m"]
    auth = tenant("gravitino", [*FACTS, *rights])
    refused = auth.change_all([f"{GRANT} until {EARLY}"], by="user:bob", each=True)
    assert "is refused" in str(refused[0])
    auth.change(f"{GRANT} until {EARLY}", by="user:ann")
    assert can(auth)


def test_questions_while_facts_end_are_never_answered_with_them(tenant: Tenants) -> None:
    """The server's own clock: readers and a writer ask across an end."""
    auth = tenant("gravitino", FACTS)
    end = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=4)
    auth.change(f"{GRANT} until {end_text(end)}")
    wrong: list[str] = []
    asked = 0

    def ask() -> None:
        nonlocal asked
        while (before := datetime.now(UTC)) < end + timedelta(seconds=2):
            allowed = can(auth)
            asked += 1
            if (allowed and before >= end) or (not allowed and datetime.now(UTC) < end):
                wrong.append(f"{allowed} at {before}")

    def write() -> None:
        number = 0
        while datetime.now(UTC) < end + timedelta(seconds=2):
            auth.change(f"add user:n{(number := number + 1)}")
            time.sleep(0.05)

    threads = [threading.Thread(target=each) for each in (ask, ask, ask, write)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert asked > 20
    assert sum(each.statement.startswith("ended:") for each in auth.log(limit=1_000)) == 1


# ---- tables and dumps ----------------------------------------------------------------------------------------------
def tables(folder: Path, grants: str, members: str = "member,of\nuser:bob,role:r\n") -> Path:
    folder.mkdir()
    (folder / "subjects.csv").write_text("ref\nuser:bob\nrole:r\n")
    (folder / "objects.csv").write_text("ref\ncatalog:hr\n")
    (folder / "members.csv").write_text(members)
    (folder / "grants.csv").write_text(grants)
    return folder


HEAD = "effect,privilege,object,subject,until\n"
ROW = "allow,USE_CATALOG,catalog:hr,role:r"


def ends(auth: Authorizer) -> list[str | None]:
    return [each.until for each in auth.grants(on="catalog:hr")]


def test_tables_have_ends(tenant: Tenants, tmp_path: Path, clock: Clock) -> None:
    auth = tenant()
    folder = tables(
        tmp_path / "a", f"{HEAD}{ROW},2100-01-01T01:00:00+01:00\n", f"member,until,of\nuser:bob,{LATE},role:r\n"
    )
    importer.load(auth, folder)
    assert (ends(auth), [each.until for each in auth.members("role:r")]) == ([EARLY], [LATE])
    assert not importer.load(auth, folder).changed
    assert importer.load(auth, tables(tmp_path / "b", f"{HEAD}{ROW},{LATE}\n", "member,of\nuser:bob,role:r\n")).changed
    # In the second table of members no row has an end, so it says nothing about ends.
    assert (ends(auth), [each.until for each in auth.members("role:r")]) == ([LATE], [LATE])
    clock(LATE)
    assert ends(auth) == []


def test_json_lines_have_ends(tenant: Tenants, tmp_path: Path) -> None:
    auth = tenant()
    folder = tables(tmp_path / "a", "")
    (folder / "grants.csv").unlink()
    row = '{"effect": "allow", "privilege": "USE_CATALOG", "object": "catalog:hr", "subject": "role:r", "until": %s}\n'
    other = row.replace("USE_CATALOG", "USE_SCHEMA").replace(', "until": %s', "")
    (folder / "grants.jsonl").write_text(
        row % f'"{EARLY}"' + other + row.replace("USE_CATALOG", "READ_FILESET") % "null"
    )
    importer.load(auth, folder)
    assert ends(auth) == [None, EARLY, None]


def test_rows_with_a_past_end_are_left_out_and_named(tenant: Tenants, tmp_path: Path) -> None:
    auth = tenant()
    past = "2001-01-01T00:00:00Z"
    done = importer.load(auth, tables(tmp_path / "a", f"{HEAD}{ROW},{past}\n"))
    assert ends(auth) == []
    assert done.past == (f"allow USE_CATALOG on catalog:hr to role:r until {past}",)
    assert (
        done.omitted == f"1 row not loaded, whose end is past: allow USE_CATALOG on catalog:hr to role:r until {past}"
    )


def test_rows_that_differ_only_in_their_end_are_refused(tenant: Tenants, tmp_path: Path) -> None:
    auth = tenant()
    folder = tables(tmp_path / "a", f"{HEAD}{ROW},{EARLY}\n{ROW},{LATE}\n")
    with pytest.raises(InvalidInput, match=r"grants\.csv:3: an earlier row has the same fact with another end"):
        importer.load(auth, folder)
    with pytest.raises(InvalidInput, match=r"grants\.csv:2: until x is not a time"):
        importer.load(auth, tables(tmp_path / "b", f"{HEAD}{ROW},x\n"))


def test_table_whose_ends_are_all_past_says_something_about_ends(tenant: Tenants, tmp_path: Path) -> None:
    auth = tenant()
    importer.load(auth, tables(tmp_path / "a", f"{HEAD}{ROW},{EARLY}\n"))
    other = ROW.replace("USE_CATALOG", "USE_SCHEMA")
    importer.load(auth, tables(tmp_path / "b", f"{HEAD}{ROW},\n{other},2001-01-01T00:00:00Z\n"))
    assert ends(auth) == [None]


@pytest.mark.parametrize("format_", ["csv", "jsonl", "parquet"])
def test_dump_keeps_ends(tenant: Tenants, tmp_path: Path, clock: Clock, format_: str) -> None:
    auth = tenant("gravitino", FACTS)
    auth.change_all([f"{GRANT} until {EARLY}", f"member user:bob of role:r until {LATE}", "member user:bob of group:g"])
    exporter.dump(auth, tmp_path / "dump", format_)  # type: ignore[arg-type]
    clock(EARLY)
    restored = tenant()
    assert importer.load(restored, tmp_path / "dump").restored
    assert [each.statement for each in restored.ending()] == [f"member user:bob of role:r until {LATE}"]
    assert restored.log()[-1].statement == f"ended: {GRANT} until {EARLY}"
    assert restored.verify_log().intact


def test_restore_into_a_root_that_is_changed_meanwhile_must_be_repeated(
    tenant: Tenants, tmp_path: Path, clock: Clock
) -> None:
    auth = tenant("gravitino", FACTS)
    auth.change(f"{GRANT} until {EARLY}")
    exporter.dump(auth, tmp_path / "dump")
    clock(LATE)
    other = tenant()

    def progress(step: str, done: int, _: int) -> None:
        if (step, done) == ("checking", 1):
            other.change("add user:new")

    # Its ended rows were read to be restored, which a root with facts cannot be: they must not come into effect.
    with pytest.raises(Inconsistent, match="was changed by another writer meanwhile; load it again"):
        importer.load(other, tmp_path / "dump", progress)
    assert list(other.grants()) == []
    loaded = importer.load(other, tmp_path / "dump")
    assert (loaded.restored, loaded.past) == (False, (f"{GRANT} until {EARLY}",))
    assert [each.until for each in other.grants()] == [None, None]


MEMBERS = "allow,GROUP_MEMBER,group:g,user:u"  # in onehouse, a grant of this privilege is a membership


def membership_tables(folder: Path, grants: str, members: str = "") -> Path:
    folder.mkdir()
    (folder / "subjects.csv").write_text("ref\nuser:u\ngroup:g\n")
    (folder / "grants.csv").write_text(f"effect,privilege,object,subject,until\n{grants}")
    if members:
        (folder / "members.csv").write_text(f"member,of\n{members}")
    return folder


def test_a_grant_that_is_a_membership_gets_its_end(tenant: Tenants, tmp_path: Path, clock: Clock) -> None:
    auth = tenant("onehouse", root="main")
    folders = [
        membership_tables(tmp_path / str(number), f"{MEMBERS},{end}\n") for number, end in enumerate(["", LATE, EARLY])
    ]
    for folder, end in zip(folders, [None, LATE, EARLY], strict=True):
        assert importer.load(auth, folder).changed
        assert [each.until for each in auth.members("group:g")] == [end]
        assert not importer.load(auth, folder).changed
    with pytest.raises(InvalidInput, match=r"grants\.csv:2: an earlier row has the same fact with another end"):
        importer.load(auth, membership_tables(tmp_path / "two", f"{MEMBERS},{LATE}\n", "user:u,group:g\n"))
    clock(EARLY)
    assert [*auth.members("group:g")] == []
    assert auth.verify_log().intact


def test_a_kept_membership_gets_the_end_of_a_grant(tenant: Tenants, tmp_path: Path, clock: Clock) -> None:
    auth = tenant("onehouse", ["add user:u", "add group:g", "member user:u of group:g"], root="main")
    folder = membership_tables(tmp_path / "a", f"{MEMBERS},{EARLY}\n")
    assert importer.load(auth, folder, replace=True, only=["grants"], consent=True).changed
    assert [each.until for each in auth.members("group:g")] == [EARLY]
    assert not importer.load(auth, folder, replace=True, only=["grants"], consent=True).changed
    clock(EARLY)
    assert [*auth.members("group:g")] == []
    assert auth.verify_log().intact


@pytest.mark.parametrize("replace", [True, False])
def test_a_dump_says_which_facts_do_not_end(tenant: Tenants, tmp_path: Path, replace: bool) -> None:
    auth = tenant("gravitino", FACTS)
    auth.change(GRANT)
    exporter.dump(auth, tmp_path / "dump")
    auth.change_all([f"{GRANT} until {EARLY}", f"member user:bob of role:r until {EARLY}"])
    assert importer.load(auth, tmp_path / "dump", replace=replace, consent=True).changed
    assert [*auth.ending()] == []
    assert len([*auth.grants()]) == 3


def test_snapshots_before_and_after_the_first_end_are_compared(tenant: Tenants, tmp_path: Path) -> None:
    auth = tenant("gravitino", FACTS)
    mirror(auth, tmp_path / "before")
    auth.change(f"{GRANT} until {EARLY}")
    mirror(auth, tmp_path / "after")
    found = diff(tmp_path / "before", tmp_path / "after", ["load_table"])
    assert (found.facts_added, found.facts_removed) == ([GRANT], [])
    assert [(each.gained, each.lost) for each in found.access] == [(1, 0)]
