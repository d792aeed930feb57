"""Decides the access of one user or many users by their facts on a place and above it, before and after a change."""

from collections.abc import Callable, Hashable

import numpy as np

from grantpath.engine.facts.compare.equal_rows import kinds_of
from grantpath.engine.facts.compare.fact_bits import Chain
from grantpath.engine.facts.compare.held_facts import FactsOfMany, FactsOfOne, PlaceFacts
from grantpath.engine.facts.kernel.intervals import Ints
from grantpath.graph.distinct_numbers import distinct

MANY = 1_000  # if more users have facts on a place, they are grouped with arrays


Decide = Callable[[Chain, Chain], int]


class OneUser:
    """One user's facts on a place and above it."""

    def __init__(self, facts: tuple[FactsOfOne, FactsOfOne], before: Chain, after: Chain) -> None:
        self._facts, self._chains = facts, (before, after)
        self._decided: dict[Hashable, int] = {}

    @staticmethod
    def of(before: FactsOfOne, after: FactsOfOne) -> "OneUser":
        """The user's facts that do not depend on a place."""
        return OneUser((before, after), (before.itself(),), (after.itself(),))

    def below(self, place: int, depth: int) -> "OneUser":
        """The user's facts on a place below. `depth`: the index of the place in chains."""
        before, after = (facts.on(place) for facts in self._facts)
        if not before and not after:
            return self
        return OneUser(self._facts, _longer(self._chains[0], depth, before), _longer(self._chains[1], depth, after))

    def decided(self, question: Hashable, decide: Decide) -> int:
        """The result of `decide` for the facts of the user, kept by question."""
        known = self._decided.get(question)
        if known is None:
            known = self._decided[question] = decide(*self._chains)
        return known


Kinds = list[tuple[Chain, Chain]]


class UserKinds:
    """The kinds of users on a place: users of one kind have the same facts on it and above it."""

    def __init__(
        self, facts: tuple[FactsOfMany, FactsOfMany], chains: Kinds, of: Ints, above: "UserKinds | None" = None
    ) -> None:
        """`chains`: by kind, the facts before and after. `of`: by user, the kind. `above`: the kinds on a place above;
        they keep their numbers, and the kinds with higher numbers are new on this place."""
        self._facts, self._chains, self._of, self._above = facts, chains, of, above
        self._first = len(above._chains) if above else 0
        self._new = np.flatnonzero(of >= self._first)
        self._decided: dict[Hashable, Ints] = {}

    @staticmethod
    def of(before: FactsOfMany, after: FactsOfMany) -> "UserKinds":
        """The kinds of users by the facts that do not depend on a place."""
        former, latter = before.themselves(), after.themselves()
        first, kind = kinds_of([former, latter])
        return UserKinds((before, after), [((int(former[at]),), (int(latter[at]),)) for at in first.tolist()], kind)

    def below(self, place: int, depth: int) -> "UserKinds":
        """The kinds on a place below. `depth`: the index of the place in chains."""
        before = self._facts[0].on(place)
        after = before if self._facts[0].alike(self._facts[1], place) else self._facts[1].on(place)
        at, former, latter = _aligned(before, after)
        if not len(at):
            return self
        of, kinds = self._of.copy(), self._of[at]
        if len(at) <= MANY:
            number: dict[tuple[int, int, int], int] = {}
            rows = zip(kinds.tolist(), former.tolist(), latter.tolist(), strict=True)
            of[at] = [number.setdefault(row, len(number)) for row in rows]
            new = [*number]
        else:
            first, of[at] = kinds_of([kinds, *_ranks(before, after, former, latter)])
            new = [(int(kinds[each]), int(former[each]), int(latter[each])) for each in first.tolist()]
        of[at] += len(self._chains)
        chains = [*self._chains]
        for kind, one, other in new:
            above = self._chains[kind]
            chains.append((_longer(above[0], depth, one), _longer(above[1], depth, other)))
        return UserKinds(self._facts, chains, of, self)

    def decided(self, question: Hashable, decide: Decide) -> Ints:
        """By user, the result of `decide` for the facts of its kind, kept by question."""
        known = self._decided.get(question)
        if known is None:
            verdicts = np.array([decide(*chains) for chains in self._chains[self._first :]], np.int64)
            known = self._above.decided(question, decide).copy() if self._above else np.empty_like(self._of)
            known[self._new] = verdicts[self._of[self._new] - self._first]
            self._decided[question] = known
        return known


def _ranks(before: PlaceFacts, after: PlaceFacts, former: Ints, latter: Ints) -> list[Ints]:
    """The facts before and after as small numbers."""
    if before is after:
        return [np.unique(former, return_inverse=True)[1] if before.kinds is None else before.kinds]
    return [np.unique(each, return_inverse=True)[1] for each in (former, latter)]


def _aligned(before: PlaceFacts, after: PlaceFacts) -> tuple[Ints, Ints, Ints]:
    """The users with facts before or after, and these facts."""
    if before is after:
        return before.users, before.bits, before.bits
    at = distinct(np.concatenate([before.users, after.users]))
    columns = []
    for held in (before, after):
        column = np.zeros(len(at), np.int64)
        column[np.searchsorted(at, held.users)] = held.bits
        columns.append(column)
    return at, columns[0], columns[1]


def _longer(chain: Chain, depth: int, bits: int) -> Chain:
    return (*chain, *(0,) * (depth - len(chain)), bits)
