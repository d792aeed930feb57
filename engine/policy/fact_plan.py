"""What clauses look at, place by place, so that a query fetches these facts and no others."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property

from grantpath.engine.policy.clauses import Atom, Clauses, Fact, as_parameters, facts_of

_MARKS = ("EXISTS", "BUILTIN", "IS", "HOLDS")
_HAD_BY_ALL = (*_MARKS[:3], "EVERY")


@dataclass(frozen=True)
class Below:
    """A fact about what is below a place, taken apart."""

    fact: Fact
    at: str
    types: list[str]
    privileges: list[str]


@dataclass(frozen=True, eq=False)
class Sight:
    """Clauses, and what follows from them for the queries; made once for each question."""

    clauses: Clauses

    @cached_property
    def parameters(self) -> list[list[list[dict[str, list[str]]]]]:
        """The clauses as lists and maps, the shape of the `$clauses` parameter."""
        return as_parameters(self.clauses)

    @cached_property
    def facts(self) -> list[Fact]:
        """Every fact that the clauses look at, sorted."""
        return facts_of(self.clauses)

    @cached_property
    def named(self) -> list[str]:
        """The roles that clauses name by their reference."""
        return [fact.removeprefix("HOLDS =") for fact in self.facts if fact.startswith("HOLDS =")]

    @cached_property
    def below(self) -> list[str]:
        """The places whose descendants' grants the clauses look at."""
        return sorted({fact.split(" below ")[1] for fact in self.facts if _is_below(fact, "ALLOW")})

    @cached_property
    def every(self) -> list[Below]:
        """The facts that ask for every descendant, taken apart."""
        return below_facts(fact for fact in self.facts if _is_below(fact, "EVERY"))

    @cached_property
    def edges(self) -> dict[str, list[str]]:
        """By place, the privileges of the grants on it that count, and OWNS where its owner does."""
        return self._by_place((words[-2], words[-1]) for words in self._at_places if words[0] not in _MARKS)

    @cached_property
    def marks(self) -> dict[str, list[str]]:
        """By place, what else counts there: EXISTS, BUILTIN, IS, HOLDS."""
        return self._by_place((words[0], words[-1]) for words in self._at_places if words[0] in _MARKS)

    @cached_property
    def anybody(self) -> bool:
        """Might somebody be allowed who has no fact of his own?"""
        return any(
            all(any(fact.split(" ")[0] in _HAD_BY_ALL for one in term for fact in one.any) for term in clause)
            for clause in self.clauses
        )

    @cached_property
    def at(self) -> list[str]:
        """The places that edges or marks are about."""
        return sorted({*self.edges, *self.marks})

    @cached_property
    def inside(self) -> set[str]:
        """The places that the clauses look into."""
        return {*self.below, *(one.at for one in self.every)}

    def without(self, away: Collection[str]) -> "Sight":
        """The same as far as other places than these answer it: where this one says yes, the whole one does.

        What is left of an atom would say yes where a DENY on a place that is away says no, so it goes as a whole.
        """
        kept = (
            tuple(tuple(one for one in term if not _looks_at(one, away)) for term in clause) for clause in self.clauses
        )
        return Sight(tuple(clause for clause in kept if all(clause)))

    @property
    def _at_places(self) -> Iterable[list[str]]:
        return (fact.split(" ") for fact in self.facts if " below " not in fact and " =" not in fact)

    @staticmethod
    def _by_place(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
        found: dict[str, set[str]] = {}
        for word, place in pairs:
            found.setdefault(place, set()).add(word)
        return {place: sorted(words) for place, words in found.items()}


def below_facts(facts: Iterable[Fact]) -> list[Below]:
    """Of the facts those about what is below a place, taken apart."""
    found = []
    for fact in facts:
        if " below " in fact:
            _, privileges, types, _, at = fact.split(" ")
            found.append(Below(fact, at, types.split(","), privileges.split(",")))
    return found


def _looks_at(one: Atom, places: Collection[str]) -> bool:
    return any(fact.split(" ")[-1] in places or " below " in fact for fact in (*one.any, *one.none))


def _is_below(fact: Fact, word: str) -> bool:
    return fact.startswith(f"{word} ") and " below " in fact
