"""`rename` and `move`: an entity gets another reference, and keeps all that is stored about it and below it."""

from typing import Any

import pytest

from grantpath.engine import Authorizer, Conflict, Invalid, Refused, Unknown
from grantpath.engine.change import delta_records, renaming
from grantpath.engine.facts.copy import replica
from grantpath.engine.facts.set.fact_version import FactVersion
from grantpath.engine.facts.set.graph_facts import read_facts

from ...conftest import Tenants
from ...support.with_replica import content, until_read, with_replica

FACTS = [
    *("add user:admin", "owner user:admin of metalake:ml", "add user:bob", "add user:lee", "add role:analyst"),
    *("add catalog:hr", "add schema:hr.public", "add table:hr.public.staff", "add catalog:old", "add schema:old.s"),
    *("member user:bob of role:analyst", "owner user:bob of schema:hr.public", "owner user:lee of catalog:old"),
    *(f"allow {each} on catalog:hr to role:analyst" for each in ("USE_CATALOG", "USE_SCHEMA")),
    "allow SELECT_TABLE on table:hr.public.staff to role:analyst",
    "deny MODIFY_TABLE on table:hr.public.staff to role:analyst",
]


QUESTIONS = [
    ("load_table", "table:hr.public.staff"),
    ("MODIFY_TABLE", "table:hr.public.staff"),
    ("drop_schema", "schema:hr.public"),
    ("drop_catalog", "catalog:hr"),
]


@pytest.fixture
def auth(tenant: Tenants) -> Authorizer:
    return tenant("gravitino", FACTS)


def facts(auth: Authorizer) -> set[tuple[str, ...]]:
    """All grants and owners of the tables and schemas."""
    refs = [*auth.list("schema"), *auth.list("table")]
    owners = {(ref, "owner", auth.show(ref).owner or "") for ref in refs}
    return owners | {(each.object, each.effect, each.privilege, each.subject) for each in auth.grants()}


def test_all_facts_stay_and_the_old_name_is_free(auth: Authorizer) -> None:
    copy, before, there = with_replica(auth), auth.revision_now(), facts(auth)
    dry = auth.rename("schema:hr.public", to="`open data`", by="user:bob", dry_run=True)
    assert "add table:hr.`open data`.staff" in dry.added and "add table:hr.public.staff" in dry.removed
    done = auth.rename("schema:hr.public", to="`open data`", by="user:bob")
    assert done.revision == before + 1
    assert {tuple(part.replace("hr.`open data`", "hr.public") for part in each) for each in facts(auth)} == there
    assert auth.check("user:bob", "load_table", "table:hr.`open data`.staff")
    with pytest.raises(Unknown):
        auth.show("table:hr.public.staff")
    assert auth.check("user:bob", "load_table", "table:hr.public.staff", as_of=before)
    assert content(copy) == content(with_replica(auth))
    assert auth.change("add schema:hr.public").id
    entry = next(iter(auth.log(limit=1, object="schema:hr.`open data`")))
    assert (entry.statement, entry.actor) == ("rename schema:hr.public to `open data`", "user:bob")
    assert auth.verify_log().entries == auth.revision_now()


def test_delta_of_many_facts_is_two_references_and_the_log_finds_what_is_below(
    auth: Authorizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(renaming, "LISTED", 3)
    done = auth.rename("schema:hr.public", to="open")
    auth.add("table:hr.open.later")
    query = "MATCH (change:Change {root: $root, revision: $revision}) RETURN properties(change) AS entry"
    [row] = auth.store.execute(query, {"root": auth.tenant, "revision": done.revision})
    entry = row["entry"]
    assert entry["renamed"] == ["schema:hr.public", "schema:hr.open"]
    assert not {"added", "removed", "facts", "bulk"} & {*entry}
    assert entry["touched"] == ["schema:hr.open", "table:hr.open.staff", "table:hr.public.staff"]
    assert done.revision in [each.revision for each in auth.log(object="table:hr.open.staff")]
    assert [each.revision for each in auth.log(object="table:hr.open.later")] == [done.revision + 1]


@pytest.mark.parametrize(("short", "bulk"), [(500, 200_000), (1, 200_000), (1, 2)])
def test_past_copy_and_log_are_exact_across_a_rename_of_any_size(
    auth: Authorizer, short: int, bulk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delta_records, "SHORT", short)
    monkeypatch.setattr(renaming, "BULK", bulk)
    monkeypatch.setattr(renaming, "LISTED", short)
    copy, before = with_replica(auth), auth.revision_now()
    then = [bool(auth.check("user:bob", *each)) for each in QUESTIONS]
    auth.rename("catalog:hr", to="people")
    auth.rename("user:bob", to="kim")
    auth.move("schema:people.public", to="catalog:old")
    until_read(copy)
    assert content(copy) == content(with_replica(auth))
    assert [bool(auth.check("user:bob", *each, as_of=before)) for each in QUESTIONS] == then
    assert {*then} == {True, False}
    since = auth.since("user:kim", "load_table", "table:old.public.staff")
    assert (since.allowed, since.since) == (False, auth.revision_now())
    assert auth.verify_log().intact


def test_copy_that_is_read_during_a_rename_is_read_again(auth: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[int] = []
    monkeypatch.setattr(renaming, "LISTED", 1)

    def read(*given: Any) -> FactVersion:
        found = read_facts(*given)
        reads.append(found.revision)
        if len(reads) == 1:
            auth.rename("schema:hr.public", to="open")
        return found

    monkeypatch.setattr(replica, "read_facts", read)
    copy = with_replica(auth)
    assert len(reads) == 2
    assert content(copy) == content(with_replica(auth))


def test_a_name_that_is_a_word_of_statements_is_written_with_quotes(auth: Authorizer) -> None:
    auth.rename("schema:hr.public", to="`with`", id="odd")
    assert next(iter(auth.log(limit=1))).statement == "rename schema:hr.public to `with`"
    assert auth.rename("schema:hr.public", to="`with`", id="odd").already
    auth.rename("schema:hr.with", to="`public`")
    assert next(iter(auth.log(limit=1))).statement == "rename schema:hr.with to public"


def test_a_subject_keeps_its_memberships_grants_and_objects(auth: Authorizer) -> None:
    auth.rename("user:bob", to="kim@example.org")
    assert auth.check("user:kim@example.org", "load_table", "table:hr.public.staff")
    assert auth.show("schema:hr.public").owner == "user:kim@example.org"
    auth.rename("role:analyst", to="reader")
    assert next(iter(auth.memberships("user:kim@example.org"))).container == "role:reader"
    assert auth.check("user:kim@example.org", "load_table", "table:hr.public.staff")


def test_a_move_asks_for_both_rights(auth: Authorizer) -> None:
    with pytest.raises(Refused, match=r"'add schema:old\.public' by user:bob is refused"):
        auth.move("schema:hr.public", to="catalog:old", by="user:bob")
    with pytest.raises(Refused, match=r"'move schema:hr.public to catalog:old' by user:lee is refused"):
        auth.move("schema:hr.public", to="catalog:old", by="user:lee")
    assert next(iter(auth.log(limit=1, refused=True))).statement == "move schema:hr.public to catalog:old"
    plan = auth.plan(["move schema:hr.public to catalog:old"], by="user:admin")
    lost = {name for each in plan.effects.effects if each.effect == "lose" for name in each.names}
    assert "load_table" in lost
    auth.move("schema:hr.public", to="catalog:old", by="user:admin")
    assert [*auth.list("table")] == ["table:old.public.staff"]
    assert not auth.check("user:bob", "load_table", "table:old.public.staff")  # the gate was on the old catalog


def test_statements_of_a_batch_see_new_names(auth: Authorizer) -> None:
    with auth.batch(by="user:admin") as batch:
        batch.add("schema:hr.raw")
        batch.rename("schema:hr.raw", to="stage")
        batch.move("table:hr.public.staff", to="schema:hr.stage")
        batch.add("schema:hr.raw")
        batch.drop("schema:hr.public")
    assert [each.id is None for each in batch.changes] == [False] * 5
    assert [*auth.list("schema", under="catalog:hr")] == ["schema:hr.raw", "schema:hr.stage"]
    assert auth.check("user:bob", "load_table", "table:hr.stage.staff")


@pytest.mark.parametrize(
    ("statement", "error", "says"),
    [
        ("rename schema:hr.none to x", Unknown, "schema:hr.none does not exist"),
        ("rename schema:hr.public to a.b", Invalid, "a.b has 2 segments.*quote it with backticks"),
        ("rename user:bob to user:kim", Invalid, "write rename user:bob to kim"),
        ("rename metalake:ml to x", Invalid, "metalake:ml is the root and cannot be renamed"),
        ("rename role:service_admin to x", Invalid, "role:service_admin is hidden"),
        ("rename catalog:hr to old", Conflict, "catalog:old exists already; choose another name"),
        ("move table:hr.public.staff to catalog:hr", Invalid, "cannot be moved to catalog:hr: a table is in a schema"),
        ("move table:hr.public.staff to schema:hr.none", Unknown, "schema:hr.none does not exist"),
        ("move schema:hr.public to schema:hr.public", Invalid, "a schema is in a catalog"),
        ("rename catalog:hr to " + "x" * 256, Invalid, "longer than 255 bytes"),
        ("rename catalog:hr to x with tag=tag:t", Invalid, "only `add` takes second objects"),
    ],
)
def test_bad_input_changes_nothing(auth: Authorizer, statement: str, error: type[Exception], says: str) -> None:
    before = auth.revision_now()
    with pytest.raises(error, match=says):
        auth.change(statement)
    assert auth.change(f"rename catalog:hr to hr{' ' * 2}").id is None
    assert auth.revision_now() == before


def test_names_with_grants_move_along_and_are_not_taken_over(tenant: Tenants) -> None:
    auth = tenant("cdap", ["add namespace:a", "add namespace:b", "add user:bob"], root="main")
    auth.change("allow READ on dataset:a.later to user:bob")
    auth.change("rename namespace:a to c")
    assert [each.object for each in auth.grants()] == ["dataset:c.later"]
    auth.change("allow READ on dataset:a.x to user:bob")
    with pytest.raises(Conflict, match="namespace:a does not exist, but it, or a name below it, has grants"):
        auth.change("rename namespace:b to a")
    auth.change("revoke allow READ on dataset:a.x from user:bob")
    auth.change("rename namespace:b to a")


def test_what_is_below_must_fit(tenant: Tenants) -> None:
    deep = ".".join(["c", *("s" for _ in range(62))])
    path = ["c", *("s" for _ in range(62))]
    chain = [f"add schema:{'.'.join(path[:length])}" for length in range(2, 64)]
    auth = tenant("lakehouse_nested", ["add catalog:c", *chain, f"add table:{deep}.t", "add schema:c.top"])
    with pytest.raises(Invalid, match=r"below schema:c\.s is a table with 64 segments, which would have 65"):
        auth.change("move schema:c.s to schema:c.top")
    with pytest.raises(Invalid, match=r"which is schema:c\.s or below it"):
        auth.change("move schema:c.s to schema:c.s.s")
    wide = ["x" * 250] * 7
    auth.given([f"add schema:c.top.{'.'.join(wide[:length])}" for length in range(1, 8)])
    with pytest.raises(Invalid, match="would be longer than 2000 bytes"):
        auth.change("rename catalog:c to " + "y" * 250)
    auth.change(f"move schema:c.top.{wide[0]} to catalog:c")
    assert len([*auth.list("schema", under=f"schema:c.{wide[0]}")]) == 6
