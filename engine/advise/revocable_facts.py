"""The facts on which an allowed check depends, the edges that support them, and the facts that edge removals leave.

An ALLOW or an ownership can only give access, a DENY can only take it away. A membership can do both, because the
ALLOWs and the DENYs of the group or role count for the member. So the removal of an edge makes only those facts false
that need the edge, and the removal of a membership can also end a DENY.
"""

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from typing import NamedTuple

from grantpath.engine.answers.evaluation import Evaluation
from grantpath.engine.policy.clauses import Clause
from grantpath.engine.policy.facts import Fact, FactKind

HAS_ROLE = "HAS_ROLE"
NOTHING: frozenset["HeldEdge"] = frozenset()


class HeldEdge(NamedTuple):
    """A stored edge: a membership (`kind` is the type of its relationship), an ALLOW or DENY, or an ownership."""

    by: str
    kind: str
    to: str
    privilege: str = ""


class Holding(NamedTuple):
    """One way in which a fact is true: a principal `by`, and its edge. If there is no edge, the fact is true for each
    subject that is this principal or belongs to it."""

    by: str
    edge: HeldEdge | None


Needs = Sequence[Sequence[Holding]]  # a fact is true if at least one holding of each inner list is left
Proof = frozenset[HeldEdge]  # as long as all of these edges are left, the answer is yes
Reach = Mapping[str, Proof]  # by principal: the removable edges of a path from the subject to it


@dataclass(frozen=True)
class EdgeState:
    """The edges that are left after some removals.

    `gone` edges are removed, and `added` are the ownerships that replaced them. `masked` edges are not used in proofs,
    but count for DENYs. `kept` edges will not be removed.
    """

    gone: frozenset[HeldEdge] = NOTHING
    added: frozenset[HeldEdge] = NOTHING
    masked: frozenset[HeldEdge] = NOTHING
    kept: frozenset[HeldEdge] = NOTHING


STORED = EdgeState()


@dataclass(frozen=True, eq=False)
class RevocableFacts:
    """All facts that decide one check.

    `links` are the memberships of the subject, and of the groups and roles that it belongs to. `needs`: by fact, the
    holdings that make it true; a fact that is not in `needs` stays false after any removal. `later` are ownerships that
    a change of owner can add, and `removable` are the edges that a statement can remove.
    """

    evaluation: Evaluation
    links: Sequence[HeldEdge]
    needs: Mapping[Fact, Needs]
    later: frozenset[HeldEdge] = NOTHING
    removable: frozenset[HeldEdge] = NOTHING

    def proofs(self, state: EdgeState, deny: HeldEdge | None = None) -> list[Proof]:
        """Proofs of a yes that share no edge: at least one if the answer is yes, none if it is no.

        The first proof has few edges. A proof without edges cannot be broken. With `deny`, this DENY also exists.
        """
        best: list[list[Proof]] | None = None
        cut = self.removable - state.kept
        for role, _, _ in self._possible:
            reach = self._reach(role, state.gone | state.masked, cut)
            stopping = reach if not state.masked else self._reach(role, state.gone, cut)
            if reach is None or stopping is None:
                continue
            true = self._true(reach, state, cut)
            stopped = self._stopped(stopping, deny)
            for clause in self.evaluation.clauses:
                ways = _ways(clause, true, stopped)
                if all(ways) and (best is None or _size(ways) < _size(best)):
                    best = ways
        return [] if best is None else _apart(best)

    def relevant(self) -> frozenset[HeldEdge]:
        """The removable edges that a proof of the yes can use, now or after memberships with a DENY have ended."""
        found: set[HeldEdge] = set()
        for role, reach, usable in self._possible:
            holdings = [each for fact in usable for need in self.needs[fact] for each in need if each.by in reach]
            found |= {edge for _, edge in holdings if edge}
            ways = self._on_the_way({by for by, _ in holdings} | ({role} if role else set()))
            if role and self.evaluation.one_role and not self.evaluation.as_role:
                subject = self.evaluation.subject.text
                ways = {edge for edge in ways if (edge.to == role if edge.by == subject else edge.by in reach)}
            found |= ways
        return frozenset(found) & self.removable

    @cached_property
    def _possible(self) -> list[tuple[str | None, Reach, set[Fact]]]:
        """The roles with which the answer can be yes, now or later, each with its reach and the facts in proofs."""
        found = []
        for role in self._every_role():
            reach = self._reach(role, NOTHING, self.removable)
            if reach is None:
                continue
            true, builtin = self._true(reach, EdgeState(added=self.later), self.removable), self._builtin
            holding = [clause for clause in self.evaluation.clauses if all(_ways(clause, true, builtin))]
            atoms = (one for clause in holding for term in clause for one in term)
            if holding:
                found.append((role, reach, {fact for one in atoms for fact in one.any if fact in true}))
        return found

    def principals(self) -> list[str]:
        """The subject, then the groups and roles that it belongs to, direct ones first."""
        subject = self.evaluation.subject.text
        direct = [edge.to for edge in self.links if edge.by == subject]
        return list(dict.fromkeys([subject, *sorted(direct), *sorted(edge.to for edge in self.links)]))

    # ---- acting principals -------------------------------------------------------------------------------------------
    def _every_role(self) -> list[str | None]:
        """The roles that act one at a time; None where all principals count together."""
        evaluation = self.evaluation
        if not evaluation.one_role or evaluation.as_role:
            return [evaluation.as_role]
        subject = evaluation.subject.text
        return [*sorted(edge.to for edge in self._up.get(subject, ()) if edge.kind == HAS_ROLE)]

    def _reach(self, role: str | None, gone: frozenset[HeldEdge], cut: frozenset[HeldEdge]) -> Reach | None:
        """The principals that count, each with the edges of `cut` on a path to it; None if the subject does not hold
        the role."""
        subject, one_role = self.evaluation.subject.text, self.evaluation.one_role
        if one_role and not self.evaluation.as_role:
            assert role is not None, "a role acts"
            first = HeldEdge(subject, HAS_ROLE, role)
            own = cut & {first}
            return None if first in gone else self._paths(role, own, gone, cut, (HAS_ROLE,))
        every = self._paths(subject, NOTHING, gone, cut, None)
        if role is None:
            return every
        if role not in every:
            return None
        own = every[role]
        if one_role:
            return self._paths(role, own, gone, cut, (HAS_ROLE,))
        return {principal: path | own for principal, path in every.items()}

    def _paths(
        self,
        start: str,
        first: Proof,
        gone: frozenset[HeldEdge],
        cut: frozenset[HeldEdge],
        kinds: Collection[str] | None,
    ) -> dict[str, Proof]:
        """By principal: the edges of `cut` on a path to it. The path is one with the fewest such edges."""
        found: dict[str, Proof] = {}
        waiting = [(len(first), start, first)]
        while waiting:
            _, at, path = heappop(waiting)
            if at in found:
                continue
            found[at] = path
            for edge in self._up.get(at, ()):
                if edge.to not in found and edge not in gone and (kinds is None or edge.kind in kinds):
                    longer = path | {edge} if edge in cut else path
                    heappush(waiting, (len(longer), edge.to, longer))
        return found

    def _on_the_way(self, principals: Collection[str]) -> set[HeldEdge]:
        """The memberships through which the subject reaches one of these principals."""
        wanted, found = {*principals}, set[HeldEdge]()
        waiting = [*wanted]
        while waiting:
            for edge in self._down.get(waiting.pop(), ()):
                found.add(edge)
                if edge.by not in wanted:
                    wanted.add(edge.by)
                    waiting.append(edge.by)
        return found

    @cached_property
    def _up(self) -> dict[str, list[HeldEdge]]:
        return _grouped((edge.by, edge) for edge in self.links)

    @cached_property
    def _down(self) -> dict[str, list[HeldEdge]]:
        return _grouped((edge.to, edge) for edge in self.links)

    # ---- true facts --------------------------------------------------------------------------------------------------
    def _true(self, reach: Reach, state: EdgeState, cut: frozenset[HeldEdge]) -> dict[Fact, list[Proof]]:
        """The facts that are true, except DENYs, each with its proofs by edges of `cut`, the shortest first."""
        found = {}
        for fact, needs in self.needs.items():
            if fact.kind is FactKind.DENY:
                continue
            ways = [
                [
                    reach[by] | {edge} if edge in cut else reach[by]
                    for by, edge in need
                    if by in reach and edge not in state.masked and self._present(edge, state)
                ]
                for need in needs
            ]
            if all(ways):
                for each in ways:
                    each.sort(key=len)
                found[fact] = ways[0] if len(ways) == 1 else [NOTHING.union(*(each[0] for each in ways))]
        return found

    def _present(self, edge: HeldEdge | None, state: EdgeState) -> bool:
        return edge in state.added if edge in self.later else edge not in state.gone

    def _stopped(self, reach: Reach, deny: HeldEdge | None) -> frozenset[Fact]:
        """The facts that stop atoms: the DENYs of the principals, and the BUILTIN facts of places."""
        found = {
            fact
            for fact, needs in self.needs.items()
            if fact.kind is FactKind.DENY and any(by in reach for need in needs for by, _ in need)
        }
        if deny is not None and deny.by in reach:
            found |= {fact for fact in self.denials if self.denial(fact, deny.by) == deny}
        return self._builtin | found

    def denial(self, fact: Fact, by: str) -> HeldEdge:
        """The edge that makes a DENY true for a principal."""
        return HeldEdge(by, "DENY", self.evaluation.entity(fact), fact.privileges[0])

    @cached_property
    def denials(self) -> list[Fact]:
        """The DENYs that can stop the question."""
        atoms = (one for clause in self.evaluation.clauses for term in clause for one in term)
        return sorted({fact for one in atoms for fact in one.none if fact.kind is FactKind.DENY})

    @cached_property
    def _builtin(self) -> frozenset[Fact]:
        return frozenset(fact for fact in self.needs if fact.kind is FactKind.BUILTIN)


def _ways(clause: Clause, true: Mapping[Fact, list[Proof]], stopped: Collection[Fact]) -> list[list[Proof]]:
    """By term of a clause: its proofs, the shortest first."""
    return [
        sorted(
            (
                way
                for one in term
                if not any(fact in stopped for fact in one.none)
                for fact in one.any
                for way in true.get(fact, ())
            ),
            key=len,
        )
        for term in clause
    ]


def _size(ways: Sequence[Sequence[Proof]]) -> int:
    return len(NOTHING.union(*(each[0] for each in ways)))


def _apart(ways: Sequence[Sequence[Proof]]) -> list[Proof]:
    """Proofs of a clause that share no edge, from the proofs of its terms."""
    found, used, rests = list[Proof](), set[HeldEdge](), [deque(each) for each in ways]
    while True:
        for rest in rests:
            while rest and not used.isdisjoint(rest[0]):
                rest.popleft()
        if not all(rests):
            return found
        proof = NOTHING.union(*(rest[0] for rest in rests))
        found.append(proof)
        if not proof:
            return found
        used |= proof


def _grouped(pairs: Iterator[tuple[str, HeldEdge]]) -> dict[str, list[HeldEdge]]:
    found: dict[str, list[HeldEdge]] = {}
    for key, edge in pairs:
        found.setdefault(key, []).append(edge)
    return found
