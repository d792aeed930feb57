"""The past of a root that was restored under another name is that of the original, under the new name."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grantpath.engine import Authorizer, Invalid, Refused
from grantpath.engine.tenants.root_name import as_named_now
from grantpath.engine.transfer import importer
from grantpath.engine.transfer.exporter import dump
from grantpath.graph.client.connection import Connection
from grantpath.graph.language.reference import parse
from grantpath.spark_sync.following.snapshot_update import update
from grantpath.spark_sync.mirroring.mirror import mirror_tenant

from ...conftest import Tenants
from ...oracle import oracle
from ...support.random_world import ROOT_NAME, random_checks, random_statements, random_world
from ...support.sizes import size
from ...support.table_sums import snapshot_statements
from ...support.tiers import others_slow
from ...support.twin import POLICIES, SEED
from ...support.with_replica import content_of

pytestmark = pytest.mark.trust
FACTS, CHANGES = size(full=60, short=20), size(full=120, short=10)
CHECKS = size(full=60, short=8)
NAMES = ["else", "`main.x, metalake:main`", ROOT_NAME]  # each is a restore of a dump of the one before it
ON_ROOT = [
    "add catalog:hr",
    "add user:ann",
    "add user:bob",
    "add role:r",
    "member user:bob of role:r",
    "allow USE_CATALOG on metalake:{0} to role:r",
    "deny USE_CATALOG on metalake:{0} to role:r",
    "owner user:ann of metalake:{0}",
    "revoke deny USE_CATALOG on metalake:{0} from role:r",
]
ASKED = "user:bob", "USE_CATALOG", "catalog:hr"


def restored(tenant: Tenants, auth: Authorizer, name: str, folder: Path) -> Authorizer:
    """A new root of this name with the facts and the history of a dump of `auth`."""
    dump(auth, folder)
    other = tenant(auth.policy.name, root=f"{auth.root.type}:{name}")
    assert importer.load(other, folder).restored
    return other


def copies(tenant: Tenants, auth: Authorizer, folder: Path) -> Iterator[Authorizer]:
    for at, name in enumerate(NAMES):
        auth = restored(tenant, auth, name, folder / str(at))
        yield auth


def named(value: Any, old: str, new: str) -> Any:
    """A value with the reference `old` replaced."""
    if isinstance(value, dict):
        return {named(key, old, new): named(each, old, new) for key, each in value.items()}
    if isinstance(value, list | set):
        return type(value)(named(each, old, new) for each in value)
    return new if value == old else value


@pytest.mark.usefixtures("large_renames")
@pytest.mark.parametrize("policy_name", others_slow(POLICIES))
def test_past_of_a_copy_is_the_one_of_the_original(tenant: Tenants, tmp_path: Path, policy_name: str) -> None:
    rng = random.Random(f"restored past {policy_name} {SEED}")
    world, auth = oracle(policy_name, ROOT_NAME), tenant(policy_name, root=ROOT_NAME)
    here = auth.root.text
    for fact in random_world(policy_name, rng, FACTS):
        assert world.given(fact) == "done" and auth.given([fact]) == [None]
    for statement, by, as_role in random_statements(policy_name, world, rng, CHANGES):
        if world.do(statement, by, as_role) == "done":
            auth.change(statement, by=by, as_role=as_role)
    was = [content_of(auth.past(revision)._version) for revision in range(auth.revision_now() + 1)]
    on_root = list(auth.log(object=here, limit=1_000))
    assert on_root, "changes of the root object are what this test is about"
    checks = [*random_checks(world, rng, CHECKS)]
    for copy in copies(tenant, auth, tmp_path):
        there = copy.root.text
        for revision, content in enumerate(was):
            assert content_of(copy.past(revision)._version) == named(content, here, there), revision
        for subject, name, on, with_, as_role in checks:
            found = [
                graph.since(subject, name, named(on, here, root), as_role=as_role, with_=named(with_, here, root))
                for graph, root in ((auth, here), (copy, there))
            ]
            assert len({(each.allowed, each.since, each.complete) for each in found}) == 1, (subject, name, on)
        expected = [as_named_now(each.statement, copy.root) for each in auth.log(limit=1_000)]
        assert [each.statement for each in copy.log(limit=1_000)] == expected
        assert [each.id for each in copy.log(object=there, limit=1_000)] == [each.id for each in on_root]
        assert copy.verify_log(auth.log(limit=1)[0].hash)


def test_deny_on_the_root_object_holds_in_the_past(tenant: Tenants, tmp_path: Path) -> None:
    auth = tenant(given=[each.format("ml") for each in ON_ROOT])
    expected = [bool(auth.check(*ASKED, as_of=revision)) for revision in range(5, 10)]
    assert expected == [False, True, False, False, True]
    head = auth.log(limit=1)[0].hash
    for copy in copies(tenant, auth, tmp_path):
        assert [bool(copy.check(*ASKED, as_of=revision)) for revision in range(5, 10)] == expected
        assert copy.since(*ASKED).since == 9
        assert copy.verify_log(head).proven == 9
        own = copy.root.name if copy.root.name != "main.x, metalake:main" else f"`{copy.root.name}`"
        assert [each.statement for each in copy.log()] == [each.format(own) for each in ON_ROOT]
        about = copy.log(object=copy.root.text)
        assert [each.revision for each in about] == [6, 7, 8, 9]
        assert {each.object for each in about} == {copy.root.text}
    copy.change(f"deny USE_CATALOG on {copy.root} to role:r", by="user:ann")
    assert [bool(copy.check(*ASKED, as_of=revision)) for revision in (6, 7, 9, 10)] == [True, False, True, False]
    assert copy.plan([f"revoke deny USE_CATALOG on {copy.root} from role:r"], by="user:ann").effects


def test_repeated_request_names_the_root_by_its_new_name(tenant: Tenants, tmp_path: Path) -> None:
    auth = tenant(given=[each.format("ml") for each in ON_ROOT])
    statements = ["allow CREATE_CATALOG on metalake:ml to role:r", "add user:cas"]
    auth.change_all(statements, by="user:ann", id="two")
    one = auth.change("allow CREATE_ROLE on metalake:ml to role:r", by="user:ann")
    with pytest.raises(Refused):
        auth.change("allow CREATE_ROLE on metalake:ml to role:r", by="user:bob")
    for copy in copies(tenant, auth, tmp_path):
        again = [each.replace("metalake:ml", copy.root.text) for each in statements]
        assert [each.already for each in copy.change_all(again, by="user:ann", id="two")] == [True, True]
        assert copy.change(f"allow CREATE_ROLE on {copy.root} to role:r", by="user:ann", id=one.id).already
        with pytest.raises(Invalid, match="belongs to another change"):
            copy.change_all(again[::-1], by="user:ann", id="two")
        [refused] = copy.log(object=copy.root.text, refused=True)
        assert (refused.object, refused.statement) == (copy.root.text, f"allow CREATE_ROLE on {copy.root} to role:r")


def test_snapshot_that_was_written_before_the_restore_is_advanced(
    server: Connection, tenant: Tenants, tmp_path: Path
) -> None:
    auth = tenant(given=[each.format("ml") for each in ON_ROOT[:7]])
    dump(auth, tmp_path / "kept")
    copy = tenant(root="copy")
    mirror_tenant(server, copy.tenant, tmp_path / "out", lambda _: None)
    assert importer.load(copy, tmp_path / "kept").restored
    assert update(server, copy.tenant, tmp_path / "out", print).rebuilt is None
    mirror_tenant(server, copy.tenant, tmp_path / "new", lambda _: None)
    assert snapshot_statements(tmp_path / "out") == snapshot_statements(tmp_path / "new")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("metalake:old", "metalake:`new one`"),
        ("metalake:`an, old``one`", "metalake:`new one`"),
        ("owner user:ann of metalake:old", "owner user:ann of metalake:`new one`"),
        ("allow X on metalake:`b c` to user:metalake:old", "allow X on metalake:`new one` to user:metalake:old"),
        ("add p:p with a=metalake:o,b=metalake:é", "add p:p with a=metalake:`new one`,b=metalake:`new one`"),
        ("add p:p with a=metalake:o, b=metalake:`é, x`", "add p:p with a=metalake:`new one`, b=metalake:`new one`"),
        ("add user:`x metalake:old`", "add user:`x metalake:old`"),
        ("add user:`a``, metalake:old`", "add user:`a``, metalake:old`"),
        ("member user:a=metalake:old of group:g", "member user:a=metalake:old of group:g"),
        ("add table:metalake.old.metalake", "add table:metalake.old.metalake"),
        ("add other_metalake:old", "add other_metalake:old"),
    ],
)
def test_only_references_of_the_root_object_are_translated(text: str, expected: str) -> None:
    assert as_named_now(text, parse("metalake:`new one`")) == expected
