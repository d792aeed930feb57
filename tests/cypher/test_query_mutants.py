"""Queries that decide, broken by operators: comparisons with the oracle and with given answers kill each mutant.

The long form tries every mutant. The short form tries each operator on two or three of the queries; `make test` one
mutant of each query. equivalent_mutants.yaml lists those that nothing can notice, with the reason. The mutants of
queries that write have a server of their own (test_writing_mutants.py), because they could reach the tenants of other
users of the server. groups.py lists the queries without mutants.
"""

from collections.abc import Iterator

import pytest

from grantpath.graph.client.connection import Connection
from grantpath.graph.guard.store import Store

from ..conftest import Tenants
from ..support import closing_lines
from ..support.sizes import size
from ..support.small_tenants import WORLDS
from . import (
    mutation,
    probes_facts,
    probes_lists,
    probes_marks,
    probes_paths,
    probes_privilege,
    probes_questions,
    probes_remedies,
    probes_tags,
)
from .groups import DECIDING
from .mutation import Score
from .operators import Mutant
from .probe import Probe

pytestmark = pytest.mark.trust

LONG = bool(size(full=1, short=0))
LIMIT = 20.0  # seconds of one answer; a mutant that takes longer is killed by that


@pytest.fixture(scope="module")
def limited(server: Connection) -> Iterator[Store]:
    """A store whose queries have a short time limit, because of mutants."""
    opened = Store(server, timeout=LIMIT)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def probes(limited: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Probe]]:
    tenants = Tenants(limited)
    twins = [probes_questions.twin(tenants, policy) for policy in WORLDS]
    wide = tenants("lakehouse", probes_paths.wide_facts())
    yield [
        # the special ones first: a mutant that nothing else kills is then not planned for the parameters of all others
        *probes_lists.one_role_at_a_time(tenants, tmp_path_factory.mktemp("turns")),
        *probes_lists.in_themselves(tenants, tmp_path_factory.mktemp("nested")),
        *probes_tags.probes(tenants),
        *probes_facts.probes(*twins[:3]),
        *probes_remedies.probes(*twins[:3]),
        *probes_paths.probes(twins[0], wide),
        *probes_marks.probes(wide, DECIDING),
        *probes_questions.probes(twins),
        *probes_lists.probes(twins),
        *probes_privilege.probes(twins[0], twins[2]),
    ]
    tenants.remove()


@pytest.fixture(scope="module")
def score(pytestconfig: pytest.Config) -> Iterator[Score]:
    """The score of all tests of this file, printed at the end."""
    kept = Score()
    yield kept
    closing_lines.lines(pytestconfig).append(str(kept))


@pytest.mark.parametrize("file", DECIDING)
def test_a_mutant_is_killed(file: str, probes: list[Probe], score: Score) -> None:
    assert mutation.run(mutation.chosen(file, LONG)[:1], probes, score) == []


@pytest.mark.slow
@pytest.mark.parametrize("file", DECIDING)
def test_other_mutants_are_killed(file: str, probes: list[Probe], score: Score) -> None:
    assert mutation.run(_others(file), probes, score) == []


@pytest.mark.slow
def test_unchanged_queries_pass_and_no_mutant_left_something_broken(probes: list[Probe]) -> None:
    assert mutation.failing(probes) == []


def test_short_form_tries_every_operator() -> None:
    tried = {mutant.operator for file in DECIDING for mutant in (mutation.chosen(file, False)[0], *_share(file))}
    assert tried == {mutant.operator for file in DECIDING for mutant in mutation.chosen(file, False)}


def _others(file: str) -> list[Mutant]:
    """All mutants but the first in the long form, a third of the operators in the short form."""
    return mutation.chosen(file, True)[1:] if LONG else _share(file)


def _share(file: str) -> list[Mutant]:
    """Each operator on a third of the queries that it changes, and on one at least."""
    return [mutant for mutant in mutation.chosen(file, False)[1:] if _turn(mutant.operator, file)]


def _turn(operator: str, file: str) -> bool:
    changed = [each for each in DECIDING if operator in _operators(each)]
    first = sorted(set().union(*map(_operators, DECIDING))).index(operator)
    return (changed.index(file) - first) % min(3, len(changed)) == 0


def _operators(file: str) -> set[str]:
    return {mutant.operator for mutant in mutation.chosen(file, False)[1:]}
