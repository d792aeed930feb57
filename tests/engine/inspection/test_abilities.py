"""`can` gives the oracle's answer for each name: for users, and for groups and roles as a new user in only them."""

import random
from pathlib import Path

import pytest

from grantpath.engine.inspection.models import Abilities
from grantpath.graph.language.reference import Reference

from ...conftest import Closing, Tenants
from ...oracle import Oracle
from ...support.sizes import size
from ...support.twin import POLICIES, SEED, Twin

pytestmark = pytest.mark.trust
FACTS, PAIRS = size(400, 90), size(200, 40)
NEW = "user:brand-new"


def new_user_in(world: Oracle, container: str) -> Oracle:
    """The same world with a new user whose only membership is this one."""
    changed = world.clone()
    assert changed.given(f"add {NEW}") == "done"
    assert changed.given(f"member {NEW} of {container}") == "done"
    return changed


def likely_object(twin: Twin, subject: str) -> str:
    """Mostly an object on which the subject has a grant, or which it owns, directly or through others."""
    reached = twin.world.reach(twin.world.resolve(subject))
    held = {str(place) for _, _, place, to in twin.world.grants if to in reached}
    held |= {str(place) for place, owner in twin.world.owners.items() if owner in reached}
    held &= set(twin.world.objects())
    return twin.rng.choice(sorted(held) if held and twin.rng.random() < 0.8 else twin.world.objects())


def second_objects(twin: Twin, object_: str) -> dict[str, str]:
    """An object for each key that an operation on the object takes, in the place that the policy requires."""
    policy, type_ = twin.graph.policy, object_.partition(":")[0]
    keys = {key: of for _, takes in twin.world.names_on(type_) for key, of in takes.items()}
    within = {
        key: entry.inside
        for (_, on), operation in policy.names.operations.items()
        if on == type_
        for key, entry in operation.with_.items()
        if entry.inside
    }
    objects = {
        key: [
            ref for ref in twin.world.objects(of) if place(twin, ref, within, key) == place(twin, object_, within, key)
        ]
        for key, of in keys.items()
    }
    return {key: twin.rng.choice(found) for key, found in objects.items() if found}


def place(twin: Twin, text: str, within: dict[str, str], key: str) -> Reference | None:
    """The object above this one in which a second object must be, too; None if it can be anywhere."""
    policy, root = twin.graph.policy, twin.graph.root
    return policy.place_of(within[key], policy.reference(text, root), root) if key in within else None


def different(twin: Twin, asked: str, world: Oracle, subject: str, found: Abilities, role: str | None) -> list[str]:
    """The names with another answer than the oracle's."""
    operations = twin.graph.policy.names.operations
    type_ = found.question.object.partition(":")[0]
    wrong = []
    for each in found.answer:
        takes = operations[each.name, type_].with_ if (each.name, type_) in operations else {}
        with_ = {key: ref for key, ref in found.question.with_.items() if key in takes}
        needs = {key: entry.type for key, entry in takes.items() if key not in with_ and not entry.optional}
        expected = None if needs else world.check(subject, each.name, found.question.object, with_, role)
        if (each.allowed, each.needs) != (expected, needs):
            wrong.append(f"{asked} {each.name} on {found.question.object} with {with_}: {each}, not {expected}")
    return wrong


@pytest.mark.parametrize("policy", POLICIES)
def test_abilities_are_those_of_the_oracle(module_tenant: Tenants, closing: Closing, policy: str) -> None:
    twin = Twin(module_tenant, policy, f"{SEED}.can", FACTS)
    subjects = [ref for ref in twin.world.subjects() if ref not in twin.graph.policy.hidden]
    kinds = {kind: [ref for ref in subjects if ref.startswith(f"{kind}:")] for kind in ("user", "group", "role")}
    wrong, decided, yes = [], 0, {"user": 0, "group": 0, "role": 0}
    number = 0
    while number < PAIRS or (number < 5 * PAIRS and not all(yes[kind] for kind, found in kinds.items() if found)):
        number += 1
        kind = twin.rng.choice([kind for kind, found in kinds.items() if found])
        subject = twin.rng.choice(kinds[kind])
        object_ = likely_object(twin, subject)
        role = twin.rng.choice(kinds["role"]) if twin.world.active_roles and number % 3 == 0 else None
        given = second_objects(twin, object_) if number % 2 else {}
        found = twin.graph.can(subject, object_, with_=given, as_role=role)
        assert [each.name for each in found.answer] == sorted(twin.graph.policy.names_on(object_.partition(":")[0]))
        same = kind == "user" or kind in twin.graph.policy.file.ask.subjects
        world, asker = (twin.world, subject) if same else (new_user_in(twin.world, subject), NEW)
        wrong += different(twin, subject, world, asker, found, role)
        decided += sum(each.allowed is not None for each in found.answer)
        yes[kind] += len(found.allowed)
    closing(f"can, {policy}: {decided:,} answers of {number} pairs, {yes} yes, {len(wrong)} other than the oracle's")
    assert not wrong, "\n".join(wrong[:10])
    assert all(number for kind, number in yes.items() if kinds[kind]), yes


@pytest.mark.parametrize("policy", ["deltastream", "cdap", "cdap_design"])
def test_role_that_checks_are_about_has_the_answers_of_check(tenant: Tenants, policy: str) -> None:
    twin = Twin(tenant, policy, f"{SEED}.check", FACTS)
    rng, yes = random.Random(SEED), 0
    roles = [ref for ref in twin.world.subjects() if ref.startswith("role:")]
    for _ in range(10):
        role = rng.choice(roles)
        object_ = likely_object(twin, role)
        for each in twin.graph.can(role, object_).answer:
            if each.allowed is not None:
                assert each.allowed == twin.graph.check(role, each.name, object_).allowed
                yes += each.allowed
    assert yes


SELVES = """\
policy: selves
types:
  org: {}
  user: {in: org, kind: user}
  team: {in: org, kind: group}
members: {team: "user, team"}
grants: {to: "user, team"}
privileges:
  READ: {on: "org, team"}
operations:
  team: {see: READ, join: "holds(team)", wave: everyone}
"""


def test_group_is_not_the_user_that_a_condition_means(tenant: Tenants, tmp_path: Path) -> None:
    """A new user who belongs only to a team is not the team itself, but belongs to it."""
    (tmp_path / "selves.yaml").write_text(SELVES)
    auth = tenant(str(tmp_path / "selves.yaml"), ["member user:u of team:t", "member team:t of team:outer"])
    assert auth.can("team:t", "team:t").allowed == ("join", "wave")
    assert auth.can("team:t", "team:outer").allowed == ("join", "wave")
    assert auth.can("team:outer", "team:t").allowed == ("wave",)
    auth.change("allow READ on team:t to team:outer")
    assert auth.can("team:t", "team:t").allowed == ("READ", "join", "see", "wave")
    assert auth.can("user:u", "team:t").allowed == auth.can("team:t", "team:t").allowed
