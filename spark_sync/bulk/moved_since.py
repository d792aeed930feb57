"""Finds the questions about a snapshot whose answers may have changed since its revision."""

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from grantpath.engine.change.ending import ENDED
from grantpath.engine.facts.kernel.intervals import Ints
from grantpath.engine.facts.kernel.principals import Closure
from grantpath.engine.policy.clauses import Clauses, facts_of
from grantpath.engine.policy.facts import FactKind
from grantpath.graph.errors import Inconsistent, InvalidInput
from grantpath.graph.language.statement import Statement, parse_statement
from grantpath.spark_sync.session.snapshot import Snapshot


class Entry(Protocol):
    """An entry of the log, as returned by `Authorizer.log`."""

    @property
    def revision(self) -> int: ...
    @property
    def actor(self) -> str | None: ...
    @property
    def statement(self) -> str: ...


class Touched:
    """The questions that changes may affect; it may contain more questions than are really affected.

    A change of a subject affects all subjects that have it as an effective principal. Adding, dropping, renaming or
    moving an object affects its subtree, and each condition about descendants. Raises Inconsistent for changes whose
    effects the log does not show: a load, an upgrade of the policy, and pruned entries.
    """

    def __init__(self, source: Snapshot, entries: Sequence[Entry], newest: int) -> None:
        self._source = source
        base = source.meta.revision
        missing = set(range(base + 1, newest + 1)) - {entry.revision for entry in entries}
        if newest < base or missing:
            raise Inconsistent(
                f"{source.meta.root} is at revision {newest}, {source.named_folder} at {base}, and the log lacks"
                " changes in between; mirror the root again and verify the new snapshot"
            )
        changes = [(entry, _statement(source, entry)) for entry in entries]
        named = {ref for entry, each in changes for ref in (each.object, each.subject, each.to, entry.actor)}
        self._at = {ref: at for at, ref in enumerate(source.numbering.refs) if ref in named}
        self._subjects = np.unique(np.array([at for each in changes for at in self._affected(*each)], np.int64))
        of_trees = [each.object for _, each in changes if each.kind in ("add", "drop", "rename", "move")]
        trees = [self._at[ref] for ref in of_trees if ref in self._at]
        self._trees = [(at, int(source.numbering.last[at])) for at in trees]
        self._tree = bool(of_trees)

    def touches(self, subject: int, target: int, clauses: Clauses, closure: Closure) -> bool:
        """Whether the changes may affect the answer for this subject and object by these clauses."""
        return (
            bool(np.isin(closure.principals(subject), self._subjects).any())
            or any(first <= target <= last for first, last in self._trees)
            or (self._tree and any(fact.below for fact in facts_of(clauses)))
        )

    def _affected(self, entry: Entry, statement: Statement) -> Iterable[int]:
        """The subjects of the snapshot whose access a change may affect."""
        # an `add` affects its actor, because the creator of an object can get its ownership or a privilege on it
        named = {"add": [entry.actor], "hand over": [statement.object, statement.subject]}
        of_object = statement.kind in ("drop", "rename", "move")
        for ref in named.get(statement.kind, [statement.object if of_object else statement.subject]):
            if ref in self._at:
                yield self._at[ref]
        if statement.kind == "owner" and statement.object in self._at:
            yield from self._having(self._at[statement.object], (FactKind.OWNS,)).tolist()
        # those who have a grant on the tag gain or lose it on the object
        if statement.kind in ("tag", "untag") and statement.to in self._at:
            yield from self._having(self._at[statement.to], (FactKind.ALLOW, FactKind.DENY)).tolist()

    def _having(self, at: int, kinds: Sequence[FactKind]) -> Ints:
        """The principals that have a fact of one of these kinds on a place."""
        fact_table = self._source.fact_table
        chosen = np.array([key.kind in kinds for key in fact_table.keys], np.bool_)
        found: Ints = (
            fact_table.principal[(fact_table.place == at) & chosen[fact_table.key]]
            if len(chosen)
            else fact_table.principal[:0]
        )
        return found


def _statement(source: Snapshot, entry: Entry) -> Statement:
    try:
        return parse_statement(entry.statement.removeprefix(ENDED))
    except InvalidInput:
        raise Inconsistent(
            f"{source.meta.root} was changed in bulk since {source.named_folder} was mirrored (revision"
            f" {entry.revision}: {entry.statement[:80]}); mirror it again and verify the new snapshot"
        ) from None
