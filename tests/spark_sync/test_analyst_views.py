"""The views of a snapshot, in Spark's SQL and in DuckDB's, against the Authorizer and a dump of the same graph."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from grantpath.engine import Authorizer
from grantpath.graph.client.connection import Connection
from grantpath.graph.errors import InvalidInput
from grantpath.spark_sync import Snapshot, access, duckdb_views, register
from grantpath.spark_sync.mirroring.mirror import mirror_tenant
from grantpath.spark_sync.session import spark_session

from ..conftest import Tenants
from ..support.random_world import random_world
from ..support.small_estate import facts_of
from ..support.snapshot_sql import BothEngines

pytestmark = pytest.mark.spark
SEED = 15
EXPANDED = ["load_table", "SELECT_TABLE", "load_metalake"]
ODD = [
    "add user:ann.b@x:y",
    "add user:`tick``, ed`",
    "add catalog:`a.b`",
    "add schema:`a.b`.`two\nlines`",
    "add table:`a.b`.`two\nlines`.`end``.`",
    "add table:`a.b`.`two\nlines`.````",
    "add role:`all of it`",
    "member user:ann.b@x:y of role:`all of it`",
    "allow SELECT_TABLE on catalog:`a.b` to role:`all of it`",
]


@dataclass
class Estate:
    auth: Authorizer
    out: Path
    sql: BothEngines

    def existing(self, type_: str) -> list[str]:
        return [
            row[0] for row in self.sql.rows(f"select ref from grantpath.objects o where type = '{type_}' and o.exists")
        ]

    @property
    def users(self) -> list[str]:
        return sorted(self.existing("user"))


@pytest.fixture(scope="module")
def estate(server: Connection, module_tenant: Tenants, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Estate]:
    """A random root with odd names; its name for Spark and DuckDB has characters that mean something in patterns."""
    world = random_world("gravitino", random.Random(SEED), 70)
    auth = module_tenant("gravitino", [*world, *ODD], root="main")
    out = tmp_path_factory.mktemp("views") / "it's [c:d]*{x}"
    mirror_tenant(server, auth.tenant, out, print)
    access(out, ["list_catalog", "USE_CATALOG"], EXPANDED, print, in_process_limit=0)
    sql = BothEngines(spark_session.engine(print).spark, out, "views_of_a_test")
    yield Estate(auth, out, sql)
    sql.close()


def test_objects_have_their_names_and_places(estate: Estate) -> None:
    policy, root = estate.auth.policy, estate.auth.policy.root("main")
    found = estate.sql.set("select ref, type, name, parent, o.exists from grantpath.objects o")
    for ref, type_, name, parent, _ in found:
        parsed = policy.reference(ref, root)
        assert (parsed.text, parsed.type, parsed.name) == (ref, type_, name)
        above = [place.text for _, place in policy.chain(parsed, root)][1:]
        assert parent == (above[0] if above else None), ref
    assert {"end`.", "`", "two\nlines", "ann.b@x:y", "tick`, ed"} <= {name for _, _, name, _, _ in found}
    below = estate.sql.set("select place, object from grantpath.below")
    assert below == {
        (place.text, ref) for ref, *_ in found for _, place in policy.chain(policy.reference(ref, root), root)
    }


def test_facts_are_those_of_a_dump(estate: Estate) -> None:
    dump = facts_of(estate.auth)
    sql = estate.sql
    assert sql.set("select member, container from grantpath.members") == {row[:2] for row in dump["members"]}
    kinds = {"role": "HAS_ROLE", "group": "MEMBER_OF"}
    for container_type, relationship in sql.rows("select distinct container_type, relationship from grantpath.members"):
        assert kinds[container_type] == relationship
    assert sql.set("select object, owner from grantpath.owners") == {row[:2] for row in dump["owners"]}
    grants = sql.set("select object, grantee, privilege, effect from grantpath.grants")
    assert grants == {(on, to, privilege, effect.upper()) for effect, privilege, on, to in dump["grants"]}


def test_effective_principals_are_the_memberships_of_every_subject(estate: Estate) -> None:
    found = estate.sql.set("select subject, principal from grantpath.effective")
    some = [ref for ref, exists in estate.sql.rows("select ref, s.exists from grantpath.subjects s") if exists]
    assert "role:service_admin" not in some  # hidden: lists omit it
    for ref in some:
        held = {each.container for each in estate.auth.memberships(ref, all=True, limit=1000).answer}
        effective = {principal for subject, principal in found if subject == ref}
        assert effective - {"role:service_admin"} == {ref, *held}


def test_reach_includes_what_every_user_may_do(estate: Estate) -> None:
    reach = estate.sql.set("select subject, name, type, objects from grantpath.reach")
    expected = set()
    for name, type_ in estate.sql.rows("select name, type from grantpath.names"):
        for user in estate.users:
            if many := len(list(estate.auth.which(type_, user, name))):
                expected.add((user, name, type_, many))
    assert reach == expected
    everyone = {subject for subject, name, _, _ in reach if name == "list_catalog"}
    assert everyone == set(estate.users)


def test_exposure_is_the_number_of_users_of_each_object(estate: Estate) -> None:
    exposure = estate.sql.set("select object, name, users from grantpath.exposure")
    expected = set()
    for name, type_ in estate.sql.rows("select name, type from grantpath.names"):
        for ref in estate.existing(type_):
            if many := len(list(estate.auth.who(name, ref))):
                expected.add((ref, name, many))
    assert exposure == expected


def test_expand_has_each_pair_of_user_and_object(estate: Estate) -> None:
    """Names whose condition is the same as that of an expanded one are listed, too."""
    expand = estate.sql.set("select subject, name, object, type from grantpath.expand")
    names = {name for _, name, _, _ in expand}
    assert {*EXPANDED} <= names and "USE_CATALOG" not in names
    expected = set()
    for name, type_ in estate.sql.rows("select name, type from grantpath.names"):
        if name in names:
            for user in estate.users:
                expected |= {(user, name, ref, type_) for ref in estate.auth.which(type_, user, name)}
    assert expand == expected


def test_users_are_those_that_lists_contain(estate: Estate) -> None:
    assert {ref for (ref,) in estate.sql.set("select ref from grantpath.users")} == set(
        estate.auth.who("list_catalog", "metalake:main")
    )


@pytest.mark.slow
def test_snapshot_without_access_has_no_views_of_it(server: Connection, tenant: Tenants, tmp_path: Path) -> None:
    spark = spark_session.engine(print).spark
    auth = tenant("gravitino", ["add user:ann", "add catalog:c"])
    for each in ("full", "bare"):
        mirror_tenant(server, auth.tenant, tmp_path / each, print)
    access(tmp_path / "full", ["USE_CATALOG"], [], print, in_process_limit=0)
    try:
        assert {"reach", "exposure", "names"} <= set(register(spark, tmp_path / "full", "one_of_two"))
        made = register(spark, str(tmp_path / "bare"), "one_of_two")
        assert "effective" in made and not {"reach", "exposure", "names", "expand"} & set(made)
        left = {row.tableName for row in spark.sql("show tables in one_of_two").collect() if not row.isTemporary}
        assert {name for name in left if not name.startswith("raw_")} == set(made)
        snapshot = Snapshot(tmp_path / "full")
        for session in (snapshot.spark(schema="one_of_two"), snapshot.spark(spark, "one_of_two")):
            assert session is spark, "the running one"
            [row] = session.sql("select ref from one_of_two.subjects where type = 'user'").collect()
            assert row.ref == "user:ann" and session.sql("select * from one_of_two.names").count() > 0
    finally:
        spark.sql("drop schema one_of_two cascade")
    assert "create or replace view grantpath.reach" not in duckdb_views(tmp_path / "bare")
    for bad in ("a.b", "a b", "a;", ""):
        with pytest.raises(InvalidInput, match="cannot be the name of a schema"):
            register(spark, tmp_path / "full", bad)
    with pytest.raises(InvalidInput, match="is not a snapshot of this version"):
        duckdb_views(tmp_path)
