"""The queries that decide, broken by operators: comparisons with the oracle and with given answers kill each mutant.

The short form tries one mutant of each operator and query, the long form every mutant. equivalent_mutants.yaml lists
those that nothing can notice, with the reason.
"""

import random
from collections.abc import Iterator

import pytest

from grantpath.graph.connection import Connection
from grantpath.graph.store import Store

from ..conftest import Tenants
from ..queries import mutation, probes_facts, probes_marks, probes_paths, probes_questions, probes_remedies
from ..support import closing_lines
from ..support.sizes import size
from ..support.small_tenants import WORLDS
from .mutation import Score
from .operators import Mutant
from .probe import Probe

pytestmark = pytest.mark.trust

LONG = bool(size(full=1, short=0))
DECIDING = ("check", "who", "which", "explain", "remedy")
WHOLE = ("check", "who", "remedy")  # the others still have literals, too: test_query_literals.py
LIMIT = 20.0  # seconds of one answer; a mutant that takes longer is killed by that
SEED = 13


@pytest.fixture(scope="module")
def limited(server: Connection) -> Iterator[Store]:
    """A store whose queries have a short time limit, because of mutants."""
    opened = Store(server, timeout=LIMIT)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def probes(limited: Store) -> Iterator[list[Probe]]:
    tenants = Tenants(limited)
    twins = [probes_questions.twin(tenants, policy) for policy in WORLDS]
    wide = tenants("lakehouse", probes_paths.wide_facts())
    yield [
        *probes_questions.probes(twins),
        *probes_facts.probes(*twins[:3]),
        *probes_remedies.probes(*twins[:3]),
        *probes_paths.probes(twins[0], wide),
        *probes_marks.probes(wide, DECIDING),
    ]
    tenants.remove()


@pytest.fixture(scope="module")
def score(pytestconfig: pytest.Config) -> Iterator[Score]:
    """The score of all tests of this file, printed at the end."""
    kept = Score()
    yield kept
    closing_lines.lines(pytestconfig).append(str(kept))


def chosen(file: str) -> list[Mutant]:
    """The short form has one mutant of each operator, the same one for an unchanged file; the long form has all."""
    if LONG and file in WHOLE:
        return list(mutation.mutants(file))
    by_operator: dict[str, list[Mutant]] = {}
    for mutant in mutation.mutants(file):
        if not mutation.is_equivalent(mutant):
            by_operator.setdefault(mutant.operator, []).append(mutant)
    return [random.Random(f"{SEED} {file} {name}").choice(found) for name, found in by_operator.items()]


def test_unchanged_queries_pass(probes: list[Probe]) -> None:
    assert mutation.failing(probes) == []


@pytest.mark.parametrize("file", DECIDING)
def test_mutants_are_killed(file: str, probes: list[Probe], score: Score) -> None:
    assert mutation.run(chosen(file), probes, score) == []
    assert mutation.failing([probe for probe in probes if file in probe.files]) == [], "a mutant left something broken"
