"""The questions of a bulk answer: names by type with their conditions, and the users and objects that they cover."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from grantpath.engine.facts.kernel.fact_table import FactTable, Prepared, targeted_at
from grantpath.engine.facts.kernel.intervals import ActingPrincipals, Bools, Ints
from grantpath.engine.policy.facts import is_privilege
from grantpath.engine.policy.policy import Policy, Requirement
from grantpath.graph.errors import Invalid
from grantpath.spark_sync.session.snapshot import Snapshot

ALL_USERS = -1  # pseudo-subject for the access that every user has; a user without a row has only this access


class Name(NamedTuple):
    """A privilege or operation on a type, and the number of its condition. Equal conditions share a number."""

    name: str
    type: str
    condition: int


class Written(NamedTuple):
    """What was written of a bulk answer: the rows of `reach`, and by (name, type) the allowed pairs of user and
    object."""

    reach_rows: int
    accessible: dict[tuple[str, str], int]


def conditions(policy: Policy, names: Sequence[str] | None) -> tuple[list[Name], list[Requirement]]:
    """The names by type, and their distinct conditions. Raises Unknown, Invalid for a name without a bulk answer."""
    listed: list[Name] = []
    questions: list[Requirement] = []
    numbers: dict[object, int] = {}
    canonical = {name: _canonical(policy, name) for name in names or []}
    for type_ in policy.names.types:
        asked = policy.names_on(type_)
        if names is not None:
            asked = [name for name, own in dict.fromkeys(canonical.items()) if own in asked]
        for name in asked:
            try:
                question = policy.question(name, type_)
            except Invalid:
                if names is not None:
                    raise
                continue  # the name needs a second object
            key = (type_, question.condition)
            if key not in numbers:
                numbers[key] = len(questions)
                questions.append(question)
            listed.append(Name(name, type_, numbers[key]))
    return listed, questions


def by_condition(listed: Sequence[Name]) -> dict[int, list[Name]]:
    """The names by the number of their condition, in their order."""
    names: dict[int, list[Name]] = {}
    for each in listed:
        names.setdefault(each.condition, []).append(each)
    return names


def _canonical(policy: Policy, name: str) -> str:
    """The name in the form in which `names_on` lists it. Raises Unknown."""
    if is_privilege(name):
        return policy.names.canonical(name)
    own = policy.file.aliases.get(name, name)
    if own not in policy.names.operation_types:
        policy.names.operation(name, policy.root_type)
    return own


def listed_objects(source: Snapshot, type_: str) -> Ints:
    """The positions of the existing objects of a type, without hidden objects."""
    chosen = source.numbering.of_type(type_) & source.numbering.exists
    chosen[source.hidden] = False
    return np.flatnonzero(chosen)


def users(source: Snapshot) -> Bools:
    """By position: whether the entity is a user or service principal that answers can contain."""
    codes = [source.numbering.types.index(name) for name in source.policy.user_types]
    chosen = np.isin(source.numbering.type, codes) & source.numbering.exists
    chosen[source.hidden] = False
    return chosen


def prepare(source: Snapshot, questions: Sequence[Requirement], facts: FactTable | None = None) -> Prepared:
    """Prepares questions for all existing objects of their types, without hidden objects.

    `facts`: by default, all facts of the snapshot.
    """
    targets = {type_: listed_objects(source, type_) for type_ in {question.type for question in questions}}
    asked = [targeted_at(source.numbering, each, targets[each.type]) for each in questions]
    return Prepared(facts or source.fact_table, asked)


def without_facts(prepared: Prepared) -> list[tuple[Ints, Ints]]:
    """For each question, the access of a user without facts, as half-open intervals."""
    no_principals = ActingPrincipals(np.zeros(1, np.int64), np.zeros(2, np.int64), np.empty(0, np.int64))
    return [(low, high) for _, low, high in prepared.answers(no_principals)]
