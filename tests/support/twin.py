"""A random tenant both in the oracle and in the graph, to find differences between their answers."""

import os
import random
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from grantpath.engine import Authorizer, Invalid
from grantpath.graph.language.statement import Check, Which, Who

from ..conftest import Tenants
from ..oracle import Oracle, OracleError, oracle
from .random_world import ROOT_NAME, random_checks, random_statements, random_world

SEED = int(os.environ.get("GRANTPATH_SEED", "20260"))
POLICIES = ["gravitino", "lakehouse", "deltastream", "onehouse", "cdap", "cdap_design"]

Answer = bool | list[str] | str
Asked = tuple[str, str, str, tuple[tuple[str, str], ...], str | None]  # subject, name, object, second objects, role


class Twin:
    """A tenant in the oracle and in the graph; collects the differences between their answers."""

    def __init__(self, tenants: Tenants, policy: str, seed: str, size: int) -> None:
        self.rng = random.Random(f"{policy} {seed}")
        self.world: Oracle = oracle(policy, ROOT_NAME)
        self.graph: Authorizer = tenants(policy, root=ROOT_NAME)
        self.label = f"policy {policy}, GRANTPATH_SEED={SEED}, world {seed}"
        self.decided: set[Asked] = set()
        self.allowed = 0
        self.errors = 0
        self.differences: list[str] = []
        self.questions: list[tuple[Check | Who | Which, Answer]] = []  # each with the oracle's answer
        self.stated: list[str] = []
        self.say(random_world(policy, self.rng, size))

    # ---- facts -----------------------------------------------------------------------------------------------
    def say(self, facts: Iterable[str]) -> None:
        """Gives both the same facts, valid and invalid ones; both must accept the same ones."""
        facts = list(facts)
        expected = [self.world.given(fact) for fact in facts]
        got = ["invalid" if problem else "done" for problem in self.graph.given(facts)]
        self.stated += facts
        for fact, wanted, answer in zip(facts, expected, got, strict=True):
            self.compare(f"given {fact!r}", wanted, answer)

    def say_bad_ones(self, count: int) -> None:
        """Gives both statements as facts, many of which break rules."""
        self.say(statement for statement, _, _ in random_statements(self.world.policy, self.world, self.rng, count))

    # ---- questions -------------------------------------------------------------------------------------------
    def check_random(self, count: int) -> None:
        """Runs random checks of all names, in one batch."""
        self.check([_asked(*check) for check in random_checks(self.world, self.rng, count)])

    def check(self, asked: list[Asked]) -> None:
        """Runs valid checks, in one batch."""
        expected = [self.world.check(subject, name, on, dict(with_), role) for subject, name, on, with_, role in asked]
        got = self.graph.check_many(as_check(each) for each in asked)
        for each, wanted, decision in zip(asked, expected, got, strict=True):
            self.compare(f"check {each}", wanted, decision.allowed)
            if bool(decision.because) != wanted or bool(decision.missing) == wanted:
                self.differences.append(f"check {each} says neither why nor what is missing: {decision}")
        self.decided.update(asked)
        self.allowed += sum(expected)
        self.questions += zip(map(as_check, asked), expected, strict=True)

    def list_everything(self) -> None:
        """Runs one `who` and one `which` question for each name on each type."""
        subjects = [str(ref) for ref in sorted(self.world.existing) if ref.type in self.world.people]
        for type_ in self.world.types:
            objects = self.world.objects(type_)
            for name, keys in self.world.names_on(type_) if objects else ():
                second = {key: self.rng.choice(self.world.objects(of) or ["nothing"]) for key, of in keys.items()}
                self.who(name, self.rng.choice(objects), second, subjects)
                role = self._some_role() if self.world.active_roles and self.rng.random() < 0.3 else None
                self.which(type_, self.rng.choice(subjects), name, second, role, objects)

    def _some_role(self) -> str:
        return self.rng.choice([role for role in self.world.subjects() if role.startswith("role:")])

    def who(self, name: str, on: str, second: dict[str, str], subjects: list[str]) -> None:
        """Compares one list of users, each of which is a decision."""
        wanted = outcome(lambda: sorted(self.world.who(name, on, second), key=str.encode))
        got = outcome(lambda: list(self.graph.who(name, on, with_=second)))
        self.compare(f"who can {name} on {on} with {second}", wanted, got)
        self.questions.append((Who(name=name, object=on, with_=second), wanted))
        if isinstance(wanted, list):
            self.decided.update(_asked(subject, name, on, second, None) for subject in subjects)
            self.allowed += len(wanted)

    def which(
        self, type_: str, subject: str, name: str, second: dict[str, str], role: str | None, objects: list[str]
    ) -> None:
        """Compares one list of objects, each of which is a decision."""
        wanted = outcome(lambda: sorted(self.world.which(type_, subject, name, second, role), key=str.encode))
        got = outcome(lambda: list(self.graph.which(type_, subject, name, with_=second, as_role=role)))
        self.compare(f"which {type_} can {subject} as {role} {name} with {second}", wanted, got)
        self.questions.append((Which(type=type_, subject=subject, name=name, with_=second, as_role=role), wanted))
        if isinstance(wanted, list):
            self.decided.update(
                _asked(subject, name, on, second, role)
                for on in objects
                if outcome(partial(self.world.check, subject, name, on, second, role)) != "error"  # of another place
            )
            self.allowed += len(wanted)

    def ask_wrongly(self, count: int) -> None:
        """Runs checks with one word replaced by a random word; mostly errors, which must be the same in both."""
        names = [*self.world.privileges, *self.world.operations, "FLY", "fly"]
        nowhere = ["user:not-there", "role:not-there", "spaceship:x", "nothing", "user:`a", "user:a b"]
        refs = [*self.world.objects(), *nowhere]
        for subject, name, on, with_, role in random_checks(self.world, self.rng, count):
            parts: dict[str, Any] = {"subject": subject, "name": name, "on": on, "with": with_, "role": role}
            part = self.rng.choice(list(parts))
            word = self.rng.choice(refs)
            parts[part] = {"name": self.rng.choice(names), "with": {**with_, "tag": word}}.get(part, word)
            subject, name, on, with_, role = parts.values()
            wanted = outcome(lambda: self.world.check(subject, name, on, with_, role))  # noqa: B023
            got = outcome(lambda: self.graph.check(subject, name, on, with_=with_, as_role=role).allowed)  # noqa: B023
            self.compare(f"check {_asked(subject, name, on, with_, role)}", wanted, got)
            self.errors += wanted == "error"
            self.questions.append((as_check(_asked(subject, name, on, with_, role)), wanted))

    def explain_some(self, count: int) -> None:
        """Explanations must agree with checks, and their paths must start at the subject."""
        for check in random_checks(self.world, self.rng, count):
            subject, name, on, with_, role = check
            explained = self.graph.explain(subject, name, on, with_=with_, as_role=role)
            self.compare(f"explain {check}", self.world.check(*check), explained.decision.allowed)
            paths = [path for path in explained.paths if path not in explained.decision.because]
            if any(not path.startswith(f"{subject} -") for path in paths):
                self.differences.append(f"explain {check} has a path from another subject: {explained.paths}")

    # ---- results ---------------------------------------------------------------------------------------------
    def compare(self, what: str, wanted: object, got: object) -> None:
        """Records a difference, if there is one."""
        if wanted != got:
            self.differences.append(f"{what}: the oracle says {_short(wanted, got)}, the graph {_short(got, wanted)}")

    def report(self) -> str:
        """The text of a failed test: the seed, the differences and their number."""
        return "\n".join([self.label, f"{len(self.differences)} differences:", *self.differences[:10]])


def outcome(ask: Callable[[], bool | list[str]]) -> Answer:
    """The answer, or the fact that it is an error."""
    try:
        return ask()
    except (OracleError, Invalid):
        return "error"


def _asked(subject: str, name: str, on: str, with_: dict[str, str], role: str | None) -> Asked:
    return subject, name, on, tuple(sorted(with_.items())), role


def as_check(asked: Asked) -> Check:
    subject, name, on, with_, role = asked
    return Check(subject=subject, name=name, object=on, with_=dict(with_), as_role=role)


def _short(mine: object, other: object) -> object:
    """The elements that only this list has, if both lists are long."""
    if isinstance(mine, list) and isinstance(other, list):
        return [each for each in mine if each not in other] or f"{len(mine)} of these"
    return mine
