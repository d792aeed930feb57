"""Decides many checks from memory. What they share is looked up once: a name on an object, or on all objects inside the
same place."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import NamedTuple

from grantpath.engine.answers import request
from grantpath.engine.answers.batches import as_is, each_of
from grantpath.engine.answers.check_columns import Absent, CheckColumns, Row, Verdict, absent, verdict
from grantpath.engine.answers.decision import Decision
from grantpath.engine.answers.request import ResolvedQuestion
from grantpath.engine.facts.set.fact_set import FactSet
from grantpath.engine.facts.set.memory_check import Acted, MemoryChecks, known, ungranted
from grantpath.engine.facts.set.memory_lists import listed
from grantpath.engine.facts.set.place_grants import ConditionGrants, PlacesGranted
from grantpath.engine.policy.fact_plan import FactPlan
from grantpath.engine.policy.facts import place_type
from grantpath.engine.policy.policy import Requirement
from grantpath.graph.errors import Invalid
from grantpath.graph.language.reference import name_of, type_of
from grantpath.graph.language.statement import Check, Which, Who

MOST_KEPT = 4_096  # names on objects, and names on the objects inside a place
MANY = 200  # if more checks differ only in their objects, all objects of their types that are allowed are found first
QUOTE = "`"
NONE = CheckColumns(())


class _Target(NamedTuple):
    """A name on an object. `absent`: what it needs does not exist."""

    question: ResolvedQuestion
    granted: PlacesGranted
    absent: Absent | None


class _Shape(NamedTuple):
    """A name on all objects of a type with the same number of segments, if grants on the object and above it decide.

    `grants` are those that the condition needs. The text of an object's parent is `above`, and the segments of the
    object but the last.
    """

    requirement: Requirement
    grants: ConditionGrants
    above: str


class _Family(NamedTuple):
    """A shape, for all objects inside the same place: `granted` is what is granted on the place and above it."""

    plan: FactPlan
    granted: PlacesGranted


class MemoryVerdicts:
    """Decides checks from a set of facts."""

    def __init__(self, facts: FactSet, columns: CheckColumns = NONE) -> None:
        self._facts, self._columns = facts, columns
        self._version, self._policy, self._root = facts
        self._checks, policy = MemoryChecks(facts), facts.policy
        self._asked, self._role_types = frozenset(policy.file.ask.subjects), frozenset(policy.role_types)
        self._hidden_types = frozenset(map(type_of, policy.hidden))
        self._targets: dict[tuple[str, str], _Target] = {}
        self._shapes: dict[tuple[str, str, int], _Shape | None] = {}
        self._families: dict[tuple[str, str], _Family] = {}
        self._lists: dict[str, frozenset[str] | None] = {}

    def all(self) -> Sequence[Verdict]:
        """The verdicts, in the order of the checks."""
        columns = self._columns
        by_list = columns.alike and len(columns.rows) > MANY and columns.rows[0][3] is None
        work = self._apart if columns.with_ else self._by_list if by_list else self._verdict
        return each_of(columns.rows, work, as_is)

    def _by_list(self, row: Row) -> Verdict:
        """The verdict on a check that differs from the others only in its object."""
        ref = row[2]
        type_, version = type_of(ref), self._version
        if type_ not in self._lists:
            self._lists[type_] = self._allowed(type_, row)
        allowed = self._lists[type_]
        if allowed is None:
            return self._verdict(row)
        if ref in allowed:
            return True
        number = version.numbers.find(ref)
        return False if number is not None and version.existing.get(number) else self._verdict(row)

    def _allowed(self, type_: str, row: Row) -> frozenset[str] | None:
        """All objects of a type on which the subject is allowed; None if the name cannot be asked on the type."""
        subject, name, _, _ = row
        if type_ not in self._hidden_types:
            with suppress(Invalid):  # the error of the check itself follows
                question = request.resolve(self._policy, self._root, Which(type=type_, subject=subject, name=name))
                return frozenset(listed(self._facts, [question]).refs)
        return None

    def _verdict(self, row: Row) -> Verdict:
        """The verdict on a check without second objects."""
        text, name, ref, as_role = row
        number = self._version.numbers.find(ref)
        if as_role is not None or number is None or not self._version.existing.get(number):
            return self._apart(row)
        family = self._family(name, ref)
        if family is None:
            return self._apart(row)
        subject = self._subject(text)
        if subject is None:
            return False
        bits = family.granted.bits_with(self._version.grants.get(number), self._version.effective(subject))
        return family.plan.allows(bits)

    def decision(self, check: Check) -> Decision | None:
        """The decision on a check that shares what it needs with others; None for one that must be resolved. Raises
        Invalid."""
        version, text, name, ref = self._version, check.subject, check.name, check.object
        if check.with_ or check.as_role is not None or not type(text) is type(name) is type(ref) is str:
            return None  # a copied Check can have words that are not strings
        number, subject = version.numbers.find(ref), version.numbers.find(text)
        if number is None or subject is None or type_of(text) not in self._asked:
            return None
        if not version.existing.get(number) or not version.existing.get(subject):
            return None
        family = self._family(name, ref)
        if family is None:
            return None
        grants, principals = version.grants.get(number), version.effective(subject)
        allowed = family.plan.allows(family.granted.bits_with(grants, principals))
        acted = Acted(allowed, family.granted, grants, principals, version.numbers.refs)
        return request.decided(self._policy, self._root, check, allowed, version.revision, acted, version.left_out)

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
        found = ungranted(self._facts, question, subject, principals)
        return question.requirement.plan.bits_of(fact for fact, _ in found)

    def _by_role(self, requirement: Requirement, subject: str) -> bool:
        """Whether the subject acts with one role at a time."""
        return requirement.one_role and type_of(subject) not in self._role_types

    def _target(self, row: Row) -> _Target:
        """The name on the object of a check, kept for the next checks with both."""
        _, name, ref, _ = row
        words = Who(name=name, object=ref, with_=self._columns.with_)
        question = request.resolve(self._policy, self._root, words)
        missing = absent(question.needed, known(self._version, question), self._policy.hidden)
        made = _Target(question, self._checks.granted_on(question), missing)
        if len(self._targets) >= MOST_KEPT:
            self._targets.clear()
        self._targets[name, ref] = made
        return made

    def _family(self, name: str, ref: str) -> _Family | None:
        """What a name needs on an existing object, if it shares that with the other objects inside the same place.
        Raises Invalid."""
        place = _place_of(ref)
        found = self._families.get((name, place))
        if found is None and QUOTE not in ref and (shape := self._shape(name, ref)) is not None:
            granted = shape.grants.kept(self._version, shape.above + name_of(place))
            if granted is None:
                places = request.places(self._policy, self._root, self._facts.reference(ref), {})
                granted = shape.grants.on(self._version, places)
            if len(self._families) >= MOST_KEPT:
                self._families.clear()
            found = self._families[name, place] = _Family(shape.requirement.plan, granted)
        return found

    def _shape(self, name: str, ref: str) -> _Shape | None:
        """What a name needs on an object whose reference has no quotes, if other objects differ from it in nothing but
        grants. Raises Invalid."""
        key = name, type_of(ref), ref.count(".")
        if key not in self._shapes:
            question = request.resolve(self._policy, self._root, Who(name=name, object=ref))
            requirement, grants = question.requirement, self._checks.grants_of(question.requirement)
            apart = requirement.plan.others or requirement.one_role or requirement.type in self._hidden_types
            shape = None
            if grants.by_parent and not apart:
                parent = place_type(requirement.up[1])
                above = self._root.text if parent == self._root.type else f"{parent}:"
                shape = _Shape(requirement, grants, above)
            self._shapes[key] = shape
        return self._shapes[key]

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
