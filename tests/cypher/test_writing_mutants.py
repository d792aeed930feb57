"""Queries that write, and those that decide what is written, broken by operators on a server of their own.

A mutant can reach nothing there but the world of its case, which is deleted before the next one. The long form tries
every mutant, the short form a few of each query. groups.py lists the queries, and those without mutants.
"""

from collections.abc import Iterator

import pytest

from grantpath import cypher
from grantpath.engine.tenants import registry
from grantpath.graph.embedded.home import SETTINGS
from grantpath.graph.guard.store import Store

from ..conftest import Tenants
from ..support import closing_lines
from ..support.own_server import own_server
from ..support.sizes import size
from . import mutation, probes_cases, probes_changes
from .groups import DECIDING, UNBROKEN, WRITING
from .mutation import Score
from .probe import Probe
from .test_query_mutants import LIMIT, LONG

pytestmark = [pytest.mark.trust, pytest.mark.slow]

MUTANTS = size(full=10_000, short=3)  # of each query


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """The store of a server that no other test uses. It keeps its plans, although the sizes of worlds differ."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("grantpath.graph.embedded.home.SETTINGS", SETTINGS + "dbms.cypher.min_replan_interval=1h\n")
        with own_server(tmp_path_factory.mktemp("mutants")) as server:
            opened = Store(server.connection, timeout=LIMIT)
            registry.create_schema(opened)
            yield opened
            opened.close()


@pytest.fixture(scope="module")
def probes(alone: Store) -> list[Probe]:
    return list(probes_cases.probes(alone))


@pytest.fixture(scope="module")
def score(pytestconfig: pytest.Config) -> Iterator[Score]:
    """The score of all tests of this file, printed at the end."""
    kept = Score("mutants of queries that write")
    yield kept
    closing_lines.lines(pytestconfig).append(str(kept))


@pytest.mark.parametrize("file", WRITING)
def test_mutants_of_writers_are_killed(file: str, probes: list[Probe], score: Score) -> None:
    assert mutation.failing(probe for probe in probes if file in probe.files) == []
    assert mutation.run(mutation.chosen(file, LONG)[:MUTANTS], probes, score, again=False) == []


def test_every_query_has_mutants_or_a_reason() -> None:
    assert sorted([*DECIDING, *WRITING, *UNBROKEN]) == cypher.names()


def test_changes_lead_to_the_same_state_as_their_facts(store: Store) -> None:
    tenants = Tenants(store)
    assert mutation.failing(probes_changes.probes(tenants), tenants.remove) == []
