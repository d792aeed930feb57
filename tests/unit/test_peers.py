"""The benchmark beside other systems: each has the interface, wrong answers are counted, and the oracle is right."""

import importlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ..oracle import oracle

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SMALL = {"users": 60, "groups": 12, "roles": 12, "catalogs": 2, "schemas": 3, "tables": 4, "grants": 300}
QUESTIONS = 400


@pytest.fixture
def peers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The program of the benchmark, whose folder is on the path only meanwhile."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    before = set(sys.modules)
    yield importlib.import_module("compare_peers")
    for name in set(sys.modules) - before:
        if str(BENCHMARKS) in str(getattr(sys.modules[name], "__file__", None)):
            del sys.modules[name]


@pytest.fixture
def facts(peers: Any, tmp_path: Path) -> Any:
    generator = sys.modules["generate"]
    generator.generate(tmp_path, generator.Size(**SMALL, policy="lakehouse", nested=True, root="acme"), seed=5)
    return peers.read_facts(tmp_path, "metalake:acme")


def test_every_system_has_the_interface_and_says_how_it_is_set_up(peers: Any) -> None:
    for name in peers.PEERS:
        peer = peers.peer_named(name)  # an incomplete class cannot be instantiated
        assert peer.name and len(peer.set_up) > 40


def test_a_missing_system_has_a_note_in_place_of_figures(peers: Any) -> None:
    column = peers.Measured("Absent", "as usual", missing="the Python package absent is not installed")
    assert "| Absent | the Python package absent is not installed |" in peers.report.table([column])
    assert peers.report.set_ups([column]) == ""


def test_the_plain_answers_equal_those_of_the_oracle(peers: Any, facts: Any, tmp_path: Path) -> None:
    world = oracle("lakehouse", "acme")
    for each in [*facts.subjects, *facts.above]:
        assert world.given(f"add {each}") == "done"
    for member, of in facts.members:
        assert world.given(f"member {member} of {of}") == "done"
    for grant in facts.grants:
        assert world.given("{} {} on {} to {}".format(*grant)) == "done"
    plain = peers.PlainAnswers(facts)
    answers = [
        (question, plain.check(question), world.check(*question))
        for question in peers.read_questions(tmp_path, QUESTIONS, 5)
    ]
    assert len(answers) == QUESTIONS
    assert [each for each in answers if each[1] != each[2]] == []
    assert 20 < sum(right for _, _, right in answers) < QUESTIONS - 20
    question = next(question for question, _, right in answers if right)
    assert plain.list_users(question.privilege, question.object) == world.who(question.privilege, question.object)
    assert plain.list_objects(question.user, question.privilege) == world.which(
        "table", question.user, question.privilege
    )


def test_wrong_answers_are_counted_and_shown(peers: Any, facts: Any, tmp_path: Path) -> None:
    class Forgetful(peers.Peer):  # type: ignore[misc]
        """Answers as the oracle, but knows no change."""

        name, set_up = "forgetful", "in a test"

        def load(self, facts: Any) -> None:
            self.plain = peers.PlainAnswers(facts)

        def check(self, question: Any) -> Any:
            return self.plain.check(question)

        def check_many(self, questions: Sequence[Any]) -> list[Any]:
            return [self.check(each) for each in questions]

        def list_objects(self, user: str, privilege: str) -> Any:
            return self.plain.list_objects(user, privilege)

        def list_users(self, privilege: str, table: str) -> Any:
            return self.plain.list_users(privilege, table)

        def change(self, grant: Any, added: bool) -> None:
            pass

    questions = peers.read_questions(tmp_path, 20, 5)
    changes: Sequence[Any] = peers.draw_changes(facts, 40, 5)
    work = peers.Work(facts, questions, [questions], questions[:3], changes, 60.0)
    measured = peers.measure(Forgetful(), work, lambda: None, peers.PlainAnswers(facts))
    assert [figure.wrong for kind, figure in measured.figures.items() if kind != "change"] == [0, 0, 0, 0]
    assert measured.figures["change"].wrong >= 5
    assert f"change: {measured.figures['change'].wrong} of 40" in peers.report.table([measured])


def test_a_program_that_cannot_be_built_is_reported_in_one_line(
    peers: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GRANTPATH_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(peers.NotInstalled, match=r"^go is not installed$"):
        importlib.import_module("peers.programs").built_by_go("absent", "example.org/absent", "v1.0.0")


def test_a_server_that_ends_at_once_is_reported_with_its_last_line(peers: Any) -> None:
    command = [sys.executable, "-c", "print('first'); print('no such flag')"]
    with pytest.raises(peers.NotInstalled, match=r"does not start: no such flag$"):
        importlib.import_module("peers.programs").Server(command, lambda: False)
