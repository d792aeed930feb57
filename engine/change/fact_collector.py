"""Collects the facts that the changes of a level add and remove, while they are written."""

from collections.abc import Iterable, Mapping
from typing import Any

from grantpath.engine.change.change_step import ChangeStep, Kept
from grantpath.engine.change.deltas import BULK, Delta, delta_of
from grantpath.engine.policy.policy import Policy
from grantpath.graph.language.stored_fact import StoredFact, stored_fact


class FactCollector:
    """The facts that each change of a level adds and removes. If several changes remove a fact, the first delta has
    it."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._added: dict[ChangeStep, dict[StoredFact, None]] = {}
        self._removed: dict[ChangeStep, dict[StoredFact, None]] = {}
        self._of: dict[tuple[str, str], ChangeStep] = {}  # by query and reference, the change that writes the row

    def writes(self, step: ChangeStep, query: str, ref: str) -> None:
        """Records that the change writes the row of `query` with this reference."""
        self._of[query, ref] = step

    def add(self, step: ChangeStep, *facts: StoredFact) -> None:
        """Records facts that the change adds."""
        self._added.setdefault(step, {}).update(dict.fromkeys(facts))

    def remove(self, step: ChangeStep, *facts: StoredFact) -> None:
        """Records facts that the change removes."""
        self._removed.setdefault(step, {}).update(dict.fromkeys(facts))

    # ---- what the queries found ----------------------------------------------------------------------------------
    def written(self, query: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Records the facts that a query of cypher/changes/ found in the graph before it wrote."""
        for row in rows:
            match query:
                case "add":
                    self._kept(row)
                case "own":
                    step = self._of[query, row["object"]]
                    self.remove(step, *(("OWNS", "", former, row["object"], "") for former in row["former"]))
                case "drop":
                    for ref, *fact in row["removed"]:
                        self.remove(self._of[query, ref], stored_fact(*fact))

    def _kept(self, row: Mapping[str, Any]) -> None:
        """A name that becomes an entity keeps its grants and memberships, so they are not added again."""
        step, ref = self._of.get(("add", row["ref"])), row["ref"]
        if step is not None:
            step.kept = Kept(len(row["granted"]), len(row["held"]))
            for effect, privilege, grantee, until in row["granted"]:
                self._had(step, (effect, privilege, grantee, ref), until)
            for role, until in row["held"]:
                self._had(step, ("MEMBER", "", ref, role), until)

    def _had(self, step: ChangeStep, fact: tuple[str, str, str, str], until: str | None) -> None:
        """Records that a fact that the change adds, if it does, was there before: it is new only if it had an end."""
        if (*fact, "") not in self._added[step]:
            return
        if until:
            self.remove(step, (*fact, until))
        else:
            del self._added[step][*fact, ""]

    # ---- result --------------------------------------------------------------------------------------------------
    def give(self, steps: Iterable[ChangeStep]) -> None:
        """Sets the delta of each change."""
        seen: set[StoredFact] = set()
        for step in steps:
            added, removed = self._added.get(step, {}), self._removed.get(step, {})
            if len(removed) > BULK:
                step.delta = Delta(bulk=True)
                continue
            gone = [fact for fact in removed if fact not in seen]
            seen.update(gone)
            step.delta = delta_of(self._policy, added, gone)
