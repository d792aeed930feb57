"""The conditions in which a policy counts a grant, and the DENY grants that cancel it there."""

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import NamedTuple

from grantpath.engine.policy.clauses import Atom
from grantpath.engine.policy.facts import Fact, FactKind, place_prefix, place_type, second_object
from grantpath.engine.policy.policy import Policy, Requirement
from grantpath.graph.errors import Invalid

_BELOW = (FactKind.ALLOW_BELOW, FactKind.EVERY_BELOW)


class GrantUse(NamedTuple):
    """One way in which a condition counts a grant."""

    target: str  # the grant counts for objects of this type, at or below the grant's object
    above: str | None  # if given, the objects are at or below the place of this type above the grant's object
    existing: bool  # whether the grant counts only if its object exists
    condition: int | None  # the number of the condition; None for one with a second object


class GrantUses:
    """By kind of grant (`ALLOW SELECT_TABLE schema`), all of its uses under a policy."""

    def __init__(self, policy: Policy, numbers: Mapping[tuple[str, str], int]) -> None:
        """`numbers`: by (name, type), the number of the condition of a question without second objects."""
        self.uses: dict[Fact, set[GrantUse]] = {}
        self._deniers: dict[Fact, frozenset[Fact]] = {}
        self._root = policy.root_type
        seen: set[int] = set()
        for question, number in _questions(policy, numbers):
            if number is not None and number in seen:
                continue
            if number is not None:
                seen.add(number)
            clauses = [clause for each in question.of_examples for clause in each.clauses]
            for atom in {atom for clause in clauses for term in clause for atom in term}:
                self._add(question, number, atom)

    def deniers(self, allow: Fact) -> frozenset[Fact]:
        """The DENY grants that cancel an ALLOW in all of its uses, if they are at or above its object."""
        return self._deniers.get(allow, frozenset())

    def _add(self, question: Requirement, number: int | None, atom: Atom) -> None:
        for fact in (*atom.any, *atom.none):
            for grant in _grants(fact):
                below = fact.kind in _BELOW
                target = _target(question, fact)
                above = place_type(fact.place) if below else None
                use = GrantUse(target, above, fact.kind is FactKind.EVERY_BELOW, number)
                self.uses.setdefault(grant, set()).add(use)
                if grant.kind is FactKind.ALLOW:
                    cancelling = frozenset() if below else self._denials(fact, atom)
                    self._deniers[grant] = self._deniers.get(grant, cancelling) & cancelling

    def _denials(self, fact: Fact, atom: Atom) -> frozenset[Fact]:
        """The DENY grants on places of the same object that make the atom false. The root object is above every
        object."""
        prefix = place_prefix(fact.place)
        return frozenset(
            Fact(FactKind.DENY, place_type(none.place), none.privileges)
            for none in atom.none
            if none.kind is FactKind.DENY and (place_prefix(none.place) == prefix or none.place == self._root)
        )


def _questions(policy: Policy, numbers: Mapping[tuple[str, str], int]) -> Iterator[tuple[Requirement, int | None]]:
    """Every question of the policy, with each choice of second objects."""
    for type_ in policy.names.types:
        for name in policy.names_on(type_):
            if (name, type_) in numbers:
                yield policy.question(name, type_), numbers[name, type_]
            if (name, type_) not in policy.names.operations:
                continue
            keys = policy.names.operation(name, type_).with_
            for count in range(1, len(keys) + 1):
                for chosen in combinations(keys, count):
                    try:
                        yield policy.question(name, type_, frozenset(chosen)), None
                    except Invalid:  # a required second object is missing, or the condition is too large to be asked
                        continue


def _grants(fact: Fact) -> list[Fact]:
    """The kinds of grants that make a fact true; none if it is not about grants."""
    if fact.kind in (FactKind.ALLOW, FactKind.DENY):
        return [Fact(fact.kind, place_type(fact.place), fact.privileges)]
    if fact.kind in _BELOW:
        return [Fact(FactKind.ALLOW, type_, (name,)) for name in fact.privileges for type_ in fact.types]
    return []


def _target(question: Requirement, fact: Fact) -> str:
    """The type of the objects for which the fact is asked: of the object, or of a second object."""
    key = second_object(fact.place)
    return question.type if key is None else question.with_[key].type
