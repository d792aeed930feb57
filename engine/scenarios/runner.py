"""Runs scenario files: each scenario in a new tenant; Cypher, Spark, both, or the facts in memory answer each line."""

import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from grantpath.engine.authorizer.authorizer import Authorizer
from grantpath.engine.policy import policy as policies
from grantpath.engine.policy.policy import Policy
from grantpath.engine.scenarios.scenario_file import Expected, Line, Scenario, read_scenarios
from grantpath.engine.tenants import registry
from grantpath.engine.tenants.tenant_state import TenantState, read_state
from grantpath.graph.errors import (
    GrantpathError,
    Inconsistent,
    Invalid,
    InvalidInput,
    Refused,
    ServerError,
    Unavailable,
)
from grantpath.graph.guard.store import Store
from grantpath.graph.language.reference import Reference
from grantpath.graph.language.statement import Check, Which, Who

Engine = Literal["cypher", "spark", "both", "memory"]
Question = Check | Who | Which
Answer = bool | list[str] | GrantpathError


Bulk = Callable[[Sequence[TenantState], Sequence[tuple[str, Question]]], Sequence[Answer]]


@dataclass(frozen=True)
class Result:
    """The result of one line. It passes if `expected` and `got` are equal. Of a text such as `error: REASON`, only the
    word before the colon counts."""

    file: str
    scenario: str
    line: int
    statement: str
    expected: Expected
    got: Expected
    engine: str
    explanation: str = ""

    @property
    def passed(self) -> bool:
        if isinstance(self.got, str) and isinstance(self.expected, str):
            return self.got.partition(":")[0] == self.expected
        return self.got == self.expected


@dataclass(frozen=True)
class Report:
    """All results of a run, in the order of the files and lines."""

    results: list[Result]

    @property
    def passed(self) -> int:
        return sum(result.passed for result in self.results)

    @property
    def failed(self) -> int:
        return len(self.results) - self.passed


def read_files(files: Iterable[Path]) -> list[Scenario]:
    """The scenarios of files, and of the .yaml and .yml files in folders. Raises InvalidInput with file, line and
    reason."""
    scenarios = []
    for path in files:
        found = sorted([*path.rglob("*.yaml"), *path.rglob("*.yml")]) if path.is_dir() else [path]
        if not found:
            raise InvalidInput(f"{path} has no .yaml or .yml file; name a folder with scenarios")
        for file in found:
            scenarios += read_scenarios(file)
    return scenarios


def run(
    scenarios: Sequence[Scenario],
    store: Store | None,
    engine: Engine = "cypher",
    bulk: Bulk | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Runs scenarios. `bulk` is the Spark engine: it answers all questions of the run, about all states, at once. The
    engine `memory` answers questions and makes changes without a server, so `store` can be None.

    Raises Unavailable, Inconsistent, ServerError and InvalidPolicy, Invalid if Spark must answer but `bulk` is missing,
    and InvalidInput if an expected answer is not a reference. Other errors of a line are its result.
    """
    with _Tenants(store) if store is not None else _MemoryTenants() as tenants:
        runner = _Runner(tenants, engine)
        for at, scenario in enumerate(scenarios):
            try:
                runner.run(scenario)
            except (Unavailable, ServerError, Inconsistent) as error:
                raise error.prefixed(f"{scenario.file}: {scenario.name}: ") from error
            if progress:
                progress(at + 1, len(scenarios))
    if engine in ("spark", "both"):
        if bulk is None:
            raise Invalid(f"the engine {engine!r} requires a bulk evaluator; pass `bulk`")
        runner.answer_in_bulk(bulk)
    return Report(runner.ordered())


class _Tenants(ExitStack):
    """The tenants of a run: one for each policy and root, which is made new for each scenario. They have a suffix that
    no reference can have, and are removed when the run ends."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store = store
        self._made: dict[tuple[str, Reference], str] = {}

    def new(self, policy: Policy, root: Reference) -> Authorizer:
        """A tenant without facts, history and request ids."""
        tenant = self._made.get((policy.digest, root))
        if tenant is not None:
            registry.renew(self._store, tenant, policy, root)
        else:
            tenant = self._made[policy.digest, root] = f"{root.text}~{uuid.uuid4().hex}"
            self.callback(registry.remove, self._store, tenant)
            registry.create(self._store, tenant, policy, root)
        return Authorizer(self._store, tenant, policy, root)


class _MemoryTenants(ExitStack):
    """The tenants of a run in memory."""

    def new(self, policy: Policy, root: Reference) -> Authorizer:
        """A tenant without facts."""
        from grantpath.engine.memory.memory_authorizer import MemoryAuthorizer  # only here: it needs an extra

        return MemoryAuthorizer(policy, root)


class _Runner:
    def __init__(self, tenants: _Tenants | _MemoryTenants, engine: Engine) -> None:
        self._tenants = tenants
        self._changing = "memory" if engine == "memory" else "cypher"  # the engine that makes changes
        self._engine = engine
        self._policies: dict[tuple[str, Path], Policy] = {}
        self._states: list[TenantState] = []
        self._asked: list[tuple[str, Scenario, Line, int]] = []
        self._results: list[tuple[int, Result]] = []
        self._place = 0

    def ordered(self) -> list[Result]:
        return [result for _, result in sorted(self._results, key=lambda each: each[0])]

    def run(self, scenario: Scenario) -> None:
        """Runs one scenario in a new tenant."""
        policy = self._policy(scenario)
        root = policy.root(scenario.root)
        scenario = _canonical(scenario, policy, root)
        authorizer = self._tenants.new(policy, root)
        if self._given(scenario, authorizer):
            self._then(scenario, authorizer)

    def _policy(self, scenario: Scenario) -> Policy:
        key = (scenario.policy, scenario.file.parent)
        if key not in self._policies:
            self._policies[key] = policies.load(scenario.policy, scenario.file.parent)
        return self._policies[key]

    def _given(self, scenario: Scenario, authorizer: Authorizer) -> bool:
        wrong = authorizer.given([line.text for line in scenario.given])
        for line, problem in zip(scenario.given, wrong, strict=True):
            if problem is not None:
                self._add(scenario, line, f"invalid: {problem}", self._changing)
                return False
        return True

    def _then(self, scenario: Scenario, authorizer: Authorizer) -> None:
        state: str | None = None
        for line in scenario.then:
            if line.question is None:
                self._change(scenario, line, authorizer)
                state = None
                continue
            if self._engine != "spark":
                self._answer(scenario, line, authorizer, line.question)
            if self._engine in ("spark", "both"):
                state = state or self._take(authorizer)
                self._asked.append((state, scenario, line, self._next()))

    def _change(self, scenario: Scenario, line: Line, authorizer: Authorizer) -> None:
        try:
            authorizer.change(line.text, by=line.actor, as_role=line.as_role)
            self._add(scenario, line, "done", self._changing)
        except Refused as error:
            self._add(scenario, line, "refused", self._changing, str(error))
        except Invalid as error:
            self._add(scenario, line, "invalid", self._changing, str(error))

    def _answer(self, scenario: Scenario, line: Line, authorizer: Authorizer, question: Question) -> None:
        explanation = ""
        try:
            got = _ask(authorizer, question)
            if isinstance(question, Check) and got != line.expected:
                explanation = _explain(authorizer, question)
        except (Unavailable, ServerError, Inconsistent):
            raise
        except GrantpathError as error:
            got = f"error: {error}"
        self._add(scenario, line, got, self._changing, explanation)

    def _take(self, authorizer: Authorizer) -> str:
        self._states.append(read_state(f"{len(self._states)}", authorizer))
        return self._states[-1].id

    def answer_in_bulk(self, bulk: Bulk) -> None:
        """Adds the answers of the bulk engine, all at once."""
        questions = [(state, line.question) for state, _, line, _ in self._asked if line.question]
        for (_, scenario, line, place), answer in zip(self._asked, bulk(self._states, questions), strict=True):
            got: Expected = f"error: {answer}" if isinstance(answer, GrantpathError) else answer
            self._results.append((place, _result(scenario, line, got, "spark", "")))

    def _add(self, scenario: Scenario, line: Line, got: Expected, engine: str, explanation: str = "") -> None:
        self._results.append((self._next(), _result(scenario, line, got, engine, explanation)))

    def _next(self) -> int:
        self._place += 1
        return self._place


def _canonical(scenario: Scenario, policy: Policy, root: Reference) -> Scenario:
    """The scenario with canonical references in its expected answers. Raises InvalidInput with file and line."""

    def parsed(line: Line) -> Line:
        if not isinstance(line.expected, list):
            return line
        try:
            expected = {policy.reference(ref, root).text for ref in line.expected}
        except Invalid as error:
            raise InvalidInput(f"{scenario.file}:{line.number}: answer: {error}") from None
        return replace(line, expected=sorted(expected))

    return replace(scenario, then=[parsed(line) for line in scenario.then])


def _result(scenario: Scenario, line: Line, got: Expected, engine: str, explanation: str) -> Result:
    if isinstance(got, list):
        got = sorted(got)
    return Result(str(scenario.file), scenario.name, line.number, line.text, line.expected, got, engine, explanation)


def _ask(authorizer: Authorizer, question: Question) -> Expected:
    match question:
        case Check():
            return authorizer.check(
                question.subject, question.name, question.object, as_role=question.as_role, with_=question.with_
            ).allowed
        case Who():
            return list(authorizer.who(question.name, question.object, with_=question.with_))
        case Which():
            return list(
                authorizer.which(
                    question.type, question.subject, question.name, as_role=question.as_role, with_=question.with_
                )
            )


def _explain(authorizer: Authorizer, check: Check) -> str:
    explanation = authorizer.explain(check.subject, check.name, check.object, as_role=check.as_role, with_=check.with_)
    return "; ".join([*explanation.decision.because, *explanation.decision.missing, *explanation.paths])
