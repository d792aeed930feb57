"""Decides many checks from memory. What they share is looked up once: a name on an object, or on all objects inside the
same place."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import NamedTuple

from grantpath.engine.answers import request
from grantpath.engine.answers.batches import as_is, each_of
from grantpath.engine.answers.check_columns import Absent, CheckColumns, Row, Verdict, absent, verdict
from grantpath.engine.answers.request import ResolvedQuestion
from grantpath.engine.facts.set.fact_version import FactVersion
from grantpath.engine.facts.set.memory_check import MemoryChecks, known, ungranted
from grantpath.engine.facts.set.memory_lists import listed
from grantpath.engine.facts.set.place_grants import PlacesGranted
from grantpath.engine.policy.policy import Policy, Requirement
from grantpath.graph.errors import Invalid
from grantpath.graph.language.reference import Reference, type_of
from grantpath.graph.language.statement import Which, Who

MOST_KEPT = 4_096  # names on objects, and names on the objects inside a place
MANY = 200  # if more checks differ only in their objects, all objects of their types that are allowed are found first
QUOTE = "`"


class _Target(NamedTuple):
    """A name on an object. `absent`: what it needs does not exist."""

    question: ResolvedQuestion
    granted: PlacesGranted
    absent: Absent | None


class _Family(NamedTuple):
    """A name on all objects of a type inside the same place, if grants on the object and above it decide. `granted`
    has what is granted above."""

    requirement: Requirement
    granted: PlacesGranted


class MemoryVerdicts:
    """Decides checks at one version of the facts."""

    def __init__(self, version: FactVersion, policy: Policy, root: Reference, columns: CheckColumns) -> None:
        self._version, self._policy, self._root, self._columns = version, policy, root, columns
        self._checks = MemoryChecks(version, policy, root)
        self._asked, self._role_types = frozenset(policy.file.ask.subjects), frozenset(policy.role_types)
        self._hidden_types = frozenset(map(type_of, policy.hidden))
        self._targets: dict[tuple[str, str], _Target] = {}
        self._families: dict[tuple[str, str], _Family] = {}
        self._lists: dict[str, frozenset[str] | None] = {}

    def all(self) -> Sequence[Verdict]:
        """The verdicts, in the order of the checks."""
        columns = self._columns
        plain = columns.alike and len(columns.rows) > MANY and not columns.with_ and columns.rows[0][3] is None
        return each_of(columns.rows, self._by_list if plain else self._verdict, as_is)

    def _by_list(self, row: Row) -> Verdict:
        """The verdict on a check that differs from the others only in its object."""
        ref = row[2]
        allowed = self._allowed(type_of(ref), row)
        if allowed is None:
            return self._verdict(row)
        if ref in allowed:
            return True
        number = self._version.numbers.find(ref)
        return False if number is not None and self._version.existing.get(number) else self._verdict(row)

    def _allowed(self, type_: str, row: Row) -> frozenset[str] | None:
        """All objects of a type on which the subject is allowed; None if the name cannot be asked on the type."""
        if type_ not in self._lists:
            self._lists[type_] = None
            subject, name, _, _ = row
            if type_ not in self._hidden_types:
                with suppress(Invalid):  # the error of the check itself follows
                    question = request.resolve(self._policy, self._root, Which(type=type_, subject=subject, name=name))
                    self._lists[type_] = frozenset(listed(self._version, self._policy, self._root, [question]).refs)
        return self._lists[type_]

    def _verdict(self, row: Row) -> Verdict:
        text, name, ref, as_role = row
        family, number = self._families.get((name, _place_of(ref))), self._version.numbers.find(ref)
        if family is None or number is None or as_role is not None or not self._version.existing.get(number):
            return self._apart(row)
        requirement, granted = family
        subject = self._subject(text)
        if requirement.one_role and self._by_role(requirement, text):
            return self._apart(row)
        if subject is None:
            return False
        bits = granted.bits_with(self._version.grants.get(number), self._version.effective(subject))
        return requirement.plan.allows(bits)

    def _apart(self, row: Row) -> Verdict:
        """The verdict on a check that shares nothing, or is the first that does."""
        text, name, ref, as_role = row
        target = self._targets.get((name, ref)) or self._target(row)
        subject, requirement = self._subject(text), target.question.requirement
        if as_role is not None or self._by_role(requirement, text):
            question = request.resolve(self._policy, self._root, self._columns.check(row))
            return verdict(question, self._checks.answer(question), self._policy.hidden)
        if target.absent is not None:
            return target.absent
        if subject is None:
            return False
        principals = self._version.effective(subject)
        bits = target.granted.bits(principals)
        if requirement.plan.others:
            bits |= self._others(target.question, subject, principals)
        return requirement.plan.allows(bits)

    def _others(self, question: ResolvedQuestion, subject: int, principals: AbstractSet[int]) -> int:
        """The bits of the true facts other than grants on places and owners."""
        found = ungranted(self._version, self._policy, self._root, question, subject, principals)
        return question.requirement.plan.bits_of(fact for fact, _ in found)

    def _by_role(self, requirement: Requirement, subject: str) -> bool:
        """Whether the subject acts with one role at a time."""
        return requirement.one_role and type_of(subject) not in self._role_types

    def _target(self, row: Row) -> _Target:
        """The name on the object of a check, kept for the next checks with both, and for the next ones in its place."""
        words = self._columns.check(row)
        question = request.resolve(
            self._policy, self._root, Who(name=words.name, object=words.object, with_=words.with_)
        )
        granted = self._checks.granted_on(question)
        missing = absent(question.needed, known(self._version, question), self._policy.hidden)
        made = _Target(question, granted, missing)
        for kept in (self._targets, self._families):
            if len(kept) >= MOST_KEPT:
                kept.clear()
        _, name, ref, _ = row
        if self._is_family(made, ref):
            self._families[name, _place_of(ref)] = _Family(question.requirement, granted)
        else:
            self._targets[name, ref] = made
        return made

    def _is_family(self, target: _Target, ref: str) -> bool:
        """Whether the other objects inside the place of this one differ from it in nothing but grants on themselves."""
        question, plan = target.question, target.question.requirement.plan
        plain = QUOTE not in ref and not question.second_objects and target.absent is None
        hidden = question.requirement.type in self._hidden_types
        return plain and not plan.others and not hidden and target.granted.shared

    def _subject(self, text: str) -> int | None:
        """The number of a subject; None if it does not exist. Raises Invalid if checks cannot be about it,
        InvalidReference, Unknown."""
        number = self._version.numbers.find(text)
        if number is None or type_of(text) not in self._asked:
            number = self._version.numbers.find(request.subject_of(self._policy, self._root, text).text)
        return number if number is not None and self._version.existing.get(number) else None


def _place_of(ref: str) -> str:
    """A text that references without quotes share if they have the same type and are inside the same object."""
    head, _, _ = ref.rpartition(".")
    return head or type_of(ref)
