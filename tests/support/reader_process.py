"""A reader process of tests/trust/test_busy_writer.py, which runs several; run as `reader_process.py ROOT [replica]`.

It reads a number of rounds per line of input, and prints its observations: the time of each question, how often
the guard repeated a question or waited for the writer lock, how many questions a copy of the facts answered, and the
revision and the answer of every decision.
"""

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pytest

from grantpath.cypher import is_consistent
from grantpath.engine import Authorizer
from grantpath.graph.guard import store as store_module
from grantpath.graph.guard.revision_guard import RevisionGuard
from grantpath.graph.guard.transaction import Row

TIMEOUT = 30.0  # other tests share the machine
BOB, STAFF, PUBLIC = "user:bob", "table:hr.public.staff", "schema:hr.public"
# In every committed state yes, in every one no, and changing.
ALWAYS, NEVER, AT_TIMES = (BOB, "MODIFY_TABLE", STAFF), (BOB, "SELECT_TABLE", STAFF), (BOB, "USE_SCHEMA", PUBLIC)
QUESTIONS = (ALWAYS, NEVER, AT_TIMES)
KINDS = ("check", "check_many", "list")
MANY_EVERY, LIST_EVERY = 4, 10  # rounds


class Guard:
    """Counts the steps of the guard in this process."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.count = Counter[str]()
        read_locked = RevisionGuard.read_locked

        def heard(row: Row) -> bool:
            whole = is_consistent(row)
            self.count["asked"] += 1
            self.count["torn"] += not whole
            return whole

        def locked(guard: RevisionGuard, text: str, parameters: Mapping[str, Any]) -> Row:
            self.count["locked"] += 1
            return read_locked(guard, text, parameters)

        patch.setattr(store_module, "is_consistent", heard)
        patch.setattr(RevisionGuard, "read_locked", locked)


class Reader:
    """Asks rounds of questions, and records the answers and their times."""

    def __init__(self, auth: Authorizer) -> None:
        self.auth = auth
        self.seconds: dict[str, list[float]] = {kind: [] for kind in KINDS}
        self.seen: list[
            tuple[int, int, bool]
        ] = []  # index of the question, revision, answer; in the order of the questions
        self.lists: list[tuple[str, str, list[str]]] = []

    def round(self, number: int) -> None:
        for at, asked in enumerate(QUESTIONS):
            decision = self.timed("check", partial(self.auth.check, *asked))
            self.seen.append((at, decision.revision, decision.allowed))
        if number % MANY_EVERY == 0:
            self.batch(QUESTIONS)
        if number % LIST_EVERY == 0:
            for _, name, object_ in (ALWAYS, NEVER):
                who, which = partial(self.auth.who, name, object_), partial(self.auth.which, "table", BOB, name)
                self.lists.append(("who", name, list(self.timed("list", who))))
                self.lists.append(("which", name, list(self.timed("list", which))))

    def batch(self, asked: Sequence[tuple[str, str, str]]) -> None:
        """Asks all in one batch, at one revision."""
        decisions = self.timed("check_many", partial(self.auth.check_many, asked))
        assert len({decision.revision for decision in decisions}) == 1
        for one, decision in zip(asked, decisions, strict=True):
            self.seen.append((QUESTIONS.index(one), decision.revision, decision.allowed))

    def timed(self, kind: str, ask: Callable[[], Any]) -> Any:
        began = time.monotonic()
        answer = ask()
        self.seconds[kind].append(time.monotonic() - began)
        return answer


def main() -> None:
    guard = Guard(pytest.MonkeyPatch())
    with Authorizer.open(sys.argv[1], timeout=TIMEOUT, replica="replica" in sys.argv[2:]) as auth:
        Reader(auth).round(0)  # opens connections, plans queries
        print("ready", flush=True)
        for line in sys.stdin:
            guard.count.clear()
            before = auth.replica.answered if auth.replica else 0
            reader, began = Reader(auth), time.monotonic()
            for number in range(int(line)):
                reader.round(number)
            took = time.monotonic() - began
            guard.count["memory"] = auth.replica.answered - before if auth.replica else 0
            observed = {"took": took, "guard": guard.count, "seconds": reader.seconds, "seen": reader.seen}
            print(json.dumps({**observed, "lists": reader.lists}), flush=True)


if __name__ == "__main__":
    main()
