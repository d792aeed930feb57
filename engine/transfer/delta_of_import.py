"""The delta of an import for the log: every fact that it adds and removes, with those that come with the policy."""

from collections.abc import Iterator

from grantpath.engine.change.deltas import BULK, Delta, delta_of
from grantpath.engine.policy.policy import Policy
from grantpath.engine.transfer.rows import Edges, ResolvedRows, label_parts
from grantpath.engine.transfer.tables import Ints
from grantpath.graph.language.stored_fact import StoredFact

Facts = tuple[Ints, Edges]  # entities by number, and edges


def delta_of_import(policy: Policy, rows: ResolvedRows, added: Facts, removed: Facts, every: bool) -> Delta:
    """The delta of these facts; a bulk one if they are too many to be listed in the log, except with `every`."""
    if not every and sum(len(entities) + len(edges.start) for entities, edges in (added, removed)) > BULK:
        return Delta(bulk=True)
    return delta_of(policy, _facts(rows, added), _facts(rows, removed))


def _facts(rows: ResolvedRows, facts: Facts) -> Iterator[StoredFact]:
    texts, (entities, edges) = rows.names.texts, facts
    for at in entities.tolist():
        yield "ENTITY", "", "", texts[at], ""
    for start, end, label in zip(edges.start.tolist(), edges.end.tolist(), edges.label.tolist(), strict=True):
        kind, privilege, until = label_parts(rows.labels[label])
        yield kind, privilege, texts[start], texts[end], until
