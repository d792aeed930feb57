"""The facts that clauses need, by place, so that a query fetches these and no others."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from grantpath.engine.policy.clauses import Atom, Clauses, as_parameters, clause_holds, facts_of
from grantpath.engine.policy.facts import Fact, FactKind

Wanted = Mapping[str, tuple[Fact, int]]  # by 'ALLOW SELECT_TABLE' or OWNS: a fact about a place, and its bit
MANY_VERDICTS = 10_000  # combinations of facts whose verdicts are kept
_GRANTED = (FactKind.ALLOW, FactKind.DENY, FactKind.OWNS)
_HAD_BY_ALL = (FactKind.EXISTS, FactKind.BUILTIN, FactKind.IS, FactKind.EVERY_BELOW)


@dataclass(frozen=True, eq=False)
class FactPlan:
    """Clauses with the query parameters derived from them; computed once per question."""

    clauses: Clauses

    @cached_property
    def parameters(self) -> list[list[list[dict[str, list[str]]]]]:
        """The clauses as lists and maps: the form of the `$clauses` parameter."""
        return as_parameters(self.clauses)

    @cached_property
    def facts(self) -> list[Fact]:
        """All facts that occur in the clauses, sorted."""
        return facts_of(self.clauses)

    @cached_property
    def named(self) -> dict[str, str]:
        """The references of the roles that the clauses name explicitly, by place name, e.g. `=role:x`."""
        return {fact.place: fact.entity for fact in self.facts if fact.entity}

    @cached_property
    def some(self) -> list[Fact]:
        """The facts that require a grant on some descendant."""
        return [fact for fact in self.facts if fact.kind is FactKind.ALLOW_BELOW]

    @cached_property
    def below(self) -> list[str]:
        """The places whose descendants' grants the clauses need."""
        return sorted({fact.place for fact in self.some})

    @cached_property
    def every(self) -> list[Fact]:
        """The facts that require a grant on every descendant."""
        return [fact for fact in self.facts if fact.kind is FactKind.EVERY_BELOW]

    @cached_property
    def privileges(self) -> dict[str, list[str]]:
        """By place: the privileges whose grants matter there, and OWNS if its owner matters."""
        return _by_place((fact, "".join(fact.privileges) or "OWNS") for fact in self.facts if fact.kind in _GRANTED)

    @cached_property
    def properties(self) -> dict[str, list[str]]:
        """By place: the other facts that matter there (EXISTS, BUILTIN, IS, HOLDS; ALL has the empty place)."""
        properties = (fact for fact in self.facts if fact.kind not in _GRANTED and not fact.below)
        return _by_place((fact, fact.kind.value) for fact in properties)

    @cached_property
    def stored(self) -> dict[str, Wanted]:
        """By place: the grants and the ownership that matter there.

        A DENY of each granted privilege is among them, because reasons mention it; its bit is 0 if no clause has it.
        """
        same = {fact: fact for fact in self.facts}
        return {
            place: {
                name: (same.get(fact, fact), self.bits.get(fact, 0))
                for word in words
                for name, fact in _edges(word, place)
            }
            for place, words in self.privileges.items()
        }

    @cached_property
    def bits(self) -> dict[Fact, int]:
        """A bit for each fact of the clauses."""
        return {fact: 1 << at for at, fact in enumerate(self.facts)}

    def bits_of(self, facts: Iterable[Fact]) -> int:
        """The bits of these facts, without those that no clause has."""
        return sum(self.bits[fact] for fact in {*facts} & self.bits.keys())

    def allows(self, true: int) -> bool:
        """Whether a clause holds, given the bits of the true facts. Each combination is decided once."""
        known = self._verdicts.get(true)
        if known is None:
            if len(self._verdicts) >= MANY_VERDICTS:
                self._verdicts.clear()
            facts = {fact for fact, bit in self.bits.items() if true & bit}
            known = self._verdicts[true] = any(clause_holds(clause, facts) for clause in self.clauses)
        return known

    @cached_property
    def _verdicts(self) -> dict[int, bool]:
        return {}

    @cached_property
    def properties_of_places(self) -> list[Fact]:
        """The facts of `properties`, except ALL."""
        return [fact for fact in self.facts if fact.kind not in (*_GRANTED, FactKind.ALL) and not fact.below]

    @cached_property
    def others(self) -> bool:
        """Whether the clauses need other facts than grants on places and their owners."""
        return bool(self.properties_of_places or self.inside)

    @cached_property
    def allows_without_facts(self) -> bool:
        """Whether a subject without facts of its own can be allowed."""
        return any(
            all(any(fact.kind in _HAD_BY_ALL for one in term for fact in one.any) for term in clause)
            for clause in self.clauses
        )

    @cached_property
    def places(self) -> set[str]:
        """The places that occur in `privileges` or `properties`."""
        return {*self.privileges, *self.properties}

    @cached_property
    def inside(self) -> set[str]:
        """The places whose descendants the clauses need."""
        return {*self.below, *(fact.place for fact in self.every)}

    def without(self, away: Collection[str]) -> "FactPlan":
        """The plan without the atoms about these places or about descendants. If the result allows, the plan allows.

        Atoms are removed whole: without its DENY on a removed place, the rest of an atom would allow too much.
        """
        kept = (
            tuple(tuple(one for one in term if not _looks_at(one, away)) for term in clause) for clause in self.clauses
        )
        return FactPlan(tuple(clause for clause in kept if all(clause)))


def _edges(word: str, place: str) -> list[tuple[str, Fact]]:
    if word == FactKind.OWNS.value:
        return [(word, Fact(FactKind.OWNS, place))]
    return [(f"{kind.value} {word}", Fact(kind, place, (word,))) for kind in (FactKind.ALLOW, FactKind.DENY)]


def _by_place(pairs: Iterable[tuple[Fact, str]]) -> dict[str, list[str]]:
    found: dict[str, set[str]] = {}
    for fact, word in pairs:
        found.setdefault(fact.place, set()).add(word)
    return {place: sorted(words) for place, words in found.items()}


def _looks_at(one: Atom, places: Collection[str]) -> bool:
    return any(fact.place in places or fact.below for fact in (*one.any, *one.none))
