"""Measures a mix of requests that arrive at given rates, for grantpath and another system on one estate.

The mix is 91% checks, 8% lists and 1% changes. Requests arrive whatever the answers take. One that waits because all
callers are busy is late from the moment at which it was due, so a slow answer is not hidden by the requests that it
delays. A bare `RETURN 1` is measured in the same run.
"""

import argparse
import random
import statistics
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence

from compare_peers import PEERS, ROOT, peer_named, peers_size
from estates import SEED, estate_files
from figures import print_progress
from peers import grantpath_peer
from peers.estate import draw_changes, read_facts, read_questions
from peers.grantpath_peer import CypherPeer, ReplicaPeer
from peers.interface import Facts, Grant, NotInstalled, Peer, Question

QUESTIONS = 20_000
MIX = {"check": 91, "list": 8, "change": 1}
WARM = 300  # requests of each kind before a rate is measured, which also plan the queries
SLOW = 0.05  # seconds: the p99 up to which a rate is served
PATIENCE = 2  # a rate is given up after so many times the seconds in which its requests are due
Request = tuple[float, str, int]  # when it is due, in seconds from the beginning; its kind; its number


def main() -> None:
    options = _arguments()
    facts = read_facts(estate_files(f"peers-{options.users}", peers_size(options.users), print_progress), ROOT)
    questions = read_questions(facts.directory, QUESTIONS, SEED)
    grantpath_peer.drop(ROOT)
    with CypherPeer() as ours:
        print_progress("loading")
        ours.load(facts)
        bare = _bare(ours)
        print(f"{len(facts.users()):,} users, {len(facts.tables()):,} tables, {len(facts.grants):,} grants")
        print(f"RETURN 1: p50 {bare[49] * 1_000:.2f} ms, p99 {bare[98] * 1_000:.2f} ms")
        print(f"{'':<20} {'a second':>9} {'served':>7} {'p50':>7} {'p99':>8}   p99 of {', '.join(MIX)} (ms)")
        with ReplicaPeer() as copy:
            copy.load(facts)
            _all_rates(copy, facts, questions, options)
        _all_rates(ours, facts, questions, options)
    for name in options.peers:
        try:
            with peer_named(name) as peer:
                peer.install()
                print_progress(f"loading {peer.name}")
                peer.load(facts)
                _all_rates(peer, facts, questions, options)
        except NotInstalled as reason:
            print(f"{name}: {reason}")
    grantpath_peer.drop(ROOT)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=10_000, help="users; as many tables, twice as many grants")
    parser.add_argument("--rates", type=float, nargs="+", default=[100, 250, 500, 1_000, 2_000], help="ascending")
    parser.add_argument("--callers", type=int, default=64, help="threads that send the requests")
    parser.add_argument("--seconds", type=float, default=20.0, help="for each rate")
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=["openfga"], help="the systems beside grantpath")
    return parser.parse_args()


def _bare(ours: CypherPeer) -> Sequence[float]:
    taken = []
    for _ in range(2_000):
        began = time.perf_counter()
        ours.bare()
        taken.append(time.perf_counter() - began)
    return statistics.quantiles(taken, n=100)


def _all_rates(peer: Peer, facts: Facts, questions: Sequence[Question], options: argparse.Namespace) -> None:
    """Measures one rate after the other, until one is not served. Prints a line for each."""
    highest, mix = 0.0, _Mix(peer, facts, questions)
    for rate in options.rates:
        p99 = _measure(mix, rate, options.seconds, options.callers)
        if p99 is None:
            break
        if p99 < SLOW:
            highest = rate
    mix.undo()
    print(f"{peer.name}: the highest of these rates with a p99 under {SLOW * 1_000:.0f} ms is {highest:,.0f} a second")


def _arrivals(rate: float, seconds: float) -> Iterator[Request]:
    """Requests that arrive independently of each other."""
    rng, due, number = random.Random(SEED), 0.0, 0
    while (due := due + rng.expovariate(rate)) < seconds:
        yield due, rng.choices([*MIX], [*MIX.values()])[0], number
        number += 1


def _measure(mix: "_Mix", rate: float, seconds: float, callers: int) -> float | None:
    """The p99 of all requests, in seconds; None if the rate was given up. Prints a line."""
    for number in range(WARM):
        for kind in MIX:
            mix.send(kind, number)
    requests, lock = _arrivals(rate, seconds), threading.Lock()
    late: dict[str, list[float]] = defaultdict(list)
    errors: list[Exception] = []
    start = time.perf_counter() + 0.2  # when all threads are there
    end = start + PATIENCE * seconds

    def serve() -> None:
        while time.perf_counter() < end:
            with lock:
                request = next(requests, None)
            if request is None:
                return
            due, kind, number = request
            time.sleep(max(0.0, start + due - time.perf_counter()))
            try:
                mix.send(kind, number)
            except Exception as error:
                errors.append(error)
            late[kind].append(time.perf_counter() - start - due)

    threads = [threading.Thread(target=serve) for _ in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - start
    assert not errors, errors[:3]
    every = [each for times in late.values() for each in times]
    parts = statistics.quantiles(every, n=100)
    of_kinds = ", ".join(f"{statistics.quantiles(late[kind], n=100)[98] * 1_000:.0f}" for kind in MIX)
    given_up = next(requests, None) is not None
    print(
        f"{mix.peer.name:<20} {rate:>9,.0f} {len(every) / took:>7,.0f} {parts[49] * 1_000:>7.1f}"
        f" {parts[98] * 1_000:>8.1f}   {of_kinds}{' (given up)' if given_up else ''}",
        flush=True,
    )
    return None if given_up else parts[98]


class _Mix:
    """Sends the requests of each kind to a system. A change adds a grant; the next one removes it, or adds another one
    if it is not added yet. Threads share it."""

    def __init__(self, peer: Peer, facts: Facts, questions: Sequence[Question]) -> None:
        self.peer, self._questions = peer, questions
        self._free = iter(dict.fromkeys(grant for grant, _, _ in draw_changes(facts, 8_000, SEED)[::4]))
        self._lock, self._added = threading.Lock(), list[Grant]()

    def send(self, kind: str, number: int) -> None:
        """Sends a request, and reads all of the answer."""
        question = self._questions[number % len(self._questions)]
        user, privilege, object_ = question
        match kind:
            case "check":
                self.peer.check(question)
            case "list":
                peer = self.peer
                assert all(peer.list_objects(user, privilege) if number % 2 else peer.list_users(privilege, object_))
            case "change":
                self._change()

    def _change(self) -> None:
        with self._lock:
            old = self._added.pop() if self._added else None
            grant = old or next(self._free)
        self.peer.change(grant, added=old is None)
        if old is None:
            with self._lock:
                self._added.append(grant)

    def undo(self) -> None:
        """Removes the grants that were added."""
        while self._added:
            self._change()


if __name__ == "__main__":
    main()
