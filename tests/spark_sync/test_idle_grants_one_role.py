"""With one active role, a DENY of another role need not be active: only a grantee's own DENY shadows its ALLOW."""

import random
from itertools import product
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from grantpath.engine.policy.policy import Policy, load
from grantpath.engine.tenants.tenant_state import Entity
from grantpath.spark_sync.bulk.condition_answers import condition_answers
from grantpath.spark_sync.bulk.idle_grants import Idle, idle_grants
from grantpath.spark_sync.bulk.users_by_principal import UsersByPrincipal
from grantpath.spark_sync.mirroring.graph_rows import Graph
from grantpath.spark_sync.mirroring.parallel_reader import TenantMarks
from grantpath.spark_sync.mirroring.snapshot_writer import write
from grantpath.spark_sync.session.snapshot import Snapshot
from grantpath.spark_sync.versions.snapshot_folders import building

from ..support.plain_access import no_spark, write_access
from ..support.sizes import size

pytestmark = pytest.mark.trust
Triple = tuple[str, str, str]
POLICY = """
policy: one_role
types:
  org: {}
  box: {in: org}
  item: {in: box}
  user: {in: org, kind: user}
  role: {in: org, kind: role}
members: {role: "user, role"}
grants: {to: role, deny: true}
ask: {one_role: true}
privileges:
  READ: {on: "org, box, item"}
  OPEN: {on: "org, box, item"}
operations:
  item:
    read: {if: READ and OPEN}
    list: {if: OPEN, all_roles: true}
"""
ROLES = [f"role:r{number}" for number in range(4)]
USERS = [f"user:u{number}" for number in range(4)]
PLACES = ["org:main", "box:a", "box:b", "item:a.x", "item:b.y"]


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    file = tmp_path_factory.mktemp("policy") / "one_role.yaml"
    file.write_text(POLICY)
    return load(str(file))


def answers(policy: Policy, members: list[tuple[str, str]], grants: list[Triple], out: Path) -> tuple[Path, object]:
    """A snapshot with bulk answers, and its answers."""
    refs = [*PLACES, *USERS, *ROLES]
    columns = [[each[at] for each in grants] for at in range(3)]
    graph = Graph(
        [Entity(ref, ref.partition(":")[0]) for ref in refs],
        [member for member, _ in members],
        [role for _, role in members],
        ["HAS_ROLE"] * len(members),
        *columns,
    )
    with building(out) as folder:
        write(folder, "org:main", policy, TenantMarks(1, "", policy.digest), graph, no_spark, lambda line: None)
    write_access(out)
    tables = [pq.read_table(out / "access" / name).to_pylist() for name in ("reach", "exposure")]
    return out, tables


def test_answers_are_the_same_without_dead_and_shadowed_grants(policy: Policy, tmp_path: Path) -> None:
    kinds = dict.fromkeys(Idle, 0)
    for seed in range(size(60, 6)):
        rng = random.Random(seed)
        members = [*rng.sample([*product(USERS, ROLES)], 5), ("role:r0", "role:r1"), ("role:r2", "role:r3")]
        possible = [
            (by, f"{effect} {name}", on)
            for by, effect, name, on in product(ROLES, ("ALLOW", "DENY"), ("READ", "OPEN"), PLACES)
        ]
        grants = rng.sample(possible, 30)
        folder, before = answers(policy, members, grants, tmp_path / f"{seed}")
        source = Snapshot(folder)
        found = condition_answers(source)
        idle = idle_grants(source, found, UsersByPrincipal(source, found.users))
        facts, refs = source.fact_table, source.numbering.refs
        named = {
            (
                refs[facts.principal[row]],
                f"{facts.keys[facts.key[row]].kind.value} {facts.keys[facts.key[row]].privileges[0]}",
                refs[facts.place[row]],
            ): Idle(reason)
            for row, reason in zip(idle.row.tolist(), idle.reason.tolist(), strict=True)
        }
        certain = [grant for grant, reason in named.items() if reason is not Idle.NOTHING_OPEN]
        assert set(named) <= set(grants)
        kept = [grant for grant in grants if grant not in certain]
        assert answers(policy, members, kept, tmp_path / f"{seed}-kept")[1] == before
        for reason in named.values():
            kinds[reason] += 1
    assert kinds[Idle.SHADOWED] > 1 and kinds[Idle.NO_USER] > 1, kinds
