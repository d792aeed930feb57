"""A policy with unusual features: check, who, which, a copy in memory and Spark agree on all possible questions."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from grantpath.engine import Authorizer
from grantpath.engine.tenants.tenant_state import read_state
from grantpath.graph.language.statement import Check, Which, Who
from grantpath.spark_sync.bulk.batch_answers import BulkQuestion, answer_many

from ..conftest import Closing, Tenants
from ..support.tiers import others_slow
from ..support.twin import SEED
from ..support.with_replica import replica_of, with_replica

pytestmark = pytest.mark.spark
POLICY = str(Path(__file__).parents[1] / "support" / "odd.yaml")
WORLDS = 2

ROOT = "org:ml"
PEOPLE = ["user:ann", "user:bob", "robot:r"]
GHOST = "user:ghost"  # only a name, on which something is granted; the role that every user holds is not its own
TEAMS, CREWS = ["team:a", "team:b"], ["crew:a", "crew:b"]
PLACES = ["project:p", "project:q", "page:p.x", "page:p.y", "page:q.x"]
INSIDE = ["badge:a.one", "badge:CHIEFS.one", "badge:ALL.one", "pin:a.one.red", "pin:CHIEFS.one.red", "note:a.one"]
BUILTIN = ["crew:CHIEFS", "crew:ALL"]
GRANTED = {
    "READ": [ROOT, *PLACES, *TEAMS, *CREWS, "badge:CHIEFS.one", "note:a.one"],
    "VIEW": [ROOT, *PLACES],
    "WRITE": [ROOT, *PLACES],
    "HERE": [ROOT, *PLACES],
    "DOZING": PLACES,
    "DEEP": [ROOT, "project:p", "project:q"],
}


def possible_facts() -> tuple[list[str], list[str]]:
    """Random statements, mostly memberships; some would close a cycle."""
    members = [f"member {one} of {of}" for one in [*PEOPLE, *TEAMS, *CREWS] for of in [*TEAMS, *CREWS, *BUILTIN[:1]]]
    grants = [
        f"{effect} {privilege} on {on} to {to}"
        for effect in ("allow", "allow", "deny")
        for privilege, places in GRANTED.items()
        for on in places
        for to in [*PEOPLE[:2], *TEAMS, *CREWS, "crew:ALL"]
    ]
    owners = [f"owner {by} of {on}" for on in PLACES for by in ("user:ann", "crew:a")]
    return members, [*grants, *owners, "owner user:bob of team:a", "owner crew:b of crew:a"]


def world(tenants: Tenants, rng: random.Random) -> Authorizer:
    auth = tenants(POLICY, [f"add {ref}" for ref in [*PEOPLE, *TEAMS, *CREWS, *PLACES, *INSIDE]])
    members, others = possible_facts()
    problems = auth.given([*rng.sample(members, 8), *rng.sample(others, 30)])
    auth.change(f"allow MANAGE on {GHOST} to user:ann")
    assert problems.count(None) > 15
    return auth


def questions(auth: Authorizer) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Every name with every object on which it can be asked, and second objects."""
    for on in [ROOT, *PEOPLE, *TEAMS, *CREWS, *BUILTIN, *PLACES, *INSIDE]:
        for name in auth.policy.names_on(on.partition(":")[0]):
            yield name, on, {}
            if name == "link":
                yield name, on, {"other": "page:p.y"}


def with_answers(auth: Authorizer) -> Iterator[tuple[Check | Who | Which, bool | list[str]]]:
    """Every question about a world, with the answer that follows from the checks."""
    names = list(questions(auth))
    checks = [
        Check(subject=subject, name=name, object=on, with_=with_)
        for name, on, with_ in names
        for subject in [*PEOPLE, *CREWS, "crew:CHIEFS", GHOST]
    ]
    decided = list(zip(checks, map(bool, auth.check_many(checks)), strict=True))
    yield from decided
    who: dict[tuple[str, str, str], list[str]] = {}
    which: dict[tuple[str, str, str, str], list[str]] = {}
    for check, yes in decided:
        other, type_ = check.with_.get("other", ""), check.object.partition(":")[0]
        users = who.setdefault((check.name, check.object, other), [])
        objects = which.setdefault((type_, check.subject, check.name, other), [])
        if yes:
            objects.append(check.object)
            users += [check.subject] if check.subject in PEOPLE else []
    for (name, on, other), found in who.items():
        yield Who(name=name, object=on, with_={"other": other} if other else {}), sorted(found)
    for (type_, subject, name, other), found in which.items():
        with_ = {"other": other} if other else {}
        yield Which(type=type_, subject=subject, name=name, with_=with_), sorted(found)


def answered(auth: Authorizer, question: Check | Who | Which) -> bool | list[str]:
    if isinstance(question, Check):
        [decision] = auth.check_many([question])
        return bool(decision)
    if isinstance(question, Who):
        return list(auth.who(question.name, question.object, with_=question.with_))
    return list(auth.which(question.type, question.subject, question.name, with_=question.with_))


@pytest.mark.parametrize("number", others_slow(range(WORLDS)))
def test_every_engine_gives_the_same_answer(tenant: Tenants, closing: Closing, number: int) -> None:
    asked: list[BulkQuestion] = []
    expected: list[bool | list[str]] = []
    differences: list[str] = []
    auth = world(tenant, random.Random(f"odd {SEED} {number}"))
    state, copied = read_state(f"world {number}", auth), with_replica(auth)
    for question, wanted in with_answers(auth):
        asked.append(BulkQuestion(state.id, question))
        expected.append(wanted)
        got = wanted if isinstance(question, Check) else answered(auth, question)
        for name, found in (("Cypher", got), ("the copy", answered(copied, question))):
            if found != wanted:
                differences.append(f"{name}, {asked[-1]}: {found}, the checks say {wanted}")
    assert (replica_of(copied).answered, replica_of(copied).left) == (len(asked), 0)
    for bulk, wanted, answer in zip(asked, expected, answer_many([state], asked, print), strict=True):
        if answer != wanted:
            differences.append(f"Spark, {bulk}: {answer}, the checks say {wanted}")
    closing(f"an odd policy, world {number}: {len(asked):,} questions asked in every way, {len(differences)} different")
    assert sum(map(bool, expected)) > len(expected) / 10
    assert not differences, "\n".join(differences[:20])


def test_name_without_entity_is_not_allowed_anything(tenant: Tenants) -> None:
    auth = world(tenant, random.Random(f"ghost {SEED}"))
    state = read_state("ghost", auth)
    assert [each.exists for each in state.entities if each.ref == GHOST] == [False]
    # an older graph holds names with the role of every user
    join = "MATCH (one:Entity {root: $root, ref: $one}), (role:Entity {root: $root, ref: $role}) "
    join += "CREATE (one)-[:HAS_ROLE]->(role)"
    auth.store.execute(join, {"root": auth.tenant, "one": GHOST, "role": "crew:ALL"})
    checks = [(name, on) for name, on, with_ in questions(auth) if not with_ and on != GHOST]
    assert not any(auth.check_many([(GHOST, name, on) for name, on in checks]))
    assert not [each for each in checks if GHOST in auth.who(*each)]
    for name, on in (("greet", "user:ann"), ("guide", "user:ann"), ("see", "user:ann")):
        explained = auth.explain(GHOST, name, on)
        assert (explained.decision.allowed, explained.paths) == (False, [])
        assert list(auth.which("user", GHOST, name)) == []
    asked = [BulkQuestion("ghost", Check(subject=GHOST, name=name, object=on)) for name, on in checks]
    asked += [BulkQuestion("ghost", Who(name=name, object=on)) for name, on in checks]
    answers = answer_many([read_state("ghost", auth)], asked, print)
    assert not [one for one, answer in zip(asked, answers, strict=True) if answer is True or GHOST in _listed(answer)]
    auth.change(f"add {GHOST}")
    assert auth.check(GHOST, "guide", "user:ann"), "it holds the role of every user now"


def _listed(answer: object) -> list[str]:
    return answer if isinstance(answer, list) else []
