"""The privileges and operations that a comparison of access asks about, each with its condition before and after."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from grantpath.engine.policy.policy import Policy, Requirement
from grantpath.graph.errors import Invalid

Name = tuple[str, str]  # a privilege or operation, and a type


@dataclass(frozen=True, eq=False)
class AskedName:
    """Names on a type that all have the condition `before` before a change, and the condition `after` after it.

    A condition is None if the policy of that side does not have the names.
    """

    type: str
    names: tuple[str, ...]
    before: Requirement | None
    after: Requirement | None

    @property
    def changed(self) -> bool:
        """Whether the two conditions differ."""
        return _condition(self.before) != _condition(self.after)


@lru_cache(maxsize=16)
def asked_names(before: Policy, after: Policy) -> list[AskedName]:
    """All names of two policies that need no second object."""
    former, latter = requirements(before), requirements(after)
    alike: dict[tuple[str, object, object], list[str]] = {}
    for name in dict.fromkeys([*former, *latter]):
        key = (name[1], _condition(former.get(name)), _condition(latter.get(name)))
        alike.setdefault(key, []).append(name[0])
    return [
        AskedName(type_, tuple(names), former.get((names[0], type_)), latter.get((names[0], type_)))
        for (type_, _, _), names in alike.items()
    ]


def requirements(policy: Policy) -> Mapping[Name, Requirement]:
    """The requirements of all names that need no second object."""
    return _requirements(policy)[0]


def names_with_second_objects(policy: Policy) -> list[str]:
    """The operations that cannot be asked without a second object, sorted."""
    return _requirements(policy)[1]


@lru_cache(maxsize=16)
def _requirements(policy: Policy) -> tuple[dict[Name, Requirement], list[str]]:
    found: dict[Name, Requirement] = {}
    needing: set[str] = set()
    for type_ in policy.names.types:
        for name in policy.names_on(type_):
            try:
                found[name, type_] = policy.question(name, type_)
            except Invalid:
                needing.add(name)
    return found, sorted(needing)


def _condition(requirement: Requirement | None) -> object:
    return None if requirement is None else requirement.condition
