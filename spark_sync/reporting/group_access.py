"""What groups and roles give, each alone: the access of a user who belongs to nothing else and has no grants."""

from collections.abc import Collection, Iterator

import numpy as np

from grantpath.engine.facts.kernel.interval_sets import union
from grantpath.engine.facts.kernel.intervals import ActingPrincipals, Ints
from grantpath.graph.distinct_numbers import distinct
from grantpath.spark_sync.bulk.bulk_questions import prepare
from grantpath.spark_sync.bulk.condition_answers import ConditionAnswers
from grantpath.spark_sync.bulk.users_by_principal import UsersByPrincipal
from grantpath.spark_sync.session.snapshot import Snapshot

GROUPS = 50  # the kernel computes so few subjects in little time, at every size of the snapshot

Allowed = tuple[Ints, Ints, Ints]  # (group, low, high): half-open ranges of indexes in the listed objects of a type


class GroupAccess:
    """The access of the groups and roles with the most users, from the facts of the snapshot."""

    def __init__(self, source: Snapshot, answers: ConditionAnswers, holders: UsersByPrincipal) -> None:
        self._source, self._answers, numbering = source, answers, source.numbering
        types = [type_ for type_ in source.policy.names.subject_types if type_ not in source.policy.user_types]
        chosen = np.isin(numbering.type, [numbering.types.index(type_) for type_ in types]) & numbering.exists
        chosen[source.hidden] = False
        groups = np.flatnonzero(chosen & (holders.count > 0))
        self.total = len(groups)  # groups and roles with users
        self.groups: Ints = np.sort(groups[np.lexsort((groups, -holders.count[groups]))][:GROUPS])
        self._users: Ints = holders.count[self.groups]

    def allowed(self, conditions: Collection[int]) -> dict[int, Allowed]:
        """By condition: the objects on which it allows each group."""
        found: dict[int, list[Allowed]] = {condition: [] for condition in conditions}
        questions = {at: self._answers.questions[self._answers.conditions[at].number] for at in found}
        for one_role in (False, True):
            mine = [at for at, question in questions.items() if question.one_role is one_role]
            for acting in self._acting(one_role) if mine else ():
                facts = self._source.fact_table.of(distinct(acting.principal))
                prepared = prepare(self._source, [questions[at] for at in mine], facts)
                for piece in acting.pieces(prepared.facts):
                    for at, (row, low, high) in zip(mine, prepared.answers(piece), strict=True):
                        found[at].append(union(piece.subject[row], low, high))
        return {at: _joined(parts) for at, parts in found.items()}

    def _acting(self, one_role: bool) -> Iterator[ActingPrincipals]:
        """The principals that act for each group. If one role is active at a time, a role acts for itself."""
        if not one_role:
            yield self._source.closure(self.groups).acting(self.groups)
            return
        closure, numbering = self._source.closure(), self._source.numbering
        roles = [numbering.types.index(type_) for type_ in self._source.policy.role_types]
        are_roles = np.isin(numbering.type[self.groups], roles)
        yield closure.acting(self.groups[are_roles])
        yield self._source.roles.acting(self.groups[~are_roles], closure)

    def largest(self, indexes: Ints, conditions: Ints, allowed: dict[int, Allowed]) -> list[int | None]:
        """For each object, the group with the most users that its condition allows. `indexes`: of the objects in the
        list of their type."""
        found: list[int | None] = []
        for index, condition in zip(indexes.tolist(), conditions.tolist(), strict=True):
            group, low, high = allowed[condition]
            here = np.searchsorted(self.groups, group[(low <= index) & (index < high)])
            found.append(int(self.groups[here[self._users[here].argmax()]]) if len(here) else None)
        return found

    def counts(self, allowed: Allowed, first: Ints, end: Ints) -> Ints:
        """How many objects each group is allowed on in these ranges of indexes: a row per group, a column per range."""
        group, low, high = allowed
        both = np.minimum(high[:, None], end) - np.maximum(low[:, None], first)
        found = np.zeros((len(self.groups), len(first)), np.int64)
        np.add.at(found, np.searchsorted(self.groups, group), np.maximum(both, 0))
        return found


def _joined(parts: list[Allowed]) -> Allowed:
    empty = np.empty(0, np.int64)
    group, low, high = (np.concatenate([empty, *(part[at] for part in parts)]).astype(np.int64) for at in range(3))
    return group, low, high
