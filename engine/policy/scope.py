"""The places that a condition can name: the object and its ancestors, second objects, the grantee of a change."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from grantpath.engine.policy.clauses import Clauses
from grantpath.engine.policy.index import PolicyIndex, PolicyProblem, YamlPath
from grantpath.graph.language.near_names import nearest
from grantpath.graph.messages import indefinite

MAX_NESTED = 60


@dataclass(frozen=True)
class TypedPlace:
    """A place with its type and the number of segments of its reference. `prefix`: empty for the object and its
    ancestors, else the second object or grantee."""

    type: str
    length: int
    prefix: str = ""

    def upward(self, names: PolicyIndex) -> tuple["TypedPlace", ...]:
        """The place and the places above it, up to the root."""
        up = names.types_up(self.type, self.length)
        return tuple(TypedPlace(type_, max(1, len(up) - 1 - at), self.prefix) for at, type_ in enumerate(up))


@dataclass(frozen=True)
class Scope:
    """The context of an expression: its object, its second objects, and the path of expansions, to detect cycles.

    `absent` are the optional second objects that the question omits.
    """

    key: YamlPath
    object: TypedPlace
    with_: dict[str, TypedPlace] = field(default_factory=dict)
    absent: frozenset[str] = frozenset()
    granted: Clauses | None = None  # in `in_effect`: what `granted` stands for
    in_change: bool = False
    all_roles: bool = False  # the operation that is asked combines all held roles
    path: tuple[str, ...] = ()
    steps: Iterator[int] = field(default_factory=count)  # shared by all scopes of one expansion

    def omits(self, place: str) -> bool:
        """Whether the place is an optional second object that the question omits."""
        return place.startswith("with.") and place.removeprefix("with.") in self.absent

    def enter(self, what: str, **changes: Any) -> "Scope":
        """The scope inside a named condition. Raises PolicyProblem for a cycle."""
        # a type in itself repeats the same conditions, each time with another number of segments after the @
        if len({each.partition("@")[0] for each in self.path}) >= MAX_NESTED:
            raise PolicyProblem(self.key, f"conditions are nested {MAX_NESTED} deep; write some of them out")
        if what in self.path:
            cycle = re.sub(r"@\d+", "", " asks ".join([*self.path, what]))
            raise PolicyProblem(self.key, f"{cycle}, which is a cycle; break it")
        return replace(self, **changes, path=(*self.path, what))


PLACES = {  # the names that conditions have for places, beside the types
    "object": "the object asked about",
    "parent": "what the object is in",
    "root": "the root object",
    "any": "the object and all above it, in `owner(any)`",
    "grantee": "who gains or loses something, in `changes`",
}


def find_places(place: str, scope: Scope, names: PolicyIndex) -> tuple[TypedPlace, ...]:
    """The places with this name in a scope, from the object upward.

    There are several for a type that is in itself, and none if the type is not above an object with so many segments.
    Raises PolicyProblem for a place that no object of the type has.
    """
    here = scope.object
    up = here.upward(names)
    if place == "object":
        return (here,)
    if place == "root":
        return (TypedPlace(names.root, 1),)
    if place == "parent" and len(up) > 1:
        return (up[1],)
    key = place.removeprefix("with.")
    if key in scope.with_ and (place == "grantee" or place.startswith("with.")):
        return (scope.with_[key],)
    possible = {here.type, *names.above(here.type)}
    if place in possible:
        return tuple(each for each in up if each.type == place)
    types = dict.fromkeys([*(each.type for each in up), *sorted(possible)])
    known = [*types, "object", "parent", "root", *(key if key == "grantee" else f"with.{key}" for key in scope.with_)]
    if place == "grantee":
        rule = "grantee is a place only in the rules of `changes` for member, remove, owner, grant and revoke"
    else:
        rule = f"the place {place!r} is not on the way from {here.type} to the root{nearest(place, known)}"
    remedy = f"write one of {', '.join(known)}"
    if scope.key[0] == "define" and len(scope.key) == 2:
        name, example = scope.key[1], f"{{{here.type}: CONDITION, ...}}"
        remedy += f"; or, because {name} is asked about {indefinite(here.type)}, define it by type: {name}: {example}"
    raise PolicyProblem(scope.key, f"{rule}; {remedy}")
