"""Check = who = which = Spark = oracle on random tenants: at least DECISIONS a policy, 0 different."""

from dataclasses import dataclass, field

import pytest

from grantpath.engine.scenario import Moment
from grantpath.graph.errors import GrantpathError
from grantpath.graph.statement import Check, Which, Who

from .agreement import POLICIES, SEED, Answer, Twin
from .conftest import Tenants

DECISIONS = 20_000
SIZES = (40, 160, 400)  # facts in a world, in turn
CHECKS = 250  # in a batch


@dataclass
class Grown:
    """The worlds of one policy, with every question asked in them and the oracle's answer."""

    decisions: int = 0
    allowed: int = 0
    errors: int = 0
    moments: list[Moment] = field(default_factory=list)
    questions: list[tuple[str, Check | Who | Which]] = field(default_factory=list)
    expected: list[Answer] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)

    def add(self, twin: Twin) -> None:
        id_ = twin.label
        facts = twin.graph.ask("state")
        self.moments.append(Moment(id_, twin.graph.policy, str(twin.graph.root), facts["entities"], facts["edges"]))
        self.questions += [(id_, question) for question, _ in twin.questions]
        self.expected += [answer for _, answer in twin.questions]
        self.decisions += len(twin.decided)
        self.allowed += twin.allowed
        self.errors += twin.errors
        if twin.differences:
            self.differences.append(twin.report())


@pytest.fixture(scope="module")
def grown(module_tenant: Tenants) -> dict[str, Grown]:
    """By policy, what its worlds were asked; each policy's worlds are grown by the first test that needs them."""
    return {}


def worlds(policy: str, tenants: Tenants, grown: dict[str, Grown]) -> Grown:
    """Random worlds in which Cypher and the oracle have decided DECISIONS times."""
    if policy in grown:
        return grown[policy]
    all_ = grown[policy] = Grown()
    while all_.decisions < DECISIONS and not all_.differences:
        number = len(all_.moments)
        twin = Twin(tenants, policy, f"{SEED}.{number}", SIZES[number % len(SIZES)])
        twin.say_bad_ones(30)
        for _ in range(4):
            twin.check_random(CHECKS)
        twin.list_everything()
        twin.explain_some(10)
        twin.ask_wrongly(100)
        all_.add(twin)
    return all_


@pytest.mark.parametrize("policy", POLICIES)
def test_cypher_agrees(module_tenant: Tenants, grown: dict[str, Grown], policy: str) -> None:
    found = worlds(policy, module_tenant, grown)
    print(
        f"{policy}, Cypher: {found.decisions} decisions in {len(found.moments)} worlds, {found.allowed} of them yes, "
        f"{found.errors} questions that are errors to both; seed {SEED}"
    )
    assert not found.differences, "\n".join(found.differences)
    assert found.allowed > found.decisions // 50
    assert found.errors > 50


@pytest.mark.spark
@pytest.mark.parametrize("policy", POLICIES)
def test_spark_agrees(module_tenant: Tenants, grown: dict[str, Grown], policy: str) -> None:
    from grantpath.engine.cli_test import answer_by_spark

    found = worlds(policy, module_tenant, grown)
    got = [_comparable(answer) for answer in answer_by_spark(found.moments, found.questions)]
    wrong = [
        f"{world}: {question}: the oracle says {wanted}, Spark {answer}"
        for (world, question), wanted, answer in zip(found.questions, found.expected, got, strict=True)
        if wanted != answer
    ]
    print(f"{policy}, Spark: {found.decisions} decisions in {len(got)} answers; seed {SEED}")
    assert not wrong, f"{len(wrong)} differences:\n" + "\n".join(wrong[:10])


def _comparable(answer: bool | list[str] | GrantpathError) -> Answer:
    return "error" if isinstance(answer, GrantpathError) else answer
