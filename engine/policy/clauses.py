"""Compiled conditions: a short list of clauses over facts, the form that Cypher and Spark evaluate.

An atom holds if at least one fact of `any` is true and no fact of `none` is: this is where a DENY wins. A term holds
if one of its atoms holds, a clause if all of its terms hold, and a condition if one of its clauses holds.
"""

from collections.abc import Container, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from grantpath.engine.policy.facts import Fact


@dataclass(frozen=True, order=True)
class Atom:
    """Holds if at least one fact of `any` is true and no fact of `none` is."""

    any: tuple[Fact, ...]
    none: tuple[Fact, ...] = ()

    def implies(self, other: "Atom") -> bool:
        """Whether `other` holds in every case in which this atom holds."""
        return self._any_set <= other._any_set and other._none_set <= self._none_set

    @cached_property
    def _any_set(self) -> frozenset[Fact]:
        return frozenset(self.any)

    @cached_property
    def _none_set(self) -> frozenset[Fact]:
        return frozenset(self.none)

    def holds(self, true: Container[Fact]) -> bool:
        """Whether the atom holds, given the set of true facts: the same rule as in the queries and in
        `facts/kernel`."""
        return any(fact in true for fact in self.any) and not any(fact in true for fact in self.none)


Term = tuple[Atom, ...]
Clause = tuple[Term, ...]
Clauses = tuple[Clause, ...]


def clause_holds(clause: Clause, true: Container[Fact]) -> bool:
    """Whether all terms of a clause hold, each by any of its atoms, given the set of true facts."""
    return all(any(atom.holds(true) for atom in term) for term in clause)


ALWAYS: Clauses = ((),)
NEVER: Clauses = ()
MAX_CLAUSES = 256


class TooManyClauses(ValueError):
    """A condition has more than MAX_CLAUSES clauses when it is expanded."""


def atom(any_: Iterable[Fact], none: Iterable[Fact] = ()) -> Clauses:
    """A condition that consists of one atom."""
    return (((Atom(tuple(dict.fromkeys(any_)), tuple(dict.fromkeys(none))),),),)


def either(parts: Iterable[Clauses]) -> Clauses:
    """The OR of conditions, minimised."""
    return _minimal([clause for part in parts for clause in part])


def both(parts: Iterable[Clauses]) -> Clauses:
    """The AND of conditions, minimised."""
    result: Clauses = ALWAYS
    for part in parts:
        if len(result) * len(part) > MAX_CLAUSES:
            raise TooManyClauses
        result = _minimal([_clause((*left, *right)) for left, right in product(result, part)])
    return result


def facts_of(clauses: Clauses) -> list[Fact]:
    """All facts that occur in the clauses, sorted."""
    return sorted({fact for clause in clauses for term in clause for one in term for fact in (*one.any, *one.none)})


def as_parameters(clauses: Clauses) -> list[list[list[dict[str, list[str]]]]]:
    """The clauses as lists and maps: the form of the `$clauses` parameter."""
    return [
        [[{"any": texts(one.any), "none": texts(one.none)} for one in term] for term in clause] for clause in clauses
    ]


def texts(facts: Iterable[Fact]) -> list[str]:
    """The facts as strings, the form in which queries receive them."""
    return [fact.text for fact in facts]


def _term_implies(strong: Term, weak: Term) -> bool:
    return all(any(one.implies(other) for other in weak) for one in strong)


def _clause_implies(strong: Clause, weak: Clause) -> bool:
    return all(any(_term_implies(term, other) for term in strong) for other in weak)


def _term(atoms: Iterable[Atom]) -> Term:
    """The OR of the atoms, without those that imply another one."""
    unique = list(dict.fromkeys(atoms))
    return tuple(
        one
        for at, one in enumerate(unique)
        if not any(
            one.implies(other) and (not other.implies(one) or there < at)
            for there, other in enumerate(unique)
            if there != at
        )
    )


def _clause(terms: Iterable[Term]) -> Clause:
    """The AND of the terms, without those that another one implies."""
    unique = list(dict.fromkeys(terms))
    return tuple(
        term
        for at, term in enumerate(unique)
        if not any(
            _term_implies(other, term) and (not _term_implies(term, other) or there < at)
            for there, other in enumerate(unique)
            if there != at
        )
    )


def _minimal(clauses: list[Clause]) -> Clauses:
    """Merges clauses that differ in one term, and drops clauses that imply another one."""
    merged = list(dict.fromkeys(clauses))
    if len(merged) > MAX_CLAUSES:
        raise TooManyClauses
    while (pair := _mergeable(merged)) is not None:
        left, right, clause = pair
        merged = [one for at, one in enumerate(merged) if at not in (left, right)]
        merged.insert(left, clause)
    kept = tuple(
        clause
        for at, clause in enumerate(merged)
        if not any(
            _clause_implies(clause, other) and (not _clause_implies(other, clause) or there < at)
            for there, other in enumerate(merged)
            if there != at
        )
    )
    if len(kept) > MAX_CLAUSES:
        raise TooManyClauses
    return kept


def _mergeable(clauses: list[Clause]) -> tuple[int, int, Clause] | None:
    for left, one in enumerate(clauses):
        for right in range(left + 1, len(clauses)):
            other = clauses[right]
            mine = [term for term in one if term not in other]
            theirs = [term for term in other if term not in one]
            if len(one) == len(other) and len(mine) == len(theirs) == 1:
                term = _term((*mine[0], *theirs[0]))
                return left, right, _clause(tuple(term if each == mine[0] else each for each in one))
    return None
