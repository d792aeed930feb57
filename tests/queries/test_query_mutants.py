"""Every query, broken on purpose: comparisons with the oracle and with what was said must notice each mutant.

A mutant whose text is no longer in its file fails, and so does one that the database cannot plan, so that the list
stays true.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from grantpath import cypher
from grantpath.graph.connection import Connection
from grantpath.graph.store import Store

from ..conftest import Closing, Tenants
from ..queries import (
    mutants_asking,
    mutants_deltas,
    mutants_dumps,
    mutants_history,
    mutants_log,
    mutants_moving,
    mutants_reading,
    mutants_rehearsals,
)
from ..support.sizes import size
from ..support.small_tenants import WORLDS
from .mutants import Mutant, NoQuery, Probe, broken, mutated
from .mutants_asking import twin
from .mutants_changes import CHANGES
from .mutants_decisions import DECISIONS
from .mutants_deltas import DELTAS
from .mutants_dumps import DUMPS
from .mutants_keeping import KEEPING
from .mutants_lists import LISTS
from .mutants_loads import MOVING
from .mutants_log import CHAIN, DIGESTS, DROPS, REFUSALS

pytestmark = pytest.mark.trust

MUTANTS = [
    *(*DECISIONS, *LISTS, *CHANGES, *KEEPING, *CHAIN, *DIGESTS, *DROPS, *REFUSALS),
    *(*MOVING, *DUMPS, *DELTAS),
]
GUARD = [file.stem for file in (Path(str(cypher.__file__)).parent / "guard").iterdir()]
# files without a mutant, and why
UNBROKEN = {
    "schema": "its constraints are there as long as the server: what it says twice it does once",
    "privilege": "tests/agreement/test_privilege_query.py holds it to check",
    **dict.fromkeys(GUARD, "tests/trust pauses, kills and cuts off the writers that send it"),
}


@pytest.fixture(scope="module")
def scratch(store: Store) -> Iterator[Tenants]:
    """Tenants of one comparison each."""
    tenants = Tenants(store)
    yield tenants
    tenants.remove()


@pytest.fixture(scope="module")
def probes(
    module_tenant: Tenants, scratch: Tenants, server: Connection, tmp_path_factory: pytest.TempPathFactory
) -> list[Probe]:
    twins = [twin(module_tenant, policy) for policy in WORLDS]
    kept = mutants_history.kept_tenant(module_tenant)
    return [
        *mutants_asking.probes(twins),
        *mutants_rehearsals.probes(scratch),
        *mutants_history.probes(kept, scratch),
        *mutants_log.probes(kept, scratch),
        *mutants_reading.probes(kept, twins, server),
        *mutants_moving.probes(scratch, tmp_path_factory.mktemp("tables")),
        *mutants_deltas.probes(scratch),
        *mutants_dumps.probes(scratch, tmp_path_factory.mktemp("dumps")),
    ]


def chosen() -> list[Mutant]:
    """All, or in the short form the first of each file and every twelfth."""
    first = {mutant.file: mutant for mutant in reversed(MUTANTS)}
    return [mutant for at, mutant in enumerate(MUTANTS) if at % size(1, 12) == 0 or mutant is first[mutant.file]]


@pytest.mark.slow
def test_the_unbroken_queries_pass(probes: list[Probe], scratch: Tenants) -> None:
    assert not failing(probes, scratch)


def failing(probes: list[Probe], scratch: Tenants) -> list[str]:
    """What fails, and how."""
    found = []
    for probe in probes:
        if failure := probe.fails():
            found.append(f"{probe.what}: {failure}")
        scratch.remove()
    return found


@pytest.mark.slow
def test_every_mutant_is_killed(probes: list[Probe], scratch: Tenants, closing: Closing) -> None:
    mutants, survivors = chosen(), []
    for mutant in mutants:
        try:
            if not _is_killed(mutant, probes):
                survivors.append(str(mutant))
        except NoQuery as error:
            survivors.append(f"{mutant} is no query: {error}")
        scratch.remove()
    killed = [mutant for mutant in mutants if str(mutant) not in survivors]
    closing(
        f"query mutants: {len(mutants) - len(survivors)} of {len(mutants)} killed, of {len(MUTANTS)} on the list, "
        f"in {len({mutant.file for mutant in mutants})} files: {'; '.join(map(str, killed))}"
    )
    assert not survivors, "\n".join(survivors)
    assert not failing(probes, scratch), "a mutant spoilt what the others are held to"


def _is_killed(mutant: Mutant, probes: list[Probe]) -> bool:
    watching = [probe for probe in probes if mutant.file in probe.files]
    for probe in watching:
        probe.wanted  # noqa: B018  # found out before anything is broken
    with broken(mutant):
        return any(probe.fails() for probe in watching)


def test_every_query_has_a_mutant_or_a_reason() -> None:
    assert {mutant.file for mutant in chosen()} == {mutant.file for mutant in MUTANTS}
    assert sorted({*(mutant.file for mutant in MUTANTS), *UNBROKEN}) == cypher.names()
    assert not UNBROKEN.keys() & {mutant.file for mutant in MUTANTS}


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_fits_its_file(mutant: Mutant) -> None:
    assert mutated(mutant) != cypher.load(mutant.file).text
