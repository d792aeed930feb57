"""Measures one system: the time of each kind of question beside a bare round trip, and the wrong answers."""

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from peers.interface import Facts, Grant, Peer, Question
from peers.oracle import PlainAnswers

BATCH = 500
Asked = TypeVar("Asked")


@dataclass(frozen=True)
class Work:
    """The questions for every system, in this order. After `seconds`, a kind of question ends early."""

    facts: Facts
    checks: Sequence[Question]
    batches: Sequence[Sequence[Question]]
    lists: Sequence[Question]
    changes: Sequence[tuple[Grant, bool, Question]]
    seconds: float


@dataclass
class Figure:
    """The times of one kind of call and of a bare round trip before each, in seconds, and its wrong answers."""

    times: list[float] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)
    answers: int = 0
    wrong: int = 0

    def p50(self) -> float:
        return statistics.median(self.times)


@dataclass
class Measured:
    """The measurements of one system: its figures by name, or the reason why there are none."""

    name: str
    set_up: str
    version: str = ""
    load_seconds: float = 0.0
    figures: dict[str, Figure] = field(default_factory=dict)
    missing: str = ""

    def ratio(self, kind: str) -> float:
        """The median time, divided by the median of all bare round trips during the measurement of this system."""
        bare = [seconds for each in self.figures.values() for seconds in each.bare]
        return self.figures[kind].p50() / statistics.median(bare)


def measure(peer: Peer, work: Work, bare: Callable[[], object], oracle: PlainAnswers) -> Measured:
    """Loads the system, asks it everything, and compares each answer with the oracle. Raises NotInstalled."""
    peer.install()
    start = time.perf_counter()
    peer.load(work.facts)
    first = peer.check(work.checks[0])
    found = Measured(peer.name, peer.set_up, peer.version(), time.perf_counter() - start)
    timed = partial(_timed, bare, work.seconds)
    found.figures["check"] = timed(work.checks, peer.check, oracle.check)
    found.figures["check"].wrong += first != oracle.check(work.checks[0])
    found.figures["batch"] = _timed(
        bare, work.seconds, work.batches, peer.check_many, lambda asked: [oracle.check(each) for each in asked]
    )
    found.figures["list objects"] = timed(
        work.lists,
        lambda each: _listed(peer.list_objects(each.user, each.privilege)),
        lambda each: sorted(oracle.list_objects(each.user, each.privilege)),
    )
    found.figures["list users"] = timed(
        work.lists,
        lambda each: _listed(peer.list_users(each.privilege, each.object)),
        lambda each: sorted(oracle.list_users(each.privilege, each.object)),
    )
    found.figures["change"] = _changes(peer, work, bare, oracle)
    return found


def _timed(
    bare: Callable[[], object],
    limit: float,
    asked: Sequence[Asked],
    ask: Callable[[Asked], object],
    right: Callable[[Asked], object],
) -> Figure:
    figure, spent = Figure(), 0.0
    for each in asked:
        figure.bare.append(_seconds(bare)[0])
        seconds, answer = _seconds(partial(ask, each))
        figure.times.append(seconds)
        _compare(figure, answer, right(each))
        spent += seconds
        if spent > limit:
            break
    return figure


def _changes(peer: Peer, work: Work, bare: Callable[[], object], oracle: PlainAnswers) -> Figure:
    """Each change is followed by a check whose answer must include the change. Changes are made in groups of four, and
    all of a group, so that no change remains."""
    figure = Figure()
    for at, (grant, added, question) in enumerate(work.changes):
        if at % 4 == 0 and sum(figure.times) > work.seconds:
            break
        figure.bare.append(_seconds(bare)[0])
        figure.times.append(_seconds(partial(peer.change, grant, added))[0])
        oracle.change(grant, added)
        _compare(figure, peer.check(question), oracle.check(question))
    return figure


def _compare(figure: Figure, answer: object, right: object) -> None:
    """Counts answers: each check of a batch counts as one, and a whole list counts as one."""
    if isinstance(answer, list) and answer and isinstance(answer[0], bool) and isinstance(right, list):
        figure.answers += len(right)
        figure.wrong += sum(a != b for a, b in zip(answer, right, strict=True))
    else:
        figure.answers += 1
        figure.wrong += answer != right


def _listed(references: Iterable[str]) -> list[str]:
    return sorted(references)


def _seconds(work: Callable[[], Asked]) -> tuple[float, Asked]:
    start = time.perf_counter()
    answer = work()
    return time.perf_counter() - start, answer
