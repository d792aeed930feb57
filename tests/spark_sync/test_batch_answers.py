"""Spark's answers on many tenants at once: every question line of the scenarios, and random worlds of every policy.

The expected answers are the oracle's, which shares no code with the engine.
"""

import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from grantpath.engine.policy.policy import Policy, load
from grantpath.engine.tenants.tenant_state import Edge, Entity, TenantState
from grantpath.graph.errors import GrantpathError, InvalidInput
from grantpath.graph.language.statement import Check, Which, Who, parse_check, parse_question
from grantpath.spark_sync.bulk.batch_answers import BulkQuestion, answer_many
from grantpath.spark_sync.session import spark_session

from ..oracle import Oracle, oracle
from ..oracle.errors import OracleError
from ..oracle.notation import Malformed, Ref
from ..oracle.scenario import ask_line, check_line, read_scenarios, run_line
from ..support.random_world import ROOT_NAME, random_checks, random_world

pytestmark = pytest.mark.spark
SCENARIOS = sorted((Path(__file__).parents[1] / "scenarios").glob("*/*.yaml"))
POLICIES = ["gravitino", "deltastream", "onehouse", "cdap", "cdap_design", "lakehouse"]
SEED = 20260
QUESTIONS = 120

Expected = bool | set[str] | str


@cache
def policy(name: str) -> Policy:
    return load(name)


class Collected:
    """States and questions with the oracle's answers."""

    def __init__(self) -> None:
        self.states: list[TenantState] = []
        self.questions: list[BulkQuestion] = []
        self.expected: list[Expected] = []

    def state(self, world: Oracle) -> str:
        self.states.append(_state(f"state {len(self.states)}", world))
        return self.states[-1].id

    def add(self, state: str, asked: Check | Who | Which, expected: Expected) -> None:
        self.questions.append(BulkQuestion(state, asked))
        self.expected.append(expected)

    def differences(self) -> list[str]:
        got = answer_many(self.states, self.questions, print)
        assert len(got) == len(self.expected)
        return [
            f"{question}: expected {expected}, got {answer}"
            for question, expected, answer in zip(self.questions, self.expected, got, strict=True)
            if _comparable(answer) != expected
        ]


def _comparable(answer: bool | list[str] | GrantpathError) -> Expected:
    if isinstance(answer, GrantpathError):
        return "error"
    if isinstance(answer, list):
        assert answer == sorted(set(answer), key=str.encode)
        return set(answer)
    return answer


def _state(name: str, world: Oracle) -> TenantState:
    fresh = oracle(world.policy, world.root.segments[0]).existing
    granted = {on for _, _, on, _ in world.grants}
    listed = {member for member, those in world.containers.items() if those}
    entities = [_entity(ref, ref in world.existing, ref in fresh) for ref in world.existing | granted | listed]
    edges = [
        Edge("HAS_ROLE" if container.type == "role" else "MEMBER_OF", str(member), str(container))
        for member, containers in world.containers.items()
        for container in containers
    ]
    edges += [Edge("OWNS", str(owner), str(owned)) for owned, owner in world.owners.items()]
    edges += [Edge("TAGGED", str(tagged), str(tag)) for tagged, tag in world.tags]
    edges += [Edge(effect.upper(), str(by), str(on), privilege) for effect, privilege, on, by in world.grants]
    return TenantState(name, policy(world.policy), str(world.root), entities, edges)


def _entity(ref: Ref, exists: bool, builtin: bool) -> Entity:
    return Entity(str(ref), ref.type, exists, builtin)


def _outcome(ask: Any, *words: Any) -> Any:
    try:
        return ask(*words)
    except (OracleError, Malformed):
        return "error"


def test_questions_of_the_scenarios_have_the_answers_of_the_oracle() -> None:
    spark_session.engine(print)
    collected = Collected()
    for path in SCENARIOS:
        for document in read_scenarios(path):
            world = oracle(document["policy"], document["root"])
            for fact in document.get("given", []):
                assert world.given(fact) == "done", fact
            state = collected.state(world)
            for line in document["then"]:
                if isinstance(line, dict) and "do" in line:
                    run_line(world, line)
                    state = collected.state(world)
                    continue
                text = line if isinstance(line, str) else line.get("check") or line["ask"]
                if text.startswith(("who ", "which ")):
                    collected.add(state, parse_question(text), _outcome(ask_line, world, text))
                else:
                    answer = _outcome(check_line, world, text)
                    collected.add(state, parse_check(text)[0], answer if answer == "error" else answer[1])
    assert len(collected.questions) > 300
    assert collected.differences() == []


@pytest.mark.slow
def test_random_worlds_have_the_answers_of_the_oracle() -> None:
    print(f"seed {SEED}")
    collected = Collected()
    for at, name in enumerate(POLICIES * 2):
        rng = random.Random(SEED + at)
        world = oracle(name, ROOT_NAME)
        for fact in random_world(name, rng, 120):
            assert world.given(fact) == "done"
        state = collected.state(world)
        for subject, asked, object_, with_, role in random_checks(world, rng, QUESTIONS):
            check = Check(subject=subject, name=asked, object=object_, with_=with_, as_role=role)
            collected.add(state, check, _outcome(world.check, subject, asked, object_, with_, role))
            if rng.random() < 0.3:
                who = Who(name=asked, object=object_, with_=with_)
                collected.add(state, who, _outcome(world.who, asked, object_, with_))
                type_ = object_.partition(":")[0]
                which = Which(type=type_, subject=subject, name=asked, with_=with_, as_role=role)
                collected.add(state, which, _outcome(world.which, type_, subject, asked, with_, role))
    yes = sum(bool(expected) and expected != "error" for expected in collected.expected)
    assert yes > len(collected.expected) / 5
    assert collected.differences() == []


def test_bad_question_does_not_affect_others() -> None:
    entities = [Entity("metalake:m", "metalake"), Entity("user:a", "user"), Entity("catalog:c", "catalog")]
    state = TenantState("s", policy("gravitino"), "metalake:m", entities, [Edge("OWNS", "user:a", "catalog:c")])
    good = Check(subject="user:a", name="load_catalog", object="catalog:c")
    bad = Check(subject="user:a", name="lode_catalog", object="catalog:c")
    absent = Check(subject="user:b", name="load_metalake", object="metalake:m")
    answers = answer_many([state], [BulkQuestion("s", each) for each in (good, bad, absent)], print)
    assert answers[0] is True
    assert isinstance(answers[1], GrantpathError) and "load_catalog" in str(answers[1])
    assert answers[2] is False
    with pytest.raises(InvalidInput, match="unknown state 't'"):
        answer_many([state], [BulkQuestion("t", good)], print)
