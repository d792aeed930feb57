"""Answers single questions, from numbered entities or (`ask`) from a snapshot."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, Protocol

import numpy as np

from grantpath.engine.answers.request import ResolvedQuestion, only_within, resolve_each
from grantpath.engine.facts.kernel.fact_table import FactTable, Prepared, TargetedQuestion, targeted_at
from grantpath.engine.facts.kernel.folding import fold
from grantpath.engine.facts.kernel.intervals import ActingPrincipals, Ints
from grantpath.engine.facts.kernel.principals import Closure, Roles, as_role
from grantpath.engine.facts.kernel.tree_order import Numbering
from grantpath.engine.facts.snapshot.snapshot_reader import SnapshotReader
from grantpath.engine.policy.clauses import Clauses, facts_of
from grantpath.engine.policy.facts import Fact, FactKind
from grantpath.engine.policy.policy import Policy
from grantpath.graph.distinct_numbers import distinct
from grantpath.graph.errors import Inconsistent, InvalidInput, Unknown
from grantpath.graph.files.remote_path import AnyPath
from grantpath.graph.language.near_names import SUGGEST_AMONG, nearest
from grantpath.graph.language.reference import Reference
from grantpath.graph.language.statement import Check, Which, Who, parse_check, parse_question
from grantpath.graph.messages import short


@dataclass(frozen=True)
class SnapshotAnswer:
    """The answer at one revision: a complete list of references in byte order, or true or false for a check.

    `absent`: if nothing is allowed because the subject does not exist, says so, with similar names. None in answers
    about other revisions than that of the snapshot.
    """

    answer: list[str] | bool
    revision: int
    complete: bool = True
    absent: str | None = field(default=None, compare=False)


@dataclass(frozen=True)
class BoundQuestion:
    """A resolved question with the positions of its subjects and targets in one tenant."""

    kind: Literal["check", "who", "which"]
    ask: TargetedQuestion
    subjects: Ints  # empty if the subject does not exist
    one_role: bool
    as_role: int | None


class QuestionBinder:
    """Resolves questions as the Authorizer does, and looks up their entities in one tenant."""

    def __init__(
        self, policy: Policy, root: Reference, numbering: Numbering, find: Callable[[str], int | None]
    ) -> None:
        """`find` returns the position of a reference, None if it has none."""
        self._policy = policy
        self._root = root
        self._numbering = numbering
        self._find = find
        hidden = [at for ref in policy.hidden if (at := find(ref)) is not None]
        self._shown = np.ones(len(numbering), np.bool_)
        self._shown[hidden] = False

    def bind(self, words: Check | Who | Which) -> list[BoundQuestion]:
        """Resolves a question; with the type `any` there is one for each type. Raises Unknown, InvalidReference,
        Invalid as the Authorizer does."""
        return [self._bound(words, question) for question in resolve_each(self._policy, self._root, words)]

    def _bound(self, words: Check | Who | Which, question: ResolvedQuestion) -> BoundQuestion:
        seconds, absent = {}, []
        for key, ref in question.second_objects.items():
            if not question.requirement.with_[key].new:
                seconds[key] = self._position(ref)
            elif (at := self._find(ref.text)) is not None:
                seconds[key] = at
            else:
                absent.append(key)
        ask = self._targets(question, seconds, absent)
        role = None if question.as_role is None else self._position(self._reference(question.as_role))
        kind: Literal["check", "who", "which"] = (
            "who" if isinstance(words, Who) else "check" if isinstance(words, Check) else "which"
        )
        subjects = self._listed(question) if question.subject is None else self._found(question.subject)
        return BoundQuestion(kind, ask, subjects, question.one_role, role)

    def _reference(self, text: str) -> Reference:
        return self._policy.reference(text, self._root)

    def _position(self, ref: Reference) -> int:
        """The position of an entity. Raises Unknown if it does not exist."""
        at = self._find(ref.text)
        if at is None or not self._shown[at] or not self._numbering.exists[at]:
            error = Unknown(f"{ref} does not exist", "; add it, or check the name", absent=ref.text)
            error.suggest(self._nearest(ref))
            raise error
        return at

    def absence(self, subject: str) -> str | None:
        """`user:bop does not exist in the snapshot (did you mean user:bob?)`; None if it exists."""
        ref = self._policy.reference(subject, self._root)
        at = self._find(ref.text)
        if at is not None and self._numbering.exists[at]:
            return None
        return f"{short(ref.text)} does not exist in the snapshot{self._nearest(ref)}"

    def _nearest(self, ref: Reference) -> str:
        listed = np.flatnonzero(self._numbering.of_type(ref.type) & self._shown)
        if len(listed) > SUGGEST_AMONG:
            return ""
        return nearest(ref.text, [self._numbering.refs[at] for at in listed.tolist()])

    def _targets(self, question: ResolvedQuestion, seconds: Mapping[str, int], absent: list[str]) -> TargetedQuestion:
        """The clauses on the object, or on all objects of a type; for a missing object, on its nearest ancestor."""
        clauses, object_ = question.requirement.clauses, question.object
        if absent:
            clauses = self._without_absent(clauses, question, absent)
        if object_ is None:
            type_ = question.requirement.type
            chosen = self._numbering.of_type(type_) & self._numbering.exists & self._shown
            targets = np.flatnonzero(chosen)
            if question.within:
                refs = [self._numbering.refs[at] for at in targets.tolist()]
                targets = targets[np.isin(refs, only_within(self._policy, self._root, [question], refs))]
            asked = targeted_at(self._numbering, question.requirement, targets, seconds)
            if not absent:
                return asked
            by_length = {each: self._without_absent(some, question, absent) for each, some in asked.by_length.items()}
            return replace(asked, clauses=clauses, by_length=by_length)
        if not question.requirement.may_be_missing or object_.text in self._policy.hidden:
            self._position(object_)
        missing: list[str] = []
        for place, ref in self._policy.chain(object_, self._root):
            at = self._find(ref.text)
            if at is not None:
                return TargetedQuestion(_without(clauses, missing), ref.type, np.array([at]), seconds)
            missing.append(place)
        raise Inconsistent(f"{self._root} does not exist in the snapshot; mirror it again")

    @staticmethod
    def _without_absent(clauses: Clauses, question: ResolvedQuestion, absent: list[str]) -> Clauses:
        return _without(clauses, [at for at in question.places if at.startswith(_prefixes(absent))])

    def _listed(self, question: ResolvedQuestion) -> Ints:
        codes = [self._numbering.types.index(name) for name in question.listed]
        return np.flatnonzero(np.isin(self._numbering.type, codes) & self._numbering.exists & self._shown)

    def _found(self, ref: Reference) -> Ints:
        """The position of a subject; empty if it does not exist, so that it is not allowed anything."""
        at = self._find(ref.text)
        return np.array([at] if at is not None and self._numbering.exists[at] else [], np.int64)


def _prefixes(keys: list[str]) -> tuple[str, ...]:
    return tuple(f"with.{key}." for key in keys)


def _without(clauses: Clauses, missing: list[str]) -> Clauses:
    """The clauses without facts about missing places. On these, only `EVERY` is true, because nothing is below them."""
    known: dict[Fact, bool] = {
        fact: fact.kind is FactKind.EVERY_BELOW for fact in facts_of(clauses) if fact.place in missing
    }
    return fold(clauses, known)


def evaluate(
    question: BoundQuestion, fact_table: FactTable, closure: Callable[[Ints, Ints], Closure], roles: Callable[[], Roles]
) -> Ints:
    """The positions of the answer: subjects for `who`, targets for `check` and `which`.

    `closure` returns the effective principals of subjects, at least those that its second argument lists; the others
    have no facts. `roles` returns the roles that subjects hold directly.
    """
    prepared = Prepared(fact_table, [question.ask])
    needed = np.flatnonzero(np.diff(prepared.facts.offset))
    if question.as_role is not None:
        needed = np.append(needed, question.as_role)
    found = []
    for acting in _acting(question, lambda subjects: closure(subjects, needed), roles):
        for piece in acting.pieces(prepared.facts):
            ((row, low, high),) = prepared.answers(piece)
            if question.kind == "who":
                found.append(piece.subject[row])
            else:
                found += [question.ask.targets[a:b] for a, b in zip(low, high, strict=True)]
    return distinct(np.concatenate([np.empty(0, np.int64), *found]))


def _acting(
    question: BoundQuestion, closure: Callable[[Ints], Closure], roles: Callable[[], Roles]
) -> list[ActingPrincipals]:
    subjects = question.subjects
    if not len(subjects):
        return []
    if question.as_role is not None:
        held = closure(np.array([*subjects, question.as_role]))
        if question.as_role not in held.principals(int(subjects[0])):
            return []
        return [as_role(int(subjects[0]), question.as_role, held) if question.one_role else held.acting(subjects)]
    if not question.one_role:
        return [closure(subjects).acting(subjects)]
    direct = roles()
    used = direct.role[np.isin(direct.subject, subjects)]
    return [direct.acting(subjects, closure(distinct(used)))]


class PastState(Protocol):
    """A root as it was at a revision."""

    def answer(self, question: str) -> SnapshotAnswer: ...


class WithPast(Protocol):
    """An open root whose log leads from a snapshot to other revisions. An Authorizer is one."""

    def past(self, as_of: int | str | datetime, *, snapshots: Iterable[AnyPath | str]) -> PastState: ...


def ask(
    snapshot: AnyPath | str,
    question: str,
    *,
    as_of: int | str | datetime | None = None,
    authorizer: WithPast | None = None,
) -> SnapshotAnswer:
    """The answer to `who can ...`, `which ... can ...`, or a check line, from a snapshot alone.

    The answer to a check line is whether the line is true. With `as_of` the answer is that of another revision or time,
    which is computed from the snapshot or from the present with the log of `authorizer`. Raises Unknown,
    InvalidReference, Invalid, InvalidInput, and with `as_of` the errors of `Authorizer.past`.
    """
    if as_of is not None:
        if authorizer is None:
            raise InvalidInput("as_of needs the log, which is in the database; pass the open root as authorizer=")
        return authorizer.past(as_of, snapshots=[snapshot]).answer(question)
    source = SnapshotReader(snapshot)
    expected = True
    words: Check | Who | Which
    if question.split()[:1] in (["who"], ["which"]):
        words = parse_question(question)
    else:
        words, expected = parse_check(question)
    binder = QuestionBinder(source.policy, source.root, source.numbering, source.refs.find)
    found = distinct(np.concatenate([_found(source, bound) for bound in binder.bind(words)]))
    absent = None if len(found) or isinstance(words, Who) else binder.absence(words.subject)
    answer = bool(len(found)) == expected if isinstance(words, Check) else sorted(source.refs.at(found))
    return SnapshotAnswer(answer, source.meta.revision, absent=absent)


def _found(source: SnapshotReader, bound: BoundQuestion) -> Ints:
    """The positions of the answer to one question."""
    facts, own = source.fact_table, None
    if bound.kind != "who":  # a single subject needs only its own principals
        own = source.closure(bound.subjects)
        facts = facts.of(own.principal)

    def closure(subjects: Ints, principals: Ints) -> Closure:
        """Reads all subjects for a question about all users, because that is faster than a search for each of them."""
        if own is None:
            return source.closure(None, principals)
        return own if subjects is bound.subjects else source.closure(subjects, principals)

    return evaluate(bound, facts, closure, lambda: source.roles)
