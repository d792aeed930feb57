"""A grant that works through a tag is never called dead or shadowed: the conditions on the tag itself do not show what
it gives."""

import json
import random
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from grantpath.engine.policy.policy import Policy, load
from grantpath.engine.tenants.tenant_state import Entity
from grantpath.spark_sync.bulk.condition_answers import condition_answers
from grantpath.spark_sync.bulk.idle_grants import Idle, IdleGrants, idle_grants
from grantpath.spark_sync.bulk.users_by_principal import UsersByPrincipal
from grantpath.spark_sync.mirroring.graph_rows import Graph
from grantpath.spark_sync.mirroring.parallel_reader import TenantMarks
from grantpath.spark_sync.mirroring.snapshot_writer import write
from grantpath.spark_sync.reporting.report_page import report
from grantpath.spark_sync.session.snapshot import Snapshot
from grantpath.spark_sync.versions.snapshot_folders import building

from ..oracle.language import Grant, Language, World, questions, type_of
from ..support.plain_access import no_spark, write_access
from ..support.sizes import say, size

pytestmark = pytest.mark.trust
POLICY: dict[str, Any] = {
    "policy": "by_tag",
    "types": {
        "org": {},
        "box": {"in": "org, box"},
        "table": {"in": "org, box"},
        "shelf": {"in": "org"},
        "tag": {"in": "shelf"},
        "mark": {"in": "org"},
        "user": {"in": "org", "kind": "user"},
        "role": {"in": "org", "kind": "role"},
    },
    "tags": {"tag": {"on": "box, table"}, "mark": {"on": "box, table", "inherited": False}},
    "members": {"role": "user"},
    "grants": {"to": "user, role", "deny": True},
    "privileges": {
        "READ": {"on": ["org", "box", "table", "shelf", "tag", "mark"]},
        "SEAL": {"on": ["shelf", "tag"]},
    },
    "operations": {"box": {"open": "READ"}, "table": {"read": "READ"}, "tag": {"inspect": "READ and SEAL"}},
}
USERS = ["user:ann", "user:bob", "user:cas"]
ROLES = ["role:reader", "role:barred", "role:ghost"]
PLACES = [
    "org:main",
    "box:a",
    "box:a.b",
    "box:c",
    "table:a.b.t",
    "table:c.u",
    "shelf:s",
    "tag:s.pii",
    "tag:s.key",
    "mark:raw",
]


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    file = tmp_path_factory.mktemp("policy") / "by_tag.yaml"
    file.write_text(json.dumps(POLICY))
    return load(str(file))


def judged(policy: Policy, world: World, out: Path) -> tuple[dict[Grant, Idle], IdleGrants]:
    """The reason of each grant without effect, in a snapshot of these facts."""
    members = [(member, role) for member, roles in world.containers.items() for role in roles]
    facts = [(by, f"{effect.upper()} {name}", on) for effect, name, on, by in world.grants]
    facts += [(tag, "TAGGED", tagged) for tagged, tag in world.tags]
    given = {
        (by, f"{effect.upper()} {name}#{type_of(tag)}", tagged)
        for effect, name, on, by in world.grants
        for tagged, tag in world.tags
        if tag == on and f"{name}#{type_of(tag)}" in policy.names.by_tag
    }
    columns = [[each[at] for each in (*facts, *sorted(given))] for at in range(3)]
    graph = Graph(
        [Entity(ref, type_of(ref)) for ref in world.existing],
        [member for member, _ in members],
        [role for _, role in members],
        ["HAS_ROLE"] * len(members),
        *columns,
    )
    with building(out) as folder:
        write(folder, "org:main", policy, TenantMarks(1, "", policy.digest), graph, no_spark, lambda line: None)
    write_access(out)
    source = Snapshot(out)
    answers = condition_answers(source)
    found = idle_grants(source, answers, UsersByPrincipal(source, answers.users))
    keys, refs = source.fact_table.keys, source.numbering.refs
    named = {
        (
            keys[source.fact_table.key[row]].kind.value.lower(),
            keys[source.fact_table.key[row]].privileges[0],
            refs[source.fact_table.place[row]],
            refs[source.fact_table.principal[row]],
        ): Idle(reason)
        for row, reason in zip(found.row.tolist(), found.reason.tolist(), strict=True)
    }
    return named, found


def answers(world: World, grants: set[Grant]) -> set[tuple[str, str, str]]:
    """All that is allowed to a user, by the language as docs/writing-a-policy.md describes it."""
    language = Language(POLICY, World(world.existing, world.containers, {}, grants, world.tags), "org:main")
    asked = [*questions(POLICY, sorted(world.existing))]
    return {
        (who, name, ref)
        for who, (name, ref, second) in product(USERS, asked)
        if not second and language.check(who, name, ref, {})
    }


def test_grant_that_works_only_through_its_tag_is_not_dead(policy: Policy, tmp_path: Path) -> None:
    grants = {("allow", "READ", "tag:s.pii", "user:ann")}
    world = World({*PLACES, *USERS, *ROLES}, {}, {}, grants, {("table:c.u", "tag:s.pii")})
    named, found = judged(policy, world, tmp_path / "live")
    assert ("user:ann", "read", "table:c.u") in answers(world, grants) - answers(world, set())
    assert (named, found.grants, found.on_tags, found.unanswered) == ({}, 1, 1, 0)
    page = report(tmp_path / "live", tmp_path / "report.html").file.read_text(encoding="utf-8")
    assert (
        "Not judged: grants on tags that hold for what has the tag (1 in all)" in page
        and "no bulk answers here" not in page
    )


def test_grant_is_not_shadowed_by_a_deny_above_its_tag(policy: Policy, tmp_path: Path) -> None:
    grants = {("allow", "READ", "tag:s.key", "user:ann"), ("deny", "READ", "shelf:s", "user:ann")}
    world = World({*PLACES, *USERS, *ROLES}, {}, {}, grants, {("table:c.u", "tag:s.key")})
    named, found = judged(policy, world, tmp_path / "live")
    assert (named, found.grants, found.on_tags, found.unanswered) == ({}, 2, 1, 0)


def test_answers_are_the_same_without_dead_and_shadowed_grants(
    policy: Policy, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kinds, allowed = dict.fromkeys(Idle, 0), 0
    possible = [*product(("allow", "allow", "deny"), ("READ", "SEAL"), PLACES, [*USERS, *ROLES])]
    possible = [each for each in possible if type_of(each[2]) in POLICY["privileges"][each[1]]["on"]]
    taggable = [*product(PLACES[1:6], PLACES[7:])]
    for seed in range(size(80, 8)):
        rng = random.Random(seed)
        members = {who: {*rng.sample(ROLES[:2], rng.randint(0, 2))} for who in USERS}
        grants = {*rng.sample(possible, 20)}
        world = World({*PLACES, *USERS, *ROLES}, members, {}, grants, {*rng.sample(taggable, 5)})
        named, found = judged(policy, world, tmp_path / str(seed))
        tags = {each for each in grants if type_of(each[2]) in POLICY["tags"] and each[1] == "READ"}
        assert named.keys() <= grants - tags
        assert (found.grants, found.on_tags, found.unanswered) == (len(grants), len(tags), 0)
        before = answers(world, grants)
        certain = {grant for grant, reason in named.items() if reason is not Idle.NOTHING_OPEN}
        assert answers(world, grants - certain) == before
        for grant in named:
            after = answers(world, grants - {grant})
            assert {each for each in before ^ after if not each[1].isupper()} == set(), grant
            assert after == before or grant not in certain, grant
            kinds[named[grant]] += 1
        allowed += len(before)
    assert kinds[Idle.SHADOWED] > 1 and kinds[Idle.NO_USER] > 1, kinds
    say(capsys, f"tags: {allowed:,} answers are the same without {sum(kinds.values())} dead and shadowed grants")
