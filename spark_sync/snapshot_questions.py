"""Single questions: resolves their names, and answers them from numbered entities; `ask` does so from a snapshot."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from grantpath.engine.decide.request import active_role, check_seconds, subject_asked_about
from grantpath.engine.policy.clauses import Clauses, Fact, facts_of
from grantpath.engine.policy.policy import Policy, Question
from grantpath.graph.errors import Unknown
from grantpath.graph.near_names import nearest
from grantpath.graph.reference import Reference
from grantpath.graph.statement import Check, Which, Who, parse_check, parse_question
from grantpath.spark_sync.fact_table import Ask, Estate, Prepared, fold
from grantpath.spark_sync.intervals import Hats, Ints
from grantpath.spark_sync.principals import Closure, Roles, as_role
from grantpath.spark_sync.snapshot import Snapshot
from grantpath.spark_sync.tree_order import Numbering

SUGGEST_AMONG = 20_000  # looking for the nearest name among more takes seconds


@dataclass(frozen=True)
class Answer:
    """A list of references in byte order, or the truth of a check; all there is to it, at that revision."""

    answer: list[str] | bool
    revision: int
    complete: bool = True


@dataclass(frozen=True)
class Resolved:
    """A question with everything in it found: who is asked about, on which targets."""

    kind: Literal["check", "who", "which"]
    ask: Ask
    subjects: Ints  # those asked about; empty where the subject isn't there
    one_role: bool
    as_role: int | None


class Resolver:
    """Finds the names of questions in one tenant."""

    def __init__(self, policy: Policy, root: Reference, numbering: Numbering) -> None:
        self._policy = policy
        self._root = root
        self._numbering = numbering
        self._at = {ref: at for at, ref in enumerate(numbering.refs)}
        hidden = [self._at[ref] for ref in policy.hidden if ref in self._at]
        self._shown = np.ones(len(numbering), np.bool_)
        self._shown[hidden] = False

    def resolve(self, asked: Check | Who | Which) -> Resolved:
        """The question resolved. Raises Unknown, InvalidReference, Invalid as the Authorizer does."""
        seconds = {key: self._reference(ref) for key, ref in asked.with_.items()}
        object_ = None if isinstance(asked, Which) else self._reference(asked.object)
        if isinstance(asked, Which):
            self._policy.names.check_type(asked.type)
        type_ = asked.type if isinstance(asked, Which) else self._reference(asked.object).type
        question = self._policy.question(asked.name, type_, frozenset(seconds))
        check_seconds(question, seconds)
        bound = {key: self._there(ref) for key, ref in seconds.items()}
        if object_ is not None:
            ask = self._on_object(question, object_, bound)
        else:
            chosen = self._numbering.of_type(type_) & self._numbering.exists & self._shown
            ask = Ask(question.clauses, type_, np.flatnonzero(chosen), bound)
        if isinstance(asked, Who):
            return Resolved("who", ask, self._users(), question.one_role, None)
        kind: Literal["check", "which"] = "check" if isinstance(asked, Check) else "which"
        subject, is_user = self._subject(asked.subject)
        role = self._role(asked.as_role)
        return Resolved(kind, ask, subject, question.one_role and is_user, role)

    def _reference(self, text: str) -> Reference:
        return self._policy.reference(text, self._root)

    def _there(self, ref: Reference) -> int:
        at = self._at.get(ref.text)
        if at is None or not self._shown[at] or not self._numbering.exists[at]:
            error = Unknown(f"{ref} is not there", "; add it, or check the name", absent=ref.text)
            error.look = partial(self._nearest, ref)
            raise error
        return at

    def _nearest(self, ref: Reference) -> str:
        listed = np.flatnonzero(self._numbering.of_type(ref.type) & self._shown)
        if len(listed) > SUGGEST_AMONG:
            return ""
        return nearest(ref.text, [self._numbering.refs[at] for at in listed])

    def _on_object(self, question: Question, object_: Reference, bound: Mapping[str, int]) -> Ask:
        """The clauses on one object; on a name that nothing is known of, on what stands nearest above it."""
        if not question.may_be_missing or object_.text in self._policy.hidden:
            self._there(object_)
        missing: list[str] = []
        for type_, ref in self._policy.chain(object_, self._root):
            if ref.text in self._at:
                clauses = _without(question.clauses, missing)
                return Ask(clauses, type_, np.array([self._at[ref.text]]), bound)
            missing.append(type_)
        raise AssertionError("the root is always there")

    def _users(self) -> Ints:
        codes = [self._numbering.types.index(name) for name in self._policy.user_types]
        return np.flatnonzero(np.isin(self._numbering.type, codes) & self._numbering.exists & self._shown)

    def _subject(self, text: str) -> tuple[Ints, bool]:
        ref = subject_asked_about(self._policy, self._root, text)
        at = self._at.get(ref.text)
        found = at is not None and self._numbering.exists[at]
        return np.array([at] if found else [], np.int64), self._policy.file.types[ref.type].kind != "role"

    def _role(self, text: str | None) -> int | None:
        if text is None:
            return None
        return self._there(self._reference(active_role(self._policy, self._root, text)))


def _without(clauses: Clauses, missing: list[str]) -> Clauses:
    """The clauses where nothing is known of the places of these types: only `EVERY` holds, of nothing at all."""
    known: dict[Fact, bool] = {
        fact: fact.startswith("EVERY ") for fact in facts_of(clauses) if fact.split()[-1] in missing
    }
    return fold(clauses, known)


def evaluate(
    resolved: Resolved, estate: Estate, closure: Callable[[Ints], Closure], roles: Callable[[], Roles]
) -> Ints:
    """The positions that are the answer: subjects for who, targets for check and which.

    `closure` gives the holders of subjects, `roles` who holds which role directly.
    """
    prepared = Prepared(estate, [resolved.ask])
    found = []
    for hats in _hats(resolved, closure, roles):
        for piece in hats.pieces(prepared.facts):
            ((row, low, high),) = prepared.answers(piece)
            if resolved.kind == "who":
                found.append(piece.subject[row])
            else:
                found += [resolved.ask.targets[a:b] for a, b in zip(low, high, strict=True)]
    return np.unique(np.concatenate([np.empty(0, np.int64), *found]))


def _hats(resolved: Resolved, closure: Callable[[Ints], Closure], roles: Callable[[], Roles]) -> list[Hats]:
    subjects = resolved.subjects
    if not len(subjects):
        return []
    if resolved.as_role is not None:
        held = closure(np.array([*subjects, resolved.as_role]))
        if resolved.as_role not in held.holders(int(subjects[0])):
            return []
        return [as_role(int(subjects[0]), resolved.as_role, held) if resolved.one_role else held.hats(subjects)]
    if not resolved.one_role:
        return [closure(subjects).hats(subjects)]
    direct = roles()
    used = direct.role[np.isin(direct.subject, subjects)]
    return [direct.hats(subjects, closure(np.unique(used)))]


def ask(snapshot: Path, question: str) -> Answer:
    """The answer to `who can ..`, `which .. can ..`, or a check line, from a snapshot alone.

    A check line is true where its answer is what the line says. Raises Unknown, InvalidReference, Invalid,
    InvalidInput.
    """
    source = Snapshot(snapshot)
    expected = True
    asked: Check | Who | Which
    if question.split()[:1] in (["who"], ["which"]):
        asked = parse_question(question)
    else:
        asked, expected = parse_check(question)
    resolver = Resolver(source.policy, source.root, source.numbering)
    resolved = resolver.resolve(asked)
    everybody = resolved.kind == "who"
    closure = source.closure() if everybody else None
    found = evaluate(
        resolved,
        source.estate,
        lambda subjects: closure or source.closure(subjects),
        lambda: source.roles,
    )
    if resolved.kind == "check":
        return Answer(bool(len(found)) == expected, source.meta.revision)
    return Answer(sorted(source.numbering.refs[at] for at in found), source.meta.revision)
