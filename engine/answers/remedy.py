"""Finds the remedy of a refused check: the cheapest changes that the policy accepts and that would allow it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from grantpath.engine.answers import remedy_cost
from grantpath.engine.answers.evaluation import Evaluation, RemedyContext
from grantpath.engine.answers.remedy_candidates import Candidate, candidates
from grantpath.engine.answers.remedy_text import RemedyStep, impossible, lack
from grantpath.engine.policy.clauses import Atom, Clause, Term
from grantpath.engine.policy.facts import Fact, FactKind
from grantpath.engine.policy.statement_rules import Rules
from grantpath.graph.errors import GrantpathError
from grantpath.graph.language.reference import type_of
from grantpath.graph.language.statement import parse_statement

MAX_COMBINATIONS = 2_000


@dataclass(frozen=True)
class Remedy:
    """The nearest remedy: its statements, in order, and texts that say what is missing.

    It has no statements if no change would allow the check. `denials` are the DENYs that it revokes, for the acting
    principal (`role`, if roles act one at a time).
    """

    statements: tuple[str, ...]
    texts: list[str]
    denials: list[Fact]
    role: str | None
    cost: float


def nearest(evaluation: Evaluation, acted: Sequence[Mapping[str, Any]], context: RemedyContext | None) -> Remedy:
    """The nearest remedy. Without `context` it uses only what the check read, and some entities remain unnamed."""
    if not acted and context is None:
        return Remedy(
            (), [_no_acting_principal(evaluation), *by_operator(evaluation, [f"add {evaluation.subject}"])], [], None, 0
        )
    subject, role = evaluation.subject.text, evaluation.as_role
    if not acted and role and context and (subject, role) in context.cycles:
        why = f"no change allows it: {role} holds {subject}, so {subject} cannot hold {role}"
        return Remedy((), [why], [], None, float("inf"))
    planner = _Planner(evaluation, context)
    acting = sorted(acted, key=lambda one: one["role"] or "")  # each source finds them in another order
    ways = (way for candidate in candidates(evaluation, acting, context) for way in planner.ways(candidate))
    best = min(ways, key=lambda way: (way.cost, way.role or ""), default=None)
    return best or Remedy((), [impossible(evaluation, planner.impossible)], [], None, float("inf"))


def _no_acting_principal(evaluation: Evaluation) -> str:
    subject = evaluation.subject.text
    if evaluation.as_role:
        lacks = f"{subject} does not exist{evaluation.similar} or does not hold {evaluation.as_role}"
        return f"{lacks}: add it, member {subject} of {evaluation.as_role}"
    if evaluation.one_role:
        return (
            f"{subject} does not exist{evaluation.similar} or holds no role to act with: add it, and make it a member "
            "of a role"
        )
    return f"{subject} does not exist{evaluation.similar}: add {subject}"


def by_operator(evaluation: Evaluation, statements: Sequence[str]) -> list[str]:
    """A text that names the statements that no actor may make, so that the operator must write them as facts."""
    rules, found = Rules(evaluation.policy, evaluation.root), []
    for statement in statements:
        change = rules.resolve(parse_statement(statement), as_fact=False)
        grantee = change.subject.type if change.subject else None
        lengths = evaluation.policy.lengths(change.object, change.second_objects)
        given = frozenset(change.second_objects)
        if not evaluation.policy.change(change.kind, change.object.type, grantee, given, lengths=lengths):
            found.append(statement)
    what = "allows no actor to make this change; the operator must write it as a fact"
    return [f"the policy {evaluation.policy.name} {what}: {'; '.join(found)}"] if found else []


class _Planner:
    """Plans remedies for one question."""

    def __init__(self, evaluation: Evaluation, context: RemedyContext | None) -> None:
        self._evaluation = evaluation
        self._context = context
        self._rules = Rules(evaluation.policy, evaluation.root)
        self._valid: dict[str, bool] = {}
        self.impossible: list[Fact] = []  # facts that no change can make true

    def ways(self, candidate: Candidate) -> Iterator[Remedy]:
        """For each clause, the best way to make it true for the candidate."""
        if not all(map(self._accepted, candidate.first)):
            return
        for clause in self._evaluation.clauses:
            steps = self._clause(clause, candidate)
            if steps is not None:
                yield from self._after_joining(clause, candidate, *steps)

    def _remedy(self, candidate: Candidate, cost: int, steps: list[RemedyStep]) -> Remedy:
        statements = dict.fromkeys([*candidate.first, *(each for step in steps for each in step.statements)])
        texts = [*candidate.why, *(lack(self._evaluation, candidate, step) for step in steps)]
        texts = [*dict.fromkeys(texts), *by_operator(self._evaluation, list(statements))]
        denials = [step.fact for step in steps if step.fact.kind is FactKind.DENY]
        role = candidate.role if self._evaluation.one_role else None
        return Remedy(tuple(statements), texts, denials, role, candidate.cost + cost)

    def _after_joining(
        self, clause: Clause, candidate: Candidate, cost: int, steps: list[RemedyStep]
    ) -> Iterator[Remedy]:
        """The remedy of these steps, planned again with what the groups and roles have that the subject is to join:
        their DENYs must be revoked, and their grants need not be given again."""
        joined = [step for step in steps if step.fact.kind is FactKind.HOLDS]
        if not joined or self._context is None:
            yield self._remedy(candidate, cost, steps)
            return
        reached = [self._context.reached.get(self._evaluation.entity(step.fact), frozenset()) for step in joined]
        found = {**candidate.found, **{step.fact: [] for step in joined}}
        for fact, every in self._context.found.items():
            if by := [each for each in every if any(each in refs for refs in reached)]:
                found[fact] = list(dict.fromkeys([*found.get(fact, ()), *by]))
        later = replace(candidate, found=found)
        if again := self._clause(clause, later):
            more, further = again
            both = sorted([*joined, *further], key=_is_late)
            yield self._remedy(later, more + sum(step.cost for step in joined), both)

    # ---- clauses, terms, atoms -------------------------------------------------------------------------------
    def _clause(self, clause: Clause, candidate: Candidate) -> tuple[int, list[RemedyStep]] | None:
        lacking = [term for term in clause if not any(one.holds(candidate.found) for one in term)]
        ways = [sorted(self._term(term, candidate), key=lambda way: way[0]) for term in lacking]
        if not all(ways):
            return None
        each = max(1, int(MAX_COMBINATIONS ** (1 / max(1, len(ways)))))
        return min(map(_together, product(*(way[:each] for way in ways))), key=lambda way: way[0])

    def _term(self, term: Term, candidate: Candidate) -> list[tuple[int, tuple[RemedyStep, ...]]]:
        found = []
        for at, one in enumerate(term):
            for penalty, steps in self._atom(one, candidate):
                found.append((remedy_cost.OTHER * min(at, 4) + penalty + sum(step.cost for step in steps), steps))
        if not found:
            self.impossible += [fact for one in term for fact in self._impossible_facts(one, candidate)]
        return found

    def _impossible_facts(self, atom: Atom, candidate: Candidate) -> Iterator[Fact]:
        yield next((fact for fact in atom.none if fact in candidate.found), atom.any[0])

    def _atom(self, atom: Atom, candidate: Candidate) -> Iterator[tuple[int, tuple[RemedyStep, ...]]]:
        revoked = [self._step(fact, candidate) for fact in atom.none if fact in candidate.found]
        if not all(revoked):
            return
        first = tuple(step for step in revoked if step)
        if any(fact in candidate.found for fact in atom.any):
            yield 0, first
            return
        seen: dict[tuple[object, ...], int] = {}  # by privilege: the number of lower places already tried
        for fact in atom.any:
            grant = _besides_place(fact)
            further = seen.get(grant, 0)
            step = self._step(fact, candidate)
            if step:
                seen[grant] = further + 1
                inherited = any(_besides_place(other) == grant for other in atom.any if other != fact)
                yield remedy_cost.FURTHER * further, (*first, replace(step, inherited=inherited and not further))

    # ---- facts -----------------------------------------------------------------------------------------------
    def _step(self, fact: Fact, candidate: Candidate) -> RemedyStep | None:
        """The step that makes one fact true, or revokes a DENY; None if the policy accepts no such change."""
        entity, at = self._evaluation.entity(fact), fact.place
        match fact.kind:
            case FactKind.DENY:
                grantees = candidate.found[fact]
                on = {by: [entity] for by in grantees}
                if fact.of_tag:
                    on = {by: [*self._context.denied[fact, by]] if self._context else [] for by in grantees}
                statements = [
                    f"revoke deny {fact.granted} on {ref} from {by}" for by, refs in on.items() for ref in refs
                ]
                return self._plan(fact, statements, remedy_cost.REVOKE * max(len(statements), len(grantees)))
            case FactKind.ALLOW if fact.of_tag:
                return None  # a grant on a tag would open everything that has the tag
            case FactKind.ALLOW:
                [privilege] = fact.privileges
                if self._evaluation.policy.names.privileges[privilege].membership:
                    return None  # the remedy names the membership instead
                first = [] if self._evaluation.policy.grants_on_missing else self._missing(at)
                statement = f"allow {privilege} on {entity} to {candidate.grantee}"
                return self._plan_after(first, fact, statement, remedy_cost.of_grant(self._evaluation, privilege, at))
            case FactKind.OWNS:
                own = () if self._evaluation.one_role else (self._evaluation.subject.text,)
                owners = [f"owner {ref} of {entity}" for ref in (*own, candidate.grantee)]
                accepted = [each for each in owners if self._accepted(each)]
                if not accepted:
                    return None
                cost = remedy_cost.of_ownership(self._evaluation, at)
                return self._plan_after(self._missing(at), fact, accepted[0], cost)
            case FactKind.HOLDS:
                return self._membership(fact, entity, candidate)
            case FactKind.EXISTS:
                step = self._plan(fact, self._creation(at), remedy_cost.STATEMENT)
                return replace(step, statements=()) if step and self._context is None else step
            case FactKind.ALLOW_BELOW:
                return self._below(fact, candidate, all_of_them=False)
            case FactKind.EVERY_BELOW:
                return self._below(fact, candidate, all_of_them=True)
        return None

    def _plan(self, fact: Fact, statements: Sequence[str], cost: int) -> RemedyStep | None:
        return RemedyStep(fact, tuple(statements), cost) if all(map(self._accepted, statements)) else None

    def _membership(self, fact: Fact, container: str, candidate: Candidate) -> RemedyStep | None:
        members = {candidate.joiner}
        if candidate.first:  # they make the subject a member of the joiner
            members.add(self._evaluation.subject.text)
        if self._context and any((member, container) in self._context.cycles for member in members):
            return None
        cost = remedy_cost.of_membership(self._evaluation, container)
        statement = f"member {candidate.joiner} of {container}"
        return self._plan_after(self._missing(fact.place), fact, statement, cost)

    def _plan_after(self, first: Sequence[str], fact: Fact, statement: str, cost: int) -> RemedyStep | None:
        """The step of a statement, which needs what the first ones add."""
        return self._plan(fact, [*first, statement], cost + remedy_cost.STATEMENT * len(first))

    def _missing(self, at: str) -> list[str]:
        """The statements that add a place, if it is known not to exist."""
        ref = self._evaluation.by_at.get(at)
        missing = ref is not None and self._context is not None and ref.text not in self._context.existing
        return self._creation(at) if missing else []

    def _creation(self, at: str) -> list[str]:
        """The statements that add a place and those of its ancestors that do not exist."""
        evaluation = self._evaluation
        chain = [ref for _, ref in evaluation.policy.chain(evaluation.by_at[at], evaluation.root)]
        missing = [ref for ref in chain[1:] if self._context and ref.text not in self._context.existing]
        return [f"add {ref}" for ref in [*reversed(missing), chain[0]]]

    def _below(self, fact: Fact, candidate: Candidate, all_of_them: bool) -> RemedyStep | None:
        """Grants on entities below a place: on the first one, or on all that lack the grant."""
        cost = remedy_cost.of_grant(self._evaluation, fact.privileges[0], fact.place)
        if self._context is None:
            return (
                RemedyStep(fact, (), cost)
                if type_of(candidate.grantee) in self._evaluation.policy.file.grants.to
                else None
            )
        inside = self._context.inside.get(fact, ())
        if not inside:
            missing = self._missing(fact.place) if all_of_them else []
            return self._plan(fact, missing, remedy_cost.STATEMENT * len(missing)) if missing else None
        names, granted = self._evaluation.policy.names, []
        for ref in inside if all_of_them else inside[:1]:
            on = next((each for each in fact.privileges if type_of(ref) in names.privileges[each].on), None)
            if on is None:
                return None
            granted.append(f"allow {on} on {ref} to {candidate.grantee}")
        step = self._plan(fact, granted, cost + remedy_cost.STATEMENT * (len(granted) - 1))
        return replace(step, lacking=tuple(inside[: len(granted)])) if step else None

    def _accepted(self, statement: str) -> bool:
        """Whether the policy accepts the statement. The state of the graph is not checked."""
        if statement not in self._valid:
            try:
                self._rules.resolve(parse_statement(statement), as_fact=False)
                self._valid[statement] = True
            except GrantpathError:
                self._valid[statement] = False
        return self._valid[statement]


def _together(ways: Sequence[tuple[int, tuple[RemedyStep, ...]]]) -> tuple[int, list[RemedyStep]]:
    """Combines steps without duplicates, and puts the creation of missing entities first."""
    penalties = sum(cost - sum(step.cost for step in steps) for cost, steps in ways)
    steps = {step.fact: step for _, each in ways for step in each}
    return penalties + sum(step.cost for step in steps.values()), sorted(steps.values(), key=_is_late)


def _is_late(step: RemedyStep) -> bool:
    return step.fact.kind is not FactKind.EXISTS


def _besides_place(fact: Fact) -> tuple[object, ...]:
    return fact.kind, fact.privileges, fact.types
