"""Check, who, which, Spark and the oracle give the same decisions on random tenants of every policy."""

from dataclasses import dataclass, field

import pytest

from grantpath.engine.tenants.tenant_state import TenantState, read_state
from grantpath.graph.errors import GrantpathError
from grantpath.graph.language.statement import Check, Which, Who

from ..conftest import Closing, Tenants
from ..support.sizes import size
from ..support.tiers import others_slow
from ..support.twin import POLICIES, SEED, Answer, Twin

pytestmark = pytest.mark.trust

DECISIONS = size(full=20_000, short=8_000)  # at least, for each policy
FEWER = 1_000  # in `make test`
SIZES: tuple[int, ...] = (40, 160, 500)  # facts in each world of a policy
FEWER_FACTS: tuple[int, ...] = (80,)  # in `make test`
CHECKS = 500  # in a batch; half of them in `make test`
ROUNDS = 6  # of lists in the largest world, at most


@dataclass
class Grown:
    """The worlds of one policy, with all questions and the oracle's answers."""

    decisions: int = 0
    allowed: int = 0
    errors: int = 0
    states: list[TenantState] = field(default_factory=list)
    questions: list[tuple[str, Check | Who | Which]] = field(default_factory=list)
    expected: list[Answer] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)

    def add(self, twin: Twin) -> None:
        self.states.append(read_state(twin.label, twin.graph))
        self.questions += [(twin.label, question) for question, _ in twin.questions]
        self.expected += [answer for _, answer in twin.questions]
        self.decisions += len(twin.decided)
        self.allowed += twin.allowed
        self.errors += twin.errors
        if twin.differences:
            self.differences.append(twin.report())


class Worlds:
    """By policy, its worlds with questions; the first test that needs them creates them."""

    def __init__(self, tenants: Tenants, full: bool) -> None:
        self.tenants = tenants
        self.decisions = DECISIONS if full else FEWER
        self.sizes = SIZES if full else FEWER_FACTS
        self.checks = CHECKS if full else CHECKS // 2
        self.grown: dict[str, Grown] = {}

    def of(self, policy: str) -> Grown:
        if policy not in self.grown:
            self.grown[policy] = self._grow(policy)
        return self.grown[policy]

    def _grow(self, policy: str) -> Grown:
        """Decisions of Cypher and the oracle; more lists of the largest world complete their number."""
        all_ = Grown()
        for number, facts in enumerate(self.sizes):
            twin = Twin(self.tenants, policy, f"{SEED}.{number}", facts)
            twin.say_bad_ones(30)
            for _ in range(2):
                twin.check_random(self.checks)
            twin.list_everything()
            twin.explain_some(10)
            twin.ask_wrongly(100)
            for _ in range(ROUNDS if facts == max(self.sizes) else 0):
                if all_.decisions + len(twin.decided) < self.decisions:
                    twin.list_everything()
            all_.add(twin)
        return all_


@pytest.fixture(scope="module")
def worlds(module_tenant: Tenants, pytestconfig: pytest.Config) -> Worlds:
    return Worlds(module_tenant, full=pytestconfig.option.all)


@pytest.mark.parametrize("policy", others_slow(POLICIES))  # test_changes.py checks small worlds of every policy
def test_cypher_agrees(worlds: Worlds, closing: Closing, policy: str) -> None:
    found = worlds.of(policy)
    closing(
        f"agreement, {policy}: Cypher and the oracle in {found.decisions:,} decisions, {found.allowed:,} answers yes, "
        f"{found.errors} questions that are errors to both, {len(found.differences)} worlds different; seed {SEED}"
    )
    assert not found.differences, "\n".join(found.differences)
    assert found.decisions >= worlds.decisions
    assert found.allowed > found.decisions // 50
    assert found.errors > 50


@pytest.mark.spark
@pytest.mark.slow  # tests/spark_sync/test_batch_answers.py asks Spark about smaller worlds
def test_spark_agrees(worlds: Worlds, closing: Closing) -> None:
    """The worlds of all policies in one run of Spark."""
    from grantpath.engine.cli.admin.scenario_command import answer_by_spark

    every = [worlds.of(policy) for policy in POLICIES]
    states = [state for found in every for state in found.states]
    questions = [question for found in every for question in found.questions]
    expected = [answer for found in every for answer in found.expected]
    got = [_comparable(answer) for answer in answer_by_spark(states, questions)]
    wrong = [
        f"{world}: {question}: the oracle says {wanted}, Spark {answer}"
        for (world, question), wanted, answer in zip(questions, expected, got, strict=True)
        if wanted != answer
    ]
    closing(
        f"agreement: Spark and the oracle in the same {sum(found.decisions for found in every):,} decisions, "
        f"{len(wrong)} of {len(got):,} answers different; seed {SEED}"
    )
    assert all(found.decisions >= worlds.decisions for found in every)
    assert not wrong, f"{len(wrong)} differences:\n" + "\n".join(wrong[:10])


def _comparable(answer: bool | list[str] | GrantpathError) -> Answer:
    return "error" if isinstance(answer, GrantpathError) else answer
