"""Measures a change beside a bare round trip, by turns: as a fact, as an actor, and followed by a check."""

import argparse
import statistics
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import Any

import neo4j

from grantpath.engine import Authorizer
from grantpath.engine.tenants import registry

TABLE, ROLE, ANN = "table:hr.public.staff", "role:analyst", "user:ann"
FACTS = ["add catalog:hr", "add schema:hr.public", f"add {TABLE}", f"add {ROLE}", f"add {ANN}"]
CHANGES = [f"allow SELECT_TABLE on {TABLE} to {ROLE}", f"revoke allow SELECT_TABLE on {TABLE} from {ROLE}"]
AIM = 8.0  # times a bare round trip
Steps = dict[str, Callable[[], object]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1_000, help="measured rounds; each asks every kind once")
    parser.add_argument("--warm", type=int, default=300, help="unmeasured rounds before, to warm up the server")
    options = parser.parse_args()
    with Authorizer.open(f"metalake:bench{uuid.uuid4().hex}", "gravitino", create=True) as auth:
        try:
            assert not any(auth.given([*FACTS, f"owner {ANN} of {auth.root}"]))
            steps = _steps(auth)
            _print(
                _measured(steps, options.rounds, options.warm),
                {name: _statements(step) for name, step in steps.items()},
            )
        finally:
            registry.remove(auth.store, auth.tenant)


def _steps(auth: Authorizer) -> Steps:
    made = count()

    def change(by: str | None) -> None:
        assert auth.change(CHANGES[next(made) % 2], by=by).id, "each change changes something"

    def change_and_check() -> None:
        change(None)
        auth.check(ANN, "SELECT_TABLE", TABLE)

    return {
        "RETURN 1": lambda: auth.store.read("RETURN 1 AS one", {}),
        "check": lambda: auth.check(ANN, "SELECT_TABLE", TABLE),
        "change, a fact": partial(change, None),
        "change, by an actor": partial(change, ANN),
        "change, a fact, and a check": change_and_check,
    }


def _measured(steps: Steps, rounds: int, warm: int) -> dict[str, list[float]]:
    """The seconds of each step, by turns, so that other work on the machine affects all of them."""
    times: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(-warm, rounds):
        for name, step in steps.items():
            start = time.perf_counter()
            step()
            if number >= 0:
                times[name].append(time.perf_counter() - start)
    return times


def _statements(step: Callable[[], object]) -> Counter[str]:
    """What one step sends and waits for."""
    sent: Counter[str] = Counter()
    with _counted(sent):
        step()
    return sent


@contextmanager
def _counted(sent: Counter[str]) -> Iterator[None]:
    """Counts the driver's messages that wait for an answer while the block runs."""
    kinds = [(neo4j.Session, "run"), (neo4j.Session, "begin_transaction"), (neo4j.Transaction, "run")]
    kinds.append((neo4j.Transaction, "commit"))
    real = [getattr(kind, name) for kind, name in kinds]

    def counting(name: str, send: Any) -> Any:
        def counted(*given: Any, **named: Any) -> Any:
            sent[name] += 1
            return send(*given, **named)

        return counted

    for (kind, name), send in zip(kinds, real, strict=True):
        setattr(kind, name, counting(name, send))
    try:
        yield
    finally:
        for (kind, name), send in zip(kinds, real, strict=True):
            setattr(kind, name, send)


def _percentile(seconds: list[float], percent: int) -> float:
    return statistics.quantiles(seconds, n=100)[percent - 1]


def _print(times: dict[str, list[float]], sent: dict[str, Counter[str]]) -> None:
    bare = [_percentile(times["RETURN 1"], at) for at in (5, 50)]
    print(f"{'':28}  p5, p50, p95 in ms     p5, p50 x RETURN 1  messages")
    for name, seconds in times.items():
        p5, p50, p95 = (_percentile(seconds, at) for at in (5, 50, 95))
        parts = ", ".join(f"{number} {kind}" for kind, number in sent[name].items())
        print(
            f"{name:28}  {p5 * 1000:6.2f} {p50 * 1000:6.2f} {p95 * 1000:6.2f}  {p5 / bare[0]:8.2f} {p50 / bare[1]:8.2f}"
            f"    {sent[name].total()}: {parts}"
        )
    print(f"aim for a change: {AIM:.0f} x RETURN 1")


if __name__ == "__main__":
    main()
