"""The smallest set of statements after which the answer is no.

Each proof of the yes must lose an edge, and stays a proof until it does, because a removal ends DENYs but makes none.
So the search follows only the edges of a proof that is left, and finds a smallest set without trying all sets.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grantpath.engine.decide.revocable_facts import NOTHING, Edge, Removed, RevocableFacts

MAX_PROVED = 20  # candidate facts
MAX_TRIES = 20_000  # of the search that does not prove
LOOKAHEAD = 3  # proofs that are counted to compare two removals


@dataclass(frozen=True)
class Removal:
    """A statement that removes an edge; a change of owner adds another one if it helps the subject."""

    statement: str
    edge: Edge
    adds: Edge | None = None


@dataclass(frozen=True)
class Found:
    """The chosen removals, or None if there are none after which the answer is no; and whether this is proved."""

    removals: Sequence[Removal] | None
    proved: bool


def smallest(facts: RevocableFacts, removals: Mapping[Edge, Sequence[Removal]]) -> Found:
    """A smallest set. `removals`: by candidate edge, in the order of preference, the statements that remove it.

    With more than MAX_PROVED candidates it is a set of which no statement can be omitted.
    """
    search = _Search(facts, removals)
    if len(removals) > MAX_PROVED:
        return Found(search.any(), False)
    return Found(search.smallest(), True)


class _Search:
    def __init__(self, facts: RevocableFacts, removals: Mapping[Edge, Sequence[Removal]]) -> None:
        self._facts = facts
        self._removals = removals
        self._rank = {edge: at for at, edge in enumerate(removals)}
        self._tries = MAX_TRIES

    def smallest(self) -> list[Removal] | None:
        """The first smallest set in the order of preference."""
        proofs = self._apart([], NOTHING)
        if proofs is None:
            return None
        for size in range(len(proofs), len(self._removals) + 1):
            found = self._within([], NOTHING, size)
            if found is not None:
                return found
        return None

    def _within(self, chosen: list[Removal], kept: frozenset[Edge], left: int) -> list[Removal] | None:
        """A set that contains the chosen removals and at most `left` others, none of them of a kept edge."""
        proofs = self._apart(chosen, kept)
        if not proofs:
            return None if proofs is None else chosen
        if len(proofs) > left:
            return None
        for edge in sorted(proofs[0] - kept, key=self._rank.__getitem__):
            for removal in self._removals[edge]:
                found = self._within([*chosen, removal], kept, left - 1)
                if found is not None:
                    return found
            kept |= {edge}  # the sets with this edge have been tried
        return None

    def _apart(
        self, chosen: Sequence[Removal], kept: frozenset[Edge], most: int | None = None
    ) -> list[frozenset[Edge]] | None:
        """Proofs that are left and share no edge, so that each needs a statement of its own, at most `most` of them.

        None if one of them has only kept edges: then no further statement changes the answer.
        """
        removed, masked, found = _removed(chosen), NOTHING, list[frozenset[Edge]]()
        while len(found) != most and (proof := self._facts.support(removed, masked)) is not None:
            if proof <= kept:
                return None
            found.append(proof)
            masked |= proof - kept
        return found

    # ---- many candidates ---------------------------------------------------------------------------------------------
    def any(self) -> list[Removal] | None:
        """A set of which no statement can be omitted; None if there is none, or if the search takes too long."""
        chosen = self._first()
        for removal in [*(chosen or ())]:
            rest = [each for each in chosen or () if each != removal]
            if self._facts.support(_removed(rest)) is None:
                chosen = rest
        return chosen

    def _first(self) -> list[Removal] | None:
        """The set that is found by the removal after which the fewest proofs are left, and so on."""
        waiting: list[list[Removal]] = [[]]
        while waiting and self._tries:
            self._tries -= 1
            chosen = waiting.pop()
            proof = self._facts.support(_removed(chosen))
            if proof is None:
                return chosen
            longer = [[*chosen, removal] for edge in proof for removal in self._removals[edge]]
            waiting += sorted(longer, key=self._worth, reverse=True)
        return None

    def _worth(self, chosen: Sequence[Removal]) -> tuple[int, int, str]:
        left = self._apart(chosen, NOTHING, LOOKAHEAD)
        return LOOKAHEAD + 1 if left is None else len(left), self._rank[chosen[-1].edge], chosen[-1].statement


def _removed(chosen: Sequence[Removal]) -> Removed:
    return Removed(
        frozenset(removal.edge for removal in chosen),
        frozenset(removal.adds for removal in chosen if removal.adds is not None),
    )
