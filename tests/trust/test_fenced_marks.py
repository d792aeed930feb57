"""A writer is paused at each step of a change and may lose its lock meanwhile: no answer mixes two states.

Another writer makes no change, one or two, or is in the middle of one when the first continues. Then the log, the facts
and the outcomes must agree, and the root must not stay blocked. The control, in which marks are set without a
comparison, must fail.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from grantpath.engine import Authorizer, GrantpathError
from grantpath.graph.client.connection import Connection

from ..conftest import Tenants
from ..support.other_texts import other_texts
from ..support.paused_writers import WAIT, Client, Stop, after, before
from ..support.sizes import say, size
from ..support.tiers import all_slow

pytestmark = pytest.mark.trust

FACTS = ["add catalog:hr", "add role:r", "add user:bob", "allow USE_CATALOG on catalog:hr to role:r"]
ASKED = ("user:bob", "USE_CATALOG", "catalog:hr")
JOIN, LEAVE = "member user:bob of role:r", "remove user:bob from role:r"
STEPS = ["locked", "worked", "begin", "begun", "commit", "end"]
LOST = ["kept", "terminated", "cut"]
# The other writer makes complete changes, and then one that is paused before its commit or its end mark.
OTHERS = [(0, ""), (1, ""), (2, ""), (0, "commit"), (1, "commit"), (0, "end"), (1, "end")]
WORST = [("terminated", (0, "commit")), ("terminated", (1, "end")), ("cut", (2, "")), ("kept", (1, "end"))]
LOG = """MATCH (change:Change {root: $root})
RETURN change.revision AS revision, change.id AS id, change.statement AS statement ORDER BY revision"""
Order = tuple[str, str, tuple[int, str]]
# The control's statements: they set marks without a comparison.
UNGUARDED = {
    "begin_mark": "MATCH (mark:Revision {root: $root}) SET mark.begun = $to RETURN $to AS to",
    "end_mark": "MATCH (mark:Revision {root: $root}) WHERE mark.revision < $to SET mark.revision = $to"
    " RETURN $to AS to",
    "repair_marks": "MATCH (mark:Revision {root: $root}) WHERE mark.revision < mark.begun"
    " SET mark.revision = mark.begun RETURN $to AS to",
}


def stop_at(client: Client, step: str) -> Stop:
    """Stops the client after it got the lock and read the marks, before its last write, or before it sets a mark."""
    stop, guard = Stop(), client.guard
    if step == "locked":
        after(guard, "_base", stop)
    elif step == "worked":
        before(guard, "_begin", stop)
    elif step == "begin":
        before(guard._marks, "begin", stop)
    elif step == "begun":  # the begin mark is sent, and the facts are not written yet
        after(guard, "_begin", stop)
    else:
        before(guard, f"_{step}", stop)
    return stop


def finally_(holder: object, name: str, stop: Stop) -> None:
    """Makes this object stop after it tried to do `name`, with any outcome."""
    step = getattr(holder, name)

    def trying(*words: Any) -> Any:
        try:
            return step(*words)
        finally:
            stop()

    setattr(holder, name, trying)


class Round:
    """One order of events; `found` lists the problems."""

    def __init__(self, server: Connection, auth: Authorizer, timeout: float = 30.0) -> None:
        self.auth = auth
        self.first, self.other = (Client(server, auth, timeout=timeout) for _ in range(2))
        self.found: list[str] = []
        self.read: list[tuple[int, bool]] = []
        self.outcomes: dict[str, bool] = {}

    def run(self, step: str, lost: str, others: tuple[int, str]) -> list[str]:
        stop, tried = stop_at(self.first, step), Stop()
        finally_(self.first.guard, "_write_once", tried)
        first = self.first.start(lambda: self.change(self.first, "first", [JOIN, "add user:first"]))
        assert stop.reached.wait(WAIT)
        self.first.lose(lost)
        changes, held = others
        if changes:
            self.ask()
        for number in range(changes):
            self.change(self.other, f"other{number}", [(JOIN, LEAVE)[number], f"add user:other{number}"])
        if held:
            between = stop_at(self.other, held)
            other = self.other.start(lambda: self.change(self.other, "other", [(JOIN, LEAVE)[changes], "add user:o"]))
            assert between.reached.wait(WAIT)
        stop.go.set()
        assert tried.reached.wait(WAIT)
        if held == "commit":
            self.look()
        else:  # the other writer does not hold the lock
            self.ask()
        tried.go.set()
        if held:
            between.go.set()
            other.result(WAIT)
        first.result(WAIT)
        self.settle()
        self.first.close()
        self.other.close()
        return self.found

    def change(self, client: Client, id_: str, statements: list[str]) -> None:
        try:
            client.auth.change_all(statements, id=id_)
            self.outcomes[id_] = True
        except GrantpathError as error:
            self.outcomes.setdefault(id_, False)
            if getattr(error, "unknown", False):
                del self.outcomes[id_]

    def ask(self) -> None:
        try:
            decision = self.auth.check(*ASKED)
        except GrantpathError as error:
            self.found.append(f"blocked: {error}")
        else:
            self.read.append((decision.revision, decision.allowed))

    def look(self) -> None:
        """Checks that the marks of another writer that is about to commit still block readers."""
        marks = self.auth.store._guard._marks.read(self.auth.tenant)
        if marks.begun == marks.revision:
            self.found.append(f"readers are let in at {marks.revision}, before the commit")

    def settle(self) -> None:
        """Compares the answers and the outcomes with the log."""
        self.ask()
        log = self.auth.store.read(LOG, {"root": self.auth.tenant})
        for revision, allowed in self.read:
            logged = [each["statement"] for each in log if each["revision"] <= revision]
            logged = [each for each in logged if each in (JOIN, LEAVE)]
            if allowed != (logged[-1:] == [JOIN]):
                self.found.append(f"read {allowed} at {revision}, where the log has {logged}")
        ids = {each["id"].split(".")[0] for each in log}
        self.found += [f"reported {done} for {id_}" for id_, done in self.outcomes.items() if done is not (id_ in ids)]
        try:
            done = self.auth.change("add user:last")
            if done.revision != self.auth.check(*ASKED).revision:
                self.found.append("the marks are not even")
        except GrantpathError as error:
            self.found.append(f"blocked: {error}")


def orders(step: str) -> Iterator[Order]:
    """All orders of events; in the short form, the most dangerous ones."""
    for lost, others in product(LOST, OTHERS) if size(1, 0) else WORST:
        if lost != "kept" or others == (0, "") or step == "end":  # otherwise the lock blocks the other writer
            yield step, lost, others


@pytest.mark.parametrize("step", [*STEPS[-2:], *all_slow(STEPS[:-2])])
def test_paused_writer_changes_only_its_own_marks(
    server: Connection, tenant: Tenants, step: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found, read, chosen = [], 0, list(orders(step))
    for order in chosen:
        played = Round(server, tenant("gravitino", FACTS))
        found += [f"{order}: {each}" for each in played.run(*order)]
        read += len(played.read)
    say(capsys, f"paused at {step}: {len(chosen)} orders of events, {read} answers, {len(found)} of them wrong")
    assert not found, "\n".join(found)


@pytest.mark.slow
def test_control_without_comparison_fails(
    server: Connection, tenant: Tenants, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other_texts(monkeypatch, UNGUARDED)
    found = []
    for others in [(2, ""), (1, "end")]:
        auth = tenant("gravitino", FACTS)
        monkeypatch.setattr(auth.store._guard, "_timeout", 2.0)
        found += [f"{others}: {each}" for each in Round(server, auth, 10.0).run("begin", "terminated", others)]
        monkeypatch.setattr(auth.store._guard, "_timeout", 60.0)
    say(capsys, f"marks without a comparison, paused at begin: {len(found)} faults, {found}")
    assert any("read" in each for each in found) and any("blocked" in each for each in found)
