"""The smallest set of statements after which the answer is no.

Each proof of the yes must lose an edge. It remains a proof until then, because a removal can end a DENY but never adds
one. So the search only follows the edges of a proof that is left, and finds a smallest set without trying all sets.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from grantpath.engine.advise.revocable_facts import NOTHING, EdgeState, HeldEdge, Proof, RevocableFacts

MAX_PROVED = 20  # with at most this number of candidates, the result is proved smallest
MAX_TRIES = 20_000  # steps of the search for a set that is not proved smallest
LOOKAHEAD = 3  # if at most this number of proofs is left, removals are compared by the number of proofs that they leave
MAX_OMITTED = 200  # chosen statements for which the search tests whether the others suffice


@dataclass(frozen=True)
class Removal:
    """A statement that removes an edge. A change of owner also adds an edge, if the new owner counts for the
    subject."""

    statement: str
    edge: HeldEdge
    adds: HeldEdge | None = None


@dataclass(frozen=True)
class SmallestSet:
    """The chosen removals, or None if no removals make the answer no. `proved`: whether this is proved."""

    removals: Sequence[Removal] | None
    proved: bool


def smallest(facts: RevocableFacts, removals: Mapping[HeldEdge, Sequence[Removal]]) -> SmallestSet:
    """The smallest set. `removals`: by candidate edge, the statements that remove it; both in the order of preference.

    With more than MAX_PROVED candidates, the result is not proved smallest.
    """
    search = _Search(facts, removals)
    if search.is_impossible():
        return SmallestSet(None, True)
    if len(removals) > MAX_PROVED:
        return SmallestSet(search.any(), False)
    return SmallestSet(search.smallest(), True)


class _Search:
    def __init__(self, facts: RevocableFacts, removals: Mapping[HeldEdge, Sequence[Removal]]) -> None:
        self._facts = facts
        self._removals = removals
        self._rank = {edge: at for at, edge in enumerate(removals)}
        self._tries = MAX_TRIES

    def is_impossible(self) -> bool:
        """Whether a proof has no edge that a statement can remove."""
        return self._apart([], NOTHING) is None

    def smallest(self) -> list[Removal] | None:
        """The first smallest set in the order of preference."""
        for size in range(len(self._removals) + 1):
            found = self._within([], NOTHING, size)
            if found is not None:
                return found
        return None

    def _within(self, chosen: list[Removal], kept: frozenset[HeldEdge], left: int) -> list[Removal] | None:
        """A sufficient set with the chosen removals and at most `left` others; the others do not remove kept edges."""
        proofs = self._apart(chosen, kept)
        if not proofs:
            return None if proofs is None else chosen
        if len(proofs) > left:
            return None
        for edge in sorted(proofs[0], key=self._rank.__getitem__):
            for removal in self._removals[edge]:
                found = self._within([*chosen, removal], kept, left - 1)
                if found is not None:
                    return found
            kept |= {edge}  # all sets that remove this edge have been tried
        return None

    def _apart(self, chosen: Sequence[Removal], kept: frozenset[HeldEdge]) -> list[Proof] | None:
        """Proofs that are left and share no edge, so that each of them needs a statement of its own.

        None if one of them has only kept edges. No further statement can then change the answer.
        """
        state, found = _state(chosen, kept), list[Proof]()
        while more := self._facts.proofs(state):
            if not more[-1]:
                return None
            found += more
            state = replace(state, masked=state.masked.union(*more))
        return found

    # ---- many candidates ---------------------------------------------------------------------------------------------
    def any(self) -> list[Removal] | None:
        """A small set; None if there is none, or if the search takes too long."""
        chosen = self._first()
        for removal in [*(chosen or ())][:MAX_OMITTED]:
            rest = [each for each in chosen or () if each != removal]
            if not self._facts.proofs(_state(rest)):
                chosen = rest
        return chosen

    def _first(self) -> list[Removal] | None:
        """A sufficient set, by a search that prefers removals early in the order; if few proofs are left, removals that
        leave the fewest proofs."""
        waiting: list[list[Removal]] = [[]]
        while waiting and self._tries:
            self._tries -= 1
            chosen = waiting.pop()
            proofs = self._apart(chosen, NOTHING)
            if proofs is None:
                continue
            if not proofs:
                return chosen
            edges = sorted(proofs[0], key=self._rank.__getitem__, reverse=True)
            longer = [[*chosen, removal] for edge in edges for removal in self._removals[edge]]
            if len(proofs) > LOOKAHEAD:  # comparing takes long, and each choice leaves many proofs
                waiting += [*longer, [*chosen, *(self._preferred(proof) for proof in proofs)]]
            else:
                waiting += self._compared(longer)
        return None

    def _preferred(self, proof: Proof) -> Removal:
        return self._removals[min(proof, key=self._rank.__getitem__)][0]

    def _compared(self, sets: Sequence[list[Removal]]) -> list[list[Removal]]:
        """Sorts sets by the number of proofs that they leave, the best set last. `sets` end with the preferred one."""
        found: list[tuple[int, list[Removal]]] = []
        for chosen in reversed(sets):
            proofs = self._apart(chosen, NOTHING)
            found.insert(0, (len(self._removals) if proofs is None else len(proofs), chosen))
            if proofs == []:
                break  # no set is better than one that leaves no proof
        return [chosen for _, chosen in sorted(found, key=lambda each: -each[0])]


def _state(chosen: Sequence[Removal], kept: frozenset[HeldEdge] = NOTHING) -> EdgeState:
    return EdgeState(
        gone=frozenset(removal.edge for removal in chosen),
        added=frozenset(removal.adds for removal in chosen if removal.adds is not None),
        kept=kept,
    )
