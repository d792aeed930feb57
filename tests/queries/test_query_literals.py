"""Probes must detect each literal mutant of the queries that write, and of some that read.

The list must stay up to date: a mutant fails if its text is no longer in its file, or if the database cannot plan it.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from grantpath import cypher
from grantpath.graph.connection import Connection
from grantpath.graph.store import Store

from ..conftest import Closing, Tenants
from ..queries import (
    probes_changes,
    probes_deltas,
    probes_dumps,
    probes_history,
    probes_loads,
    probes_log,
    probes_questions,
    probes_tenants,
)
from ..support.sizes import size
from ..support.small_tenants import WORLDS
from .literals import Mutant, mutated
from .literals_changes import CHANGES
from .literals_deltas import DELTAS
from .literals_dumps import DUMPS
from .literals_keeping import KEEPING
from .literals_loads import MOVING
from .literals_log import CHAIN, DIGESTS, DROPS, REFUSALS
from .mutation import failing
from .probe import NotPlanned, Probe, replaced
from .test_query_mutants import DECIDING, READING

pytestmark = pytest.mark.trust

MUTANTS = [*CHANGES, *KEEPING, *CHAIN, *DIGESTS, *DROPS, *REFUSALS, *MOVING, *DUMPS, *DELTAS]
CYPHER = Path(str(cypher.__file__)).parent
BY_NAME = [file.stem for file in (CYPHER / "browser").iterdir()]
QUESTIONS = [file.stem for file in (CYPHER / "questions").iterdir()]
INSPECTION = [file.stem for file in (CYPHER / "inspection").iterdir()]
GUARD = [file.stem for file in (CYPHER / "guard").iterdir()]
# files without a mutant, and why
UNBROKEN = {
    "schema": "its constraints are there as long as the server: what it says twice it does once",
    "write_policy_graph": "tests/tenants/test_policy_graph.py holds what it writes to the policy, node by node",
    "read_policy_graph": "the same test reads by it what edits by hand have changed",
    **dict.fromkeys(
        QUESTIONS, "tests/questions and tests/decisions/test_questions_to_the_policy.py hold each to oracles"
    ),
    **dict.fromkeys(BY_NAME, "tests/agreement/test_by_name.py and test_lists_by_name.py hold each to Python"),
    **dict.fromkeys(INSPECTION, "tests/inspection holds each to the facts of random tenants"),
    **dict.fromkeys(GUARD, "tests/trust pauses, kills and cuts off the writers that send it"),
    **dict.fromkeys((*DECIDING, *READING), "its mutants are generated: test_query_mutants.py"),
}
del UNBROKEN["replica_proof"]  # it has mutants of both kinds


@pytest.fixture(scope="module")
def scratch(store: Store) -> Iterator[Tenants]:
    """Tenants that are used for one comparison each."""
    tenants = Tenants(store)
    yield tenants
    tenants.remove()


@pytest.fixture(scope="module")
def probes(
    module_tenant: Tenants, scratch: Tenants, server: Connection, tmp_path_factory: pytest.TempPathFactory
) -> list[Probe]:
    twins = [probes_questions.twin(module_tenant, policy) for policy in WORLDS]
    kept = probes_history.kept_tenant(module_tenant)
    return [
        *probes_questions.probes(twins),
        *probes_changes.probes(scratch),
        *probes_history.probes(kept, scratch),
        *probes_log.probes(kept, scratch),
        *probes_tenants.probes(kept, twins, server),
        *probes_loads.probes(scratch, tmp_path_factory.mktemp("tables")),
        *probes_deltas.probes(scratch),
        *probes_dumps.probes(scratch, tmp_path_factory.mktemp("dumps")),
    ]


def chosen() -> list[Mutant]:
    """All mutants, or in the short form the first of each file and every 24th."""
    first = {mutant.file: mutant for mutant in reversed(MUTANTS)}
    return [mutant for at, mutant in enumerate(MUTANTS) if at % size(1, 24) == 0 or mutant is first[mutant.file]]


@pytest.mark.slow
def test_every_mutant_is_killed(probes: list[Probe], scratch: Tenants, closing: Closing) -> None:
    mutants, survivors = chosen(), []
    for mutant in mutants:
        try:
            if not _is_killed(mutant, probes):
                survivors.append(str(mutant))
        except NotPlanned as error:
            survivors.append(f"{mutant} is no query: {error}")
        scratch.remove()
    closing(
        f"literal query mutants: {len(mutants) - len(survivors)} of {len(mutants)} killed, of {len(MUTANTS)} on the "
        f"list, in {len({mutant.file for mutant in mutants})} files"
    )
    assert not survivors, "\n".join(survivors)
    assert not failing(probes, scratch.remove), "probes fail with unchanged queries, or a mutant spoilt their tenants"


def _is_killed(mutant: Mutant, probes: list[Probe]) -> bool:
    watching = [probe for probe in probes if mutant.file in probe.files]
    for probe in watching:
        probe.wanted  # noqa: B018  # found out before anything is broken
    with replaced(mutant.file, mutated(mutant)):
        return any(probe.fails() for probe in watching)


def test_every_query_has_a_mutant_or_a_reason() -> None:
    assert {mutant.file for mutant in chosen()} == {mutant.file for mutant in MUTANTS}
    assert sorted({*(mutant.file for mutant in MUTANTS), *UNBROKEN}) == cypher.names()
    assert not UNBROKEN.keys() & {mutant.file for mutant in MUTANTS}


@pytest.mark.parametrize("file", sorted({mutant.file for mutant in MUTANTS}))
def test_mutants_fit_their_file(file: str) -> None:
    for mutant in MUTANTS:
        assert mutant.file != file or mutated(mutant) != cypher.load(file).text, str(mutant)
