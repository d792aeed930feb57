"""Deltas: the facts that a change adds and removes, as canonical statements.

A delta is complete: it includes the facts that a drop removes together with its object, and the facts that the creator
of an object gets. The statements are in an order in which they can be applied: additions from the top down, with
entities before edges; removals in the reverse order. A removed fact is written as the statement that adds it.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from grantpath.engine.policy.policy import Policy
from grantpath.graph.guard.transaction import AskByName
from grantpath.graph.language.reference import length_of, type_of
from grantpath.graph.language.statement import parse_statement
from grantpath.graph.language.stored_fact import StoredFact, fact_in, fact_text

Scope = dict[str, Any]
ORDER = ("ENTITY", "MEMBER", "OWNS", "TAGGED", "ALLOW", "DENY")
BULK = 200_000  # a delta with more facts is not stored, and readers must read the graph again


@dataclass
class Delta:
    """The statements of the added and removed facts, and all references in them. `bulk`: the facts are too many, and
    none of them is listed. `renamed`: the former and the new reference of a rename or a move, in place of many facts,
    which follow from the facts before; `touched` then has the former and the new references of what was renamed."""

    added: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    touched: list[str] = field(default_factory=list, compare=False)
    bulk: bool = False
    renamed: tuple[str, str] | None = None


class Changed(Protocol):
    """An object with the lists of a delta."""

    @property
    def added(self) -> list[str]:
        """Statements."""

    @property
    def removed(self) -> list[str]:
        """Statements."""


class Watch:
    """Reads, before changes are written, the facts that they may affect; `deltas` reads the facts again afterwards."""

    def __init__(self, ask: AskByName, policy: Policy, scopes: Sequence[Scope]) -> None:
        """`ask` runs a query of cypher/ by its name in the changes' transaction; the changes write to `scopes`."""
        self._ask = ask
        self._policy = policy
        self._scopes = scopes
        self._before = self._facts()

    def deltas(self) -> list[Delta]:
        """The deltas, in the order of the changes' numbers. A fact that several changes affect is only in the first
        delta."""
        after, found = self._facts(), []
        seen: set[StoredFact] = set()
        for at in sorted({scope["at"] for scope in self._scopes}):
            before_it, after_it = self._before[at], after[at]
            added, removed = after_it - before_it - seen, before_it - after_it - seen
            seen |= added | removed
            found.append(delta_of(self._policy, added, removed))
        return found

    def _facts(self) -> dict[int, set[StoredFact]]:
        facts: dict[int, set[StoredFact]] = defaultdict(set)
        for row in self._ask("affected_facts", scopes=self._scopes) if self._scopes else ():
            facts[row["at"]].add(fact_in(row))
        return facts


def delta_of(policy: Policy, added: Iterable[StoredFact], removed: Iterable[StoredFact]) -> Delta:
    """The delta of these facts, with its statements in the order in which they can be applied."""

    def rank(fact: StoredFact) -> tuple[int, int, bytes]:
        kind, _, _, object_, _ = fact
        type_ = type_of(object_)
        depth = 0
        if kind == "ENTITY" and type_ in policy.file.types:
            depth = length_of(object_) + 1 if policy.names.varies(type_) else len(policy.names.types_up(type_))
        return ORDER.index(kind), depth, fact_text(fact).encode()

    top_down, bottom_up = sorted(added, key=rank), sorted(removed, key=rank, reverse=True)
    facts = top_down + bottom_up
    return Delta(
        [fact_text(fact) for fact in top_down],
        [fact_text(fact) for fact in bottom_up],
        sorted({ref for _, _, subject, object_, _ in facts for ref in (subject, object_) if ref}),
    )


def without_owner(delta: Delta) -> list[str] | None:
    """The objects that lose their owner by a change and still exist, in byte order; None if the delta is bulk."""
    if delta.bulk:
        return None
    owned = [parse_statement(text).object for text in delta.removed if text.startswith("owner ")]
    gone = {*delta.removed}
    return sorted(ref for ref in owned if f"add {ref}" not in gone)


def scope(at: int, kind: str, object_: str, subject: str | None = None) -> Scope:
    """A part of the graph, in the form that affected_facts.cypher takes."""
    return {"at": at, "kind": kind, "object": object_, "subject": subject}


def net(deltas: Iterable[Changed]) -> Delta:
    """The combined effect of consecutive deltas: a fact that one adds and a later one removes is in neither list."""
    added: dict[str, None] = {}
    removed: dict[str, None] = {}
    for delta in deltas:
        for lost in delta.removed:
            if lost in added:
                del added[lost]
            else:
                removed[lost] = None
        for gained in delta.added:
            if gained in removed:
                del removed[gained]
            else:
                added[gained] = None
    return Delta(list(added), list(removed))
