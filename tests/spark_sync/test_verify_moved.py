"""Verifying a snapshot after changes: questions that these may affect are compared with the past, or skipped."""

import random
from pathlib import Path
from typing import Any

import pytest

from grantpath.engine import Authorizer
from grantpath.engine.change import delta_records
from grantpath.engine.policy.policy import load as load_policy
from grantpath.engine.tenants.tenant_state import Entity
from grantpath.engine.transfer.importer import load
from grantpath.graph.client.connection import Connection
from grantpath.graph.errors import GrantpathError, Inconsistent, InvalidInput
from grantpath.spark_sync.bulk import verification
from grantpath.spark_sync.bulk.moved_since import Touched
from grantpath.spark_sync.bulk.verification import verify
from grantpath.spark_sync.mirroring.graph_rows import Graph
from grantpath.spark_sync.mirroring.mirror import mirror_tenant
from grantpath.spark_sync.mirroring.parallel_reader import TenantMarks
from grantpath.spark_sync.mirroring.snapshot_writer import write
from grantpath.spark_sync.versions.snapshot_folders import building

from ..conftest import Closing, Tenants
from ..oracle import oracle
from ..support.random_world import ROOT_NAME, random_statements, random_world
from ..support.sizes import size
from ..support.tiers import others_slow
from ..support.twin import SEED

pytestmark = pytest.mark.trust

ROUNDS = size(20, 2)
CHANGES = 8  # in each round
SAMPLE = 300
UNUSED: Any = None  # no Spark is started for a small graph


def moved_on(auth: Authorizer, policy: str, rng: random.Random, facts: list[str]) -> None:
    """Random changes by users, and facts, some of which drop entities."""
    world = oracle(policy, ROOT_NAME)
    for fact in facts:
        world.given(fact)
    done = 0
    for statement, by, role in random_statements(policy, world, rng, 40):
        if done < CHANGES and world.do(statement, by, role) == "done":
            auth.change(statement, by=by, as_role=role)
            done += 1


def logged(auth: Authorizer) -> Any:
    return lambda revision: auth.log(after=revision, limit=10_000)


@pytest.mark.parametrize("policy", others_slow(["gravitino", "lakehouse", "deltastream", "onehouse", "cdap"]))
def test_questions_that_later_changes_may_affect_are_skipped(
    server: Connection,
    tenant: Tenants,
    policy: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    closing: Closing,
) -> None:
    compared = left_out = unguarded = 0
    for number in range(ROUNDS):
        rng = random.Random(f"moved {policy} {SEED} {number}")
        facts = random_world(policy, rng, 80)
        auth = tenant(policy, facts, root=ROOT_NAME)
        out = tmp_path / f"snapshot{number}"
        mirror_tenant(server, auth.tenant, out, lambda _: None)
        moved_on(auth, policy, rng, facts)
        found = verify(out, auth.check_many, SAMPLE, number, logged(auth))
        assert found.different == [], number
        assert found.compared + len(found.left_out) == SAMPLE
        compared += found.compared
        left_out += len(found.left_out)
        with monkeypatch.context() as patch:
            patch.setattr(Touched, "touches", lambda *_: False)
            try:
                unguarded += len(verify(out, auth.check_many, SAMPLE, number, logged(auth)).different)
            except GrantpathError:  # of something that was dropped
                unguarded += 1
    closing(
        f"verify after changes, {policy}: {compared} compared, {left_out} left out, 0 different; comparing all of them "
        f"{unguarded} would be"
    )
    assert compared > 100 and left_out > 0


def test_verify_after_a_load_or_a_pruning_is_inconsistent(server: Connection, tenant: Tenants, tmp_path: Path) -> None:
    auth = tenant("gravitino", ["add user:a", "add catalog:c"])
    out, table = tmp_path / "snapshot", tmp_path / "tables"
    mirror_tenant(server, auth.tenant, out, print)
    auth.change("add user:b")
    assert verify(out, auth.check_many, 40, 1, logged(auth)).different == []
    with pytest.raises(Inconsistent, match=r"is at revision 3, .* at 2, and the log lacks changes in between"):
        verify(out, auth.check_many, 40, 1)
    table.mkdir()
    (table / "subjects.csv").write_text("ref\nuser:c\n")
    load(auth, table)
    with pytest.raises(Inconsistent, match=r"was changed in bulk since .* \(revision 4: .*\); mirror it again"):
        verify(out, auth.check_many, 40, 1, logged(auth))


def test_hand_over_and_rename_may_change_what_both_names_can(
    server: Connection, tenant: Tenants, tmp_path: Path
) -> None:
    facts = [
        f"add {each}" for each in ("user:lee", "user:kim", "user:ann", "user:cas", "role:r", "catalog:c", "schema:c.s")
    ]
    auth = tenant("gravitino", [*facts, "owner user:lee of catalog:c", "member user:ann of role:r"])
    auth.change("allow USE_CATALOG on catalog:c to role:r")
    out = tmp_path / "snapshot"
    mirror_tenant(server, auth.tenant, out, print)
    for text in ("hand over user:lee to user:kim", "rename role:r to reader", "rename user:ann to bob"):
        auth.change(text)
        assert verify(out, auth.check_many, 300, 1, logged(auth)).different == []
    auth.change("rename schema:c.s to t")
    found = verify(out, auth.check_many, 300, 1, logged(auth))
    assert found.different == [] and found.left_out and found.compared


def test_drop_during_verification_is_skipped_too(server: Connection, tenant: Tenants, tmp_path: Path) -> None:
    auth = tenant("gravitino", ["add user:a", *(f"add catalog:c{at}" for at in range(4))])
    out = tmp_path / "snapshot"
    mirror_tenant(server, auth.tenant, out, print)
    drops = iter(["drop catalog:c0", "drop catalog:c1"])

    def dropping(triples: list[verification.Triple]) -> Any:
        if statement := next(drops, None):
            auth.change(statement)
        return auth.check_many(triples)

    found = verify(out, dropping, 200, 1, logged(auth))
    assert found.different == [] and found.compared > 50
    assert {each.split()[-1] for each in found.left_out} >= {"catalog:c0", "catalog:c1"}


def test_nothing_to_verify_is_an_error(tmp_path: Path) -> None:
    """The policy has operations only on pages, and the root has no existing page."""
    path = tmp_path / "pages.yaml"
    path.write_text(
        "policy: pages\ntypes:\n  site: {}\n  page: {in: site}\n  user: {in: site, kind: user}\n"
        "grants: {to: user, on_missing: true}\nprivileges:\n  READ: {on: page}\noperations:\n  page: {see: READ}\n"
    )
    entities = [Entity("site:s", "site"), Entity("user:u", "user"), Entity("page:p", "page", exists=False)]
    graph = Graph(entities, [], [], [], ["user:u"], ["ALLOW READ"], ["page:p"])
    with building(tmp_path / "out") as folder:
        policy = load_policy(str(path))
        write(folder, "site:s", policy, TenantMarks(1, "", policy.digest), graph, UNUSED, print)
    with pytest.raises(InvalidInput, match=r"nothing to verify: .* has no users, or no objects"):
        verify(tmp_path / "out", lambda _: [], 10, 1)


def past_of(auth: Authorizer) -> verification.Past:
    """Checks at a past revision, as the command line asks them."""

    def checks(_: str | None, revision: int) -> verification.CheckMany:
        past = auth.past(revision)
        return lambda triples: auth.check_many(triples, as_of=past)

    return checks


@pytest.mark.parametrize("policy", others_slow(["gravitino", "cdap"]))
def test_questions_that_later_changes_may_affect_are_compared_with_the_past(
    server: Connection, tenant: Tenants, policy: str, tmp_path: Path, closing: Closing
) -> None:
    compared = 0
    for number in range(ROUNDS):
        rng = random.Random(f"past {policy} {SEED} {number}")
        facts = random_world(policy, rng, 80)
        auth = tenant(policy, facts, root=ROOT_NAME)
        out = tmp_path / f"snapshot{number}"
        mirror_tenant(server, auth.tenant, out, lambda _: None)
        moved_on(auth, policy, rng, facts)
        found = verify(out, auth.check_many, SAMPLE, number, logged(auth), past_of(auth))
        assert (found.different, found.left_out, found.compared) == ([], [], SAMPLE), number
        compared += found.compared
    closing(f"verify after changes, {policy}: {compared} compared with the past where necessary, 0 different")


def test_verify_after_a_load_compares_with_the_past(
    server: Connection, tenant: Tenants, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    auth = tenant("gravitino", ["add user:a", "add catalog:c"])
    out, table = tmp_path / "snapshot", tmp_path / "tables"
    mirror_tenant(server, auth.tenant, out, print)
    table.mkdir()
    (table / "subjects.csv").write_text("ref\nuser:c\n")
    load(auth, table)
    auth.change("drop catalog:c")
    found = verify(out, auth.check_many, 40, 1, logged(auth), past_of(auth))
    assert (found.compared, found.different, found.left_out) == (40, [], [])
    monkeypatch.setattr(delta_records, "BULK", 0)
    auth.change("add user:in_bulk")
    with pytest.raises(Inconsistent, match=r"was changed in bulk since .*; .* cannot be read as of revision 2: entry"):
        verify(out, auth.check_many, 40, 1, logged(auth), past_of(auth))
