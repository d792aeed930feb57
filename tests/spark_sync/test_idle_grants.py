"""Dead and shadowed grants agree with their definitions, and the oracle gives the same answers without them."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from grantpath.spark_sync.bulk.condition_answers import condition_answers
from grantpath.spark_sync.bulk.idle_grants import Idle, IdleGrants, idle_grants
from grantpath.spark_sync.bulk.users_by_principal import UsersByPrincipal
from grantpath.spark_sync.session.snapshot import Snapshot

from ..oracle import Oracle, oracle
from ..oracle.facts import Grant
from ..support.plain_access import write_access, write_snapshot
from ..support.random_world import ROOT_NAME, random_checks, random_world
from ..support.sizes import say, size
from ..support.small_estate import POLICIES

pytestmark = pytest.mark.trust
Answers = set[tuple[str, str, str]]


def world(policy: str, seed: int) -> Oracle:
    """A random root, with more grants: to grantees without users, and DENY at every level. No grants that hold for what
    has a tag, because they are not judged."""
    rng = random.Random(seed)
    made = oracle(policy, ROOT_NAME)
    for fact in random_world(policy, rng, 80, tags=False):
        if " on tag:" not in fact or "APPLY_TAG" in fact:
            assert made.given(fact) == "done"
    grantees = [ref for ref in sorted(map(str, made.existing)) if ref.partition(":")[0] in made.grantees]
    privileges = sorted(made.privileges)
    for _ in range(60):
        effect = rng.choice(["allow", "allow", "deny"])
        privilege = rng.choice(privileges)
        types = {each for each in made.privileges[privilege] if each != "tag" or privilege == "APPLY_TAG"}
        objects = sorted(str(ref) for ref in made.existing if ref.type in types)
        if objects:
            made.given(f"{effect} {privilege} on {rng.choice(objects)} to {rng.choice(grantees)}")
    allowed = sorted((grant for grant in made.grants if grant[0] == "allow"), key=str)
    for _, privilege, on, by in rng.sample(allowed, min(10, len(allowed))):
        made.given(f"deny {privilege} on {rng.choice(made.upward(on))} to {rng.choice([str(by), *grantees])}")
    return made


def judged(made: Oracle, folder: Path) -> tuple[dict[Grant, Idle], IdleGrants]:
    """The reason of each grant without effect."""
    source = Snapshot(write_access(write_snapshot(made, folder)))
    answers = condition_answers(source)
    found = idle_grants(source, answers, UsersByPrincipal(source, answers.users))
    facts, refs = source.fact_table, source.numbering.refs
    reasons = {}
    for row, reason in zip(found.row.tolist(), found.reason.tolist(), strict=True):
        key = facts.keys[facts.key[row]]
        on, by = made.resolve(refs[facts.place[row]]), made.resolve(refs[facts.principal[row]])
        reasons[key.kind.value.lower(), key.privileges[0], on, by] = Idle(reason)
    return reasons, found


def without(made: Oracle, grants: set[Grant]) -> Oracle:
    other = made.clone()
    other.grants -= grants
    return other


def answers(made: Oracle) -> Answers:
    """All that is allowed to a user: privileges, and operations without second objects."""
    people = [str(each) for each in made.existing if each.type in made.people]
    return {
        (who, name, ref)
        for type_ in made.types
        for name, keys in made.names_on(type_)
        for who in people
        if not keys
        for ref in made.which(type_, who, name)
    }


def operations(allowed: Answers) -> Answers:
    return {each for each in allowed if not each[1].isupper()}


def users_of(made: Oracle, grant: Grant) -> Iterator[set[object]]:
    """For each existing user that has the grant: all of its effective principals."""
    for each in made.existing:
        if each.type in made.people and not made.hidden(each) and grant[3] in (reach := made.reach(each)):
            yield {*reach}


def is_denied(made: Oracle, grant: Grant, held: set[object]) -> bool:
    _, privilege, on, _ = grant
    places = made.upward(on)
    return any(
        effect == "deny" and name == privilege and place in places and by in held
        for effect, name, place, by in made.grants
    )


@pytest.mark.parametrize("policy", POLICIES)
def test_answers_are_the_same_without_dead_and_shadowed_grants(
    policy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(5)
    removed = allowed = 0
    for seed in range(size(12, 1)):
        made = world(policy, seed)
        reasons, found = judged(made, tmp_path / str(seed))
        assert (found.grants, found.on_tags, found.unanswered) == (len(made.grants), 0, 0)
        before = answers(made)
        certain = {grant for grant, reason in reasons.items() if reason is not Idle.NOTHING_OPEN}
        less = without(made, certain)
        assert answers(less) == before
        assert operations(answers(without(made, set(reasons)))) == operations(before)
        for grant in rng.sample(sorted(reasons, key=str), min(size(8, 2), len(reasons))):
            after = answers(without(made, {grant}))
            assert operations(after) == operations(before), grant
            assert after == before or grant not in certain, grant
        for check in random_checks(made, rng, size(400, 60)):  # with second objects and active roles, too
            if made.resolve(check[2]) in made.existing:  # a name may hold grants before its object exists
                assert made.check(*check) == less.check(*check), check
        removed, allowed = removed + len(reasons), allowed + len(before)
    say(capsys, f"{policy}: {allowed:,} answers are the same without {removed:,} dead and shadowed grants")


@pytest.mark.parametrize("policy", ["gravitino", "lakehouse"])
def test_shadowed_grants_are_those_of_the_definition(policy: str, tmp_path: Path) -> None:
    shadowed = kept = 0
    for seed in range(size(12, 3)):
        made = world(policy, seed)
        reasons, _ = judged(made, tmp_path / str(seed))
        for grant in made.grants:
            held = [*users_of(made, grant)]
            assert (reasons.get(grant) is Idle.NO_USER) is (not held), grant
            if grant[0] == "allow" and held and reasons.get(grant) is not Idle.NO_OBJECT:
                expected = all(is_denied(made, grant, each) for each in held)
                assert (reasons.get(grant) is Idle.SHADOWED) is expected, grant
                shadowed, kept = shadowed + expected, kept + (not expected)
    assert shadowed >= 3 and kept > 30


SMALL = [
    "add catalog:hr",
    "add schema:hr.s",
    "add table:hr.s.t",
    *(f"add user:{name}" for name in ("ann", "bob", "cas")),
    *(f"add role:{name}" for name in ("reader", "barred", "ghost", "half")),
    "member user:ann of role:reader",
    "member user:bob of role:reader",
    "member user:cas of role:half",
    "allow USE_CATALOG on catalog:hr to role:reader",
    "allow USE_SCHEMA on schema:hr.s to role:reader",
    "allow SELECT_TABLE on table:hr.s.t to role:ghost",
    "allow SELECT_TABLE on table:hr.s.t to role:reader",
    "allow CREATE_TABLE on catalog:hr to role:half",
    "deny SELECT_TABLE on schema:hr.s to role:barred",
    "member user:ann of role:barred",
]


def small(tmp_path: Path, *more: str) -> dict[str, Idle]:
    made = oracle("gravitino", ROOT_NAME)
    assert {made.given(fact) for fact in (*SMALL, *more)} == {"done"}
    return {f"{g[0]} {g[1]} to {g[3]}": reason for g, reason in judged(made, tmp_path / "small")[0].items()}


def test_grant_is_shadowed_only_if_each_of_its_users_is_denied(tmp_path: Path) -> None:
    one_denied = small(tmp_path / "one")
    assert one_denied == {
        "allow SELECT_TABLE to role:ghost": Idle.NO_USER,
        "allow CREATE_TABLE to role:half": Idle.NOTHING_OPEN,  # USE_CATALOG is missing
    }
    both_denied = small(tmp_path / "both", "member user:bob of role:barred")
    assert both_denied == {**one_denied, "allow SELECT_TABLE to role:reader": Idle.SHADOWED}


def test_grants_on_names_without_objects_are_dead(tmp_path: Path) -> None:
    made = oracle("cdap", ROOT_NAME)
    facts = ["add user:ann", "allow READ on namespace:nowhere to user:ann", "allow ADMIN on instance:main to user:ann"]
    assert {made.given(fact) for fact in facts} == {"done"}
    reasons, _ = judged(made, tmp_path / "cdap")
    assert {grant[1]: reason for grant, reason in reasons.items()} == {"READ": Idle.NO_OBJECT}


def test_grants_whose_names_have_no_answers_are_counted_as_not_judged(tmp_path: Path) -> None:
    made = oracle("gravitino", ROOT_NAME)
    assert {made.given(fact) for fact in SMALL} == {"done"}
    source = Snapshot(write_access(write_snapshot(made, tmp_path / "some"), ["load_table"]))
    answers = condition_answers(source)
    found = idle_grants(source, answers, UsersByPrincipal(source, answers.users))
    assert (found.reason.tolist(), found.unanswered) == ([Idle.NO_USER], 3)
