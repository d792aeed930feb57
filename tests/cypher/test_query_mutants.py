"""Queries that only read, broken by operators: comparisons with the oracle and with given answers kill each mutant.

The long form tries every mutant. The short form tries one of each operator for a query that decides, and three of each
other query; `make test` one of each query that decides. equivalent_mutants.yaml lists those that nothing can notice,
with the reason. The mutants of queries that write have a server of their own (test_writing_mutants.py), because they
could reach the tenants of other users of the server.
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
    probes_deltas,
    probes_facts,
    probes_history,
    probes_lists,
    probes_log,
    probes_marks,
    probes_paths,
    probes_privilege,
    probes_questions,
    probes_reads,
    probes_remedies,
    probes_tenants,
)
from .groups import DECIDING, READING
from .mutation import Score
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
def scratch(limited: Store) -> Iterator[Tenants]:
    """Tenants that are used for one comparison each."""
    tenants = Tenants(limited)
    yield tenants
    tenants.remove()


@pytest.fixture(scope="module")
def probes(
    limited: Store, scratch: Tenants, server: Connection, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[Probe]]:
    tenants = Tenants(limited)
    twins = [probes_questions.twin(tenants, policy) for policy in WORLDS]
    wide = tenants("lakehouse", probes_paths.wide_facts())
    kept = probes_history.kept_tenant(tenants)
    yield [
        *probes_questions.probes(twins),
        *probes_lists.probes(twins),
        *probes_lists.one_role_at_a_time(tenants, tmp_path_factory.mktemp("turns")),
        *probes_facts.probes(*twins[:3]),
        *probes_remedies.probes(*twins[:3]),
        *probes_paths.probes(twins[0], wide),
        *probes_marks.probes(wide, (*DECIDING, *READING)),
        *probes_privilege.probes(twins[0], twins[2]),
        *probes_reads.probes(twins[0], twins[2]),
        *probes_tenants.probes(kept, twins, server),
        *probes_history.probes(kept),
        *probes_log.probes(scratch),
        *probes_deltas.probes(scratch),
    ]
    tenants.remove()


@pytest.fixture(scope="module")
def score(pytestconfig: pytest.Config) -> Iterator[Score]:
    """The score of all tests of this file, printed at the end."""
    kept = Score()
    yield kept
    closing_lines.lines(pytestconfig).append(str(kept))


@pytest.mark.slow
def test_unchanged_queries_pass(probes: list[Probe]) -> None:
    assert mutation.failing(_of(probes, *DECIDING)) == []


@pytest.mark.parametrize("file", DECIDING)
def test_a_mutant_is_killed(file: str, probes: list[Probe], score: Score) -> None:
    assert mutation.run(mutation.chosen(file, LONG)[:1], probes, score) == []


@pytest.mark.slow
@pytest.mark.parametrize("file", DECIDING)
def test_other_mutants_are_killed(file: str, probes: list[Probe], score: Score) -> None:
    assert mutation.run(mutation.chosen(file, LONG)[1:], probes, score) == []
    assert mutation.failing(_of(probes, file)) == [], "a mutant left something broken"


@pytest.mark.slow
@pytest.mark.parametrize("file", READING)
def test_mutants_of_other_readers_are_killed(file: str, probes: list[Probe], scratch: Tenants, score: Score) -> None:
    mutants = mutation.chosen(file, LONG)
    assert mutation.run(mutants if LONG else mutants[:3], probes, score, scratch.remove) == []
    assert mutation.failing(_of(probes, file), scratch.remove) == [], "a mutant left something broken"


def _of(probes: list[Probe], *files: str) -> list[Probe]:
    return [probe for probe in probes if probe.files & {*files}]
