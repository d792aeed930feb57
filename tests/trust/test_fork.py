"""A fork with an open Authorizer: both sides get right answers over their own connections, and no error."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from grantpath.engine import Authorizer
from grantpath.graph.client.connection import Connection

from ..conftest import Tenants
from ..support.one_grant import FACTS
from ..support.sizes import say, size
from ..support.tiers import others_slow

pytestmark = pytest.mark.trust

PROGRAM = Path(__file__).parents[1] / "support" / "forking_program.py"
FORKS = {
    "preload": size(full=400, short=24),
    "processes": size(full=200, short=12),
    "prefork": size(full=400, short=24),
}
CONTROL_FORKS, CONTROL_LIMIT = size(full=80, short=4), 100


def forked(auth: Authorizer, server: Connection, mode: str, forks: int, control: str = "") -> Counter[str]:
    """The counts that the program printed."""
    login = {"NEO4J_URI": server.uri, "NEO4J_USER": server.user, "NEO4J_PASSWORD": server.password}
    ended = subprocess.run(
        [sys.executable, PROGRAM, mode, str(forks), auth.tenant, control],
        env={**os.environ, **login},
        capture_output=True,
        text=True,
        timeout=120 + 10 * forks,
    )
    assert ended.returncode == 0, ended.stderr
    if control != "control":
        assert ended.stderr == ""
    return Counter(json.loads(ended.stdout.splitlines()[-1]))


def trouble(outcomes: Counter[str]) -> dict[str, int]:
    """The counts other than right answers."""
    good = {"forks", "right", "parent right", "change right"}
    return {key: count for key, count in outcomes.items() if count and key not in good}


@pytest.mark.parametrize("mode", FORKS)
def test_both_sides_of_a_fork_get_right_answers(
    tenant: Tenants, server: Connection, mode: str, capsys: pytest.CaptureFixture[str]
) -> None:
    auth = tenant(given=FACTS)
    outcomes = forked(auth, server, mode, FORKS[mode])
    say(capsys, f"{mode}: {dict(outcomes)}")
    assert trouble(outcomes) == {}
    assert outcomes["forks"] >= FORKS[mode]
    made = [logged for logged in auth.log(limit=1_000) if logged.statement.startswith("add role:c")]
    assert len(made) == outcomes["change right"] > 0


@pytest.mark.parametrize("mode", others_slow([*FORKS]))
def test_both_sides_of_a_fork_get_right_answers_from_their_copies(
    tenant: Tenants, server: Connection, mode: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The parent has a copy of the facts, and its threads follow the children's changes while it forks."""
    outcomes = forked(tenant(given=FACTS), server, mode, FORKS[mode] // 2, "replica")
    say(capsys, f"{mode}, with a copy of the facts: {dict(outcomes)}")
    assert trouble(outcomes) == {}
    assert outcomes["change right"] > 0


def test_connections_shared_across_a_fork_mix_up_answers(
    tenant: Tenants, server: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    """The control: the same forks, but both sides continue to use the open connections."""
    auth, outcomes = tenant(given=FACTS), Counter[str]()
    while outcomes["forks"] < CONTROL_FORKS or (not trouble(outcomes) and outcomes["forks"] < CONTROL_LIMIT):
        outcomes += forked(auth, server, "preload", 4, "control")
    say(capsys, f"preload, connections shared: {dict(outcomes)}")
    assert trouble(outcomes), "the control met no trouble: nothing is shown"
