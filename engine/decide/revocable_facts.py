"""The facts on which a yes depends, each with the edges that support it, and what remains of them without some edges.

ALLOW, ownership and membership can only help a subject, and DENY can only stop it. If an edge is removed, a fact that
does not need the edge therefore remains true. A membership can also bring a DENY, which then ends with it.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush
from typing import NamedTuple

from grantpath.engine.decide.evaluation import Evaluation
from grantpath.engine.policy.clauses import Clause
from grantpath.engine.policy.facts import Fact, FactKind

HAS_ROLE = "HAS_ROLE"
NOTHING: frozenset["Edge"] = frozenset()


class Edge(NamedTuple):
    """A stored edge: a membership (`kind` is the type of its relationship), an ALLOW or DENY, or an ownership."""

    by: str
    kind: str
    to: str
    privilege: str = ""


class Holding(NamedTuple):
    """One way in which a fact is true: a principal, and its edge; without an edge, to be the principal suffices."""

    by: str
    edge: Edge | None


Needs = Sequence[Sequence[Holding]]  # a fact is true if each of these has a holding that is left
Reach = Mapping[str, frozenset[Edge]]  # by principal: the edges of a path from the subject that can be removed


@dataclass(frozen=True)
class Removed:
    """The edges that are gone, and the ownerships that took their place."""

    gone: frozenset[Edge] = NOTHING
    added: frozenset[Edge] = NOTHING


@dataclass(frozen=True, eq=False)
class RevocableFacts:
    """All that decides one question.

    `links` are the memberships of the subject and of all that it belongs to. `needs`: by fact, the holdings that make
    it true; a fact that is missing is false whatever is removed. `later` are ownerships that are not stored yet, and
    `removable` the edges that a statement can remove.
    """

    evaluation: Evaluation
    links: Sequence[Edge]
    needs: Mapping[Fact, Needs]
    later: frozenset[Edge] = NOTHING
    removable: frozenset[Edge] = field(default=NOTHING)

    def support(
        self, removed: Removed, masked: frozenset[Edge] = NOTHING, deny: Edge | None = None
    ) -> frozenset[Edge] | None:
        """The removable edges of one proof of the yes that is left; None if the answer is no.

        The answer stays yes until one of these edges is removed. The proof uses none of the `masked` edges, which still
        count for DENY. With `deny` this DENY exists too. Of several proofs it is one with few removable edges.
        """
        best: frozenset[Edge] | None = None
        for role in self._roles(removed.gone):
            reach = self._reach(role, removed.gone | masked)
            stopping = reach if not masked else self._reach(role, removed.gone)
            if reach is None or stopping is None:
                continue
            true = self._true(reach, removed, masked)
            stopped = self._stopped(stopping, deny)
            for clause in self.evaluation.clauses:
                found = _of_clause(clause, true, stopped)
                if found is not None and (best is None or len(found) < len(best)):
                    best = found
        return best

    def relevant(self) -> frozenset[Edge]:
        """The removable edges that a proof of the yes can use, now or after memberships with a DENY have ended."""
        found: set[Edge] = set()
        for role in self._roles(NOTHING):
            reach = self._reach(role, NOTHING)
            if reach is None:
                continue
            true, builtin = self._true(reach, Removed(), NOTHING), self._builtin
            principals: set[str] = {role} if role else set()
            for clause in self.evaluation.clauses:
                if _of_clause(clause, true, builtin) is None:
                    continue
                usable = (fact for term in clause for one in term for fact in one.any if fact in true)
                for by, edge in (each for fact in usable for need in self.needs[fact] for each in need):
                    if by in reach:
                        principals.add(by)
                        found |= {edge} if edge else set()
            ways = self._on_the_way(principals)
            if role and self.evaluation.one_role and not self.evaluation.as_role:
                subject = self.evaluation.subject.text
                ways = {edge for edge in ways if edge.by in reach and (edge.by != subject or edge.to == role)}
            found |= ways
        return frozenset(found) & self.removable

    def principals(self) -> list[str]:
        """The subject and everything that it belongs to, the nearest first."""
        subject = self.evaluation.subject.text
        direct = [edge.to for edge in self.links if edge.by == subject]
        return list(dict.fromkeys([subject, *sorted(direct), *sorted(edge.to for edge in self.links)]))

    # ---- who acts ----------------------------------------------------------------------------------------------------
    def _roles(self, gone: Collection[Edge]) -> list[str | None]:
        """The roles that act one at a time; None where all principals count together."""
        evaluation = self.evaluation
        if not evaluation.one_role or evaluation.as_role:
            return [evaluation.as_role]
        subject = evaluation.subject.text
        held = (edge.to for edge in self.links if (edge.by, edge.kind) == (subject, HAS_ROLE) and edge not in gone)
        return [*sorted(held)]

    def _reach(self, role: str | None, gone: Collection[Edge]) -> Reach | None:
        """The principals that count, each with the removable edges of a path to it; None if the role is not held."""
        subject, one_role = self.evaluation.subject.text, self.evaluation.one_role
        if one_role and not self.evaluation.as_role:
            assert role is not None, "a role acts"
            first = Edge(subject, HAS_ROLE, role)
            own = self._cut(first)
            return None if first in gone else {subject: own, **self._paths(role, own, gone, (HAS_ROLE,))}
        every = self._paths(subject, NOTHING, gone, None)
        if role is None:
            return every
        if role not in every:
            return None
        own = every[role]
        if one_role:
            return {subject: own, **self._paths(role, own, gone, (HAS_ROLE,))}
        return {principal: path | own for principal, path in every.items()}

    def _paths(
        self, start: str, first: frozenset[Edge], gone: Collection[Edge], kinds: Collection[str] | None
    ) -> dict[str, frozenset[Edge]]:
        """By principal: the removable edges of a path to it that has as few of them as possible."""
        found: dict[str, frozenset[Edge]] = {}
        waiting = [(len(first), start, first)]
        while waiting:
            _, at, path = heappop(waiting)
            if at in found:
                continue
            found[at] = path
            for edge in self._up.get(at, ()):
                if edge.to not in found and edge not in gone and (kinds is None or edge.kind in kinds):
                    longer = path | self._cut(edge)
                    heappush(waiting, (len(longer), edge.to, longer))
        return found

    def _on_the_way(self, principals: Collection[str]) -> set[Edge]:
        """The memberships through which the subject reaches one of these principals."""
        wanted, found = {*principals}, set[Edge]()
        waiting = [*wanted]
        while waiting:
            for edge in self._down.get(waiting.pop(), ()):
                found.add(edge)
                if edge.by not in wanted:
                    wanted.add(edge.by)
                    waiting.append(edge.by)
        return found

    @cached_property
    def _up(self) -> dict[str, list[Edge]]:
        return _grouped((edge.by, edge) for edge in self.links)

    @cached_property
    def _down(self) -> dict[str, list[Edge]]:
        return _grouped((edge.to, edge) for edge in self.links)

    def _cut(self, edge: Edge | None) -> frozenset[Edge]:
        return frozenset([edge]) if edge in self.removable else NOTHING

    # ---- what is true ------------------------------------------------------------------------------------------------
    def _true(self, reach: Reach, removed: Removed, masked: Collection[Edge]) -> dict[Fact, frozenset[Edge]]:
        """The facts that are true, except DENYs, each with the removable edges that prove it."""
        found = {}
        for fact, needs in self.needs.items():
            if fact.kind is FactKind.DENY:
                continue
            chosen: frozenset[Edge] | None = NOTHING
            for need in needs:
                ways = [
                    reach[by] | self._cut(edge)
                    for by, edge in need
                    if by in reach and edge not in masked and self._present(edge, removed)
                ]
                chosen = chosen | min(ways, key=len) if chosen is not None and ways else None
            if chosen is not None:
                found[fact] = chosen
        return found

    def _present(self, edge: Edge | None, removed: Removed) -> bool:
        return edge in removed.added if edge in self.later else edge not in removed.gone

    def _stopped(self, reach: Reach, deny: Edge | None) -> frozenset[Fact]:
        """The facts that stop atoms: DENYs of the principals, and that a place is built in."""
        found = {
            fact
            for fact, needs in self.needs.items()
            if fact.kind is FactKind.DENY and any(by in reach for need in needs for by, _ in need)
        }
        if deny is not None and deny.by in reach:
            found |= {fact for fact in self.denials if self.denial(fact, deny.by) == deny}
        return self._builtin | found

    def denial(self, fact: Fact, by: str) -> Edge:
        """The edge that makes a DENY true for a principal."""
        return Edge(by, "DENY", self.evaluation.entity(fact), fact.privileges[0])

    @cached_property
    def denials(self) -> list[Fact]:
        """The DENYs that can stop the question."""
        atoms = (one for clause in self.evaluation.clauses for term in clause for one in term)
        return sorted({fact for one in atoms for fact in one.none if fact.kind is FactKind.DENY})

    @cached_property
    def _builtin(self) -> frozenset[Fact]:
        return frozenset(fact for fact in self.needs if fact.kind is FactKind.BUILTIN)


def _of_clause(
    clause: Clause, true: Mapping[Fact, frozenset[Edge]], stopped: Collection[Fact]
) -> frozenset[Edge] | None:
    """The edges that prove a clause, with few of them for each term; None if it does not hold."""
    found = NOTHING
    for term in clause:
        ways = [
            true[fact]
            for one in term
            if not any(fact in stopped for fact in one.none)
            for fact in one.any
            if fact in true
        ]
        if not ways:
            return None
        chosen = found
        found |= min(ways, key=lambda way: len(way - chosen))
    return found


def _grouped(pairs: Iterator[tuple[str, Edge]]) -> dict[str, list[Edge]]:
    found: dict[str, list[Edge]] = {}
    for key, edge in pairs:
        found.setdefault(key, []).append(edge)
    return found
