"""The bulk answers of a snapshot in columns, with one number for all names that have the same condition."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from grantpath.engine.answers.access_effects import telling_first
from grantpath.engine.facts.kernel.intervals import Bools, Ints
from grantpath.engine.facts.snapshot.snapshot_reader import ints
from grantpath.engine.policy.policy import Requirement
from grantpath.graph.errors import InvalidInput
from grantpath.graph.files.bounded_parquet import codes
from grantpath.spark_sync.bulk.bulk_questions import ALL_USERS, conditions, listed_objects, users
from grantpath.spark_sync.session.snapshot import Snapshot


@dataclass(frozen=True)
class AnsweredCondition:
    """A condition with bulk answers: the names that share it, and its number among all conditions of the policy.

    `names` begins with the clearest labels: names that contain the type, then shorter names.
    """

    number: int
    type: str
    names: tuple[str, ...]
    objects: int  # the number of existing objects of the type


@dataclass(frozen=True)
class ConditionAnswers:
    """Reach and exposure, each sorted by condition. The column `condition` is an index of `conditions`."""

    conditions: list[AnsweredCondition]
    questions: list[Requirement]  # all conditions of the policy without second objects, by number
    numbers: Mapping[tuple[str, str], int]  # by (name, type): the number of the condition
    users: Bools  # by position
    common: Ints  # by condition: the number of objects on which users without a row in `reach` are allowed
    reach_subject: Ints
    reach_condition: Ints
    reach_objects: Ints
    exposed: Ints  # positions
    exposed_condition: Ints
    exposed_users: Ints

    def reach_of(self, condition: int) -> slice:
        """The rows of reach of a condition."""
        return _slice(self.reach_condition, condition)

    def exposure_of(self, condition: int) -> slice:
        """The rows of exposure of a condition."""
        return _slice(self.exposed_condition, condition)


def _slice(column: Ints, value: int) -> slice:
    return slice(int(np.searchsorted(column, value)), int(np.searchsorted(column, value, side="right")))


def condition_answers(source: Snapshot) -> ConditionAnswers:
    """The bulk answers. Raises InvalidInput if the snapshot has none, or they cannot be read."""
    if not source.has("access/names"):
        place = source.named_folder
        raise InvalidInput(f"{place} has no bulk answers yet; run `grantpath access {place}` first")
    listed, questions = conditions(source.policy, None)
    numbers = {(each.name, each.type): each.condition for each in listed}
    table = source.table("access/names", ["name", "type"])
    found: dict[int, list[str]] = {}
    for name, type_ in zip(table["name"].to_pylist(), table["type"].to_pylist(), strict=True):
        if (name, type_) not in numbers:
            raise InvalidInput(
                f"{source.folder / 'access'}: the policy has no {name!r} on {type_!r}; run `grantpath access"
                f" {source.named_folder}` again"
            )
        found.setdefault(numbers[name, type_], []).append(name)
    answered = [
        AnsweredCondition(
            number,
            questions[number].type,
            tuple(sorted(names, key=lambda name: telling_first(name, questions[number].type))),
            len(listed_objects(source, questions[number].type)),
        )
        for number, names in found.items()
    ]
    subject, held, objects = _rows(source, "reach", "subject", "objects", answered, ALL_USERS)
    exposed, condition, many = _rows(source, "exposure", "position", "users", answered, 0)
    common = np.zeros(len(answered), np.int64)
    for_all = subject == ALL_USERS
    common[held[for_all]] = objects[for_all]
    return ConditionAnswers(
        answered,
        questions,
        numbers,
        users(source),
        common,
        subject[~for_all],
        held[~for_all],
        objects[~for_all],
        exposed,
        condition,
        many,
    )


def _rows(
    source: Snapshot, table: str, at: str, count: str, answered: list[AnsweredCondition], least: int
) -> tuple[Ints, Ints, Ints]:
    """The rows of one name for each condition, as (position, index of the condition, count), sorted by condition.

    Raises InvalidInput for a position below `least`, or of no entity.
    """
    rows = source.table(f"access/{table}", [at, "name", "type", count])
    name, names = codes(rows["name"])
    kind, kinds = codes(rows["type"])
    index = np.full((len(names) + 1, len(kinds) + 1), -1, np.int64)
    name_at = {each: at for at, each in enumerate(names.to_pylist())}
    type_at = {each: at for at, each in enumerate(kinds.to_pylist())}
    for number, each in enumerate(answered):
        index[name_at.get(each.names[0], -1), type_at.get(each.type, -1)] = number
    index[-1, :] = index[:, -1] = -1
    condition = index[name.to_numpy(), kind.to_numpy()]
    chosen = np.argsort(condition, kind="stable")[int((condition < 0).sum()) :]
    positions, counts = ints(rows, at)[chosen], ints(rows, count)[chosen]
    possible = (positions >= least) & (positions < len(source.numbering)) & (counts >= 0)
    if not possible.all():
        raise InvalidInput(
            f"{source.folder / 'access' / table}: a row has an invalid position or count; run `grantpath access"
            f" {source.named_folder}` again"
        )
    return positions, condition[chosen], counts
