"""Remedies in random policies: each is accepted, statement by statement, and allows the check."""

import random
from pathlib import Path

import pytest

from grantpath.engine.memory.memory_authorizer import MemoryAuthorizer, authorizer
from grantpath.engine.policy.policy import Policy
from grantpath.graph.errors import GrantpathError

from ..conftest import Closing
from ..support.random_policies import random_facts
from ..support.sizes import size
from ..support.twin import SEED
from .test_random_policies import Asked, asked, drawn

pytestmark = pytest.mark.trust
POLICIES = size(1_000, 60)
QUESTIONS = size(60, 25)  # of each policy
MISSING = ["user:missing", "robot:missing", "crew:missing"]


def test_remedies_of_random_policies_allow_the_check(tmp_path: Path, closing: Closing) -> None:
    wrong, tried, without = [], 0, 0
    for number in range(POLICIES):
        found = drawn(number, tmp_path, nested=number % 4 == 0)
        if found is None:
            continue
        data, policy = found
        rng = random.Random(f"remedies {SEED} {number}")
        _, said = random_facts(data, rng)
        auth = authorizer(policy, said, root="ml")
        questions = [*asked(data)]
        for subject, name, ref, with_ in rng.sample(questions, min(len(questions), QUESTIONS)):
            missing = [each for each in MISSING if each.partition(":")[0] == subject.partition(":")[0]]
            for who in (subject, *missing):
                question = (who, name, ref, with_)
                remedy = remedy_of(auth, question)
                tried, without = tried + (remedy is not None), without + (remedy == [])
                if remedy and (problem := refusal(policy, said, question, remedy)):
                    wrong.append(f"policy {number}, {question}: {remedy}: {problem}")
    closing(f"random policies: {tried:,} refused checks, {without:,} without a remedy; {len(wrong):,} remedies wrong")
    assert wrong == []


def remedy_of(auth: MemoryAuthorizer, question: Asked) -> list[str] | None:
    """The remedy of a refused check; None if it is allowed or cannot be asked."""
    subject, name, ref, with_ = question
    try:
        explained = auth.explain(subject, name, ref, with_=with_)
    except GrantpathError:
        return None
    return None if explained.allowed else explained.remedy


def refusal(policy: Policy, facts: list[str], question: Asked, remedy: list[str]) -> str:
    """Why a remedy does not help; empty if it does."""
    subject, name, ref, with_ = question
    auth = authorizer(policy, facts, root="ml")
    if problems := [each for each in auth.given(remedy) if each]:
        return "; ".join(problems)
    return "" if auth.check(subject, name, ref, with_=with_) else "the check is still refused"
