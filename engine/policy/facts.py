"""Facts, of which conditions consist. This module alone prints and parses them.

Queries receive and return facts as texts. A text ends with a place of the question:

    ALLOW SELECT_TABLE table          an effective principal has the grant on the place (DENY likewise)
    ALLOW SELECT_TABLE#tag table      an effective principal has the grant on an entity of the type `tag` with which the
                                      place is tagged (DENY likewise)
    OWNS schema                       an effective principal owns the place
    IS user                           the place is the subject itself
    HOLDS role                        the place is an effective principal (one of the subject's groups and roles)
    HOLDS =role:PUBLIC                the entity with this reference is an effective principal
    EXISTS table, BUILTIN role        the place exists; the place is built in
    ALLOW READ dataset below namespace           an effective principal has the grant on some dataset below the place
    EVERY ADMIN dataset,stream below namespace   effective principals have it on each existing dataset and stream there

A place is named by its type. If several entities of one type can be above each other, the number of segments of their
references distinguishes them: `folder@2` is inside `folder@1`.

The prefix `with.KEY.` marks a second object and its ancestors, `grantee.` the subject
that gains or loses something by a change. The root never has a prefix.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from grantpath.graph.messages import indefinite

OF_TAG = "#"  # no name of a privilege or a type contains it


class FactKind(Enum):
    """The kind of a fact. ALL is always true; it replaces facts whose value is known before the query runs. TAGGED is
    stored, and no condition has it."""

    ALLOW = "ALLOW"
    DENY = "DENY"
    OWNS = "OWNS"
    TAGGED = "TAGGED"
    IS = "IS"
    HOLDS = "HOLDS"
    EXISTS = "EXISTS"
    BUILTIN = "BUILTIN"
    ALLOW_BELOW = "ALLOW below"
    EVERY_BELOW = "EVERY below"
    ALL = "ALL"


@dataclass(frozen=True, slots=True, order=True)
class Fact:
    """One fact. Facts compare and sort by their texts.

    `place` is empty for ALL only. `privileges` has one entry for ALLOW, DENY and ALLOW_BELOW, and one or more for
    EVERY_BELOW; `types` are the types of the entities below the place.
    """

    text: str = field(init=False, repr=False)
    kind: FactKind = field(compare=False)
    place: str = field(default="", compare=False)
    privileges: tuple[str, ...] = field(default=(), compare=False)
    types: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        words = [self.kind.value.removesuffix(" below")]
        if self.privileges:
            words.append(",".join(self.privileges))
        if self.types:
            words += [",".join(self.types), "below"]
        object.__setattr__(self, "text", " ".join([*words, self.place] if self.place else words))

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return self.text

    @staticmethod
    def parse(text: str) -> "Fact":
        """The inverse of `str`. Raises ValueError if the text is not a fact."""
        word, _, rest = text.partition(" ")
        match word, rest.split(" "):
            case "OWNS" | "TAGGED" | "IS" | "HOLDS" | "EXISTS" | "BUILTIN" | "ALL", _:
                fact = Fact(FactKind(word), rest)
            case "ALLOW" | "DENY", [privilege, place]:
                fact = Fact(FactKind(word), place, (privilege,))
            case "ALLOW" | "EVERY", [privileges, types, "below", place]:
                fact = Fact(FactKind(f"{word} below"), place, tuple(privileges.split(",")), tuple(types.split(",")))
            case _:
                raise ValueError(f"{text!r} is not a fact")
        if fact.text != text or (fact.kind is FactKind.ALL) != (not fact.place):
            raise ValueError(f"{text!r} is not a fact")
        return fact

    @staticmethod
    def holds(entity: str) -> "Fact":
        """The fact that the entity with this reference is an effective principal."""
        return Fact(FactKind.HOLDS, f"={entity}")

    @property
    def entity(self) -> str | None:
        """The reference of the entity, if the fact names one instead of a place."""
        return self.place[1:] if self.place.startswith("=") else None

    @property
    def granted(self) -> str:
        """The privilege of an ALLOW or a DENY."""
        return of_tag(self.privileges[0])[0]

    @property
    def of_tag(self) -> str:
        """The words before the place for a grant on one of its tags: `a tag of `; empty for other facts."""
        tag = of_tag(self.privileges[0])[1] if self.privileges else ""
        return f"{indefinite(tag)} of " if tag else ""

    @property
    def below(self) -> bool:
        """Whether the fact is about descendants of its place."""
        return bool(self.types)

    @property
    def denial(self) -> "Fact | None":
        """For an ALLOW on a place: the DENY of the same privilege there."""
        return Fact(FactKind.DENY, self.place, self.privileges) if self.kind is FactKind.ALLOW else None


ALL = Fact(FactKind.ALL)


def is_privilege(name: str) -> bool:
    """Whether a name that is asked about is that of a privilege, not of an operation (`validate` holds this)."""
    return name.isupper()


def effect_and_privilege(label: str) -> tuple[str, str]:
    """ALLOW and SELECT_TABLE for 'ALLOW SELECT_TABLE'; OWNS and an empty text for OWNS."""
    effect, _, privilege = label.partition(" ")
    return effect, privilege


def held_entity(fact: str, places: Mapping[str, str]) -> str | None:
    """The reference of the entity that a HOLDS fact names; None for other facts. `places`: references by place."""
    kind, _, place = fact.partition(" ")
    if kind != FactKind.HOLDS.value:
        return None
    return places.get(place) or place.removeprefix("=")


def on_tag(privilege: str, tag: str) -> str:
    """The privilege of a fact about the tags of a place: it is granted on a tag of the type `tag`."""
    return f"{privilege}{OF_TAG}{tag}"


def of_tag(privilege: str) -> tuple[str, str]:
    """The privilege and the type of the tag of a fact about the tags of a place; an empty type for other facts."""
    name, _, tag = privilege.partition(OF_TAG)
    return name, tag


def place_type(place: str) -> str:
    """The type of a place."""
    return place.rpartition(".")[2].partition("@")[0]


def place_length(place: str) -> int | None:
    """The number of segments of a place's reference, if several entities of its type can be above each other."""
    length = place.rpartition(".")[2].partition("@")[2]
    return int(length) if length and not place.startswith("=") else None


def place_prefix(place: str) -> str:
    """The prefix of a place: empty for the object and its ancestors, otherwise `with.KEY` or `grantee`."""
    return place.rpartition(".")[0]


def second_object(place: str) -> str | None:
    """The key of the second object to which a place belongs; None if it does not belong to one."""
    return place.split(".")[1] if place.startswith("with.") else None
