"""Facts: what a condition asks for. They are printed and parsed here and nowhere else.

The text of a fact is what the queries get and return; it is read left to right, and ends with a place of the question:

    ALLOW SELECT_TABLE table          a principal has the grant on that place (DENY likewise)
    OWNS schema                       a principal owns it
    IS user                           the place is the subject itself
    HOLDS role                        the place is one of the principals (groups it is in, roles it holds)
    HOLDS =role:PUBLIC                that very entity is one of the principals
    EXISTS table, BUILTIN role        the place exists; it came with the policy
    ALLOW READ dataset below namespace           a principal has the grant on some dataset below that place
    EVERY ADMIN dataset,stream below namespace   principals have it on every existing one of those below

A place has the name of its type, behind `with.KEY.` that of a second object, behind `grantee.` that of whom a change
gives something. The root has the name of its type alone.
"""

from dataclasses import dataclass, field
from enum import Enum


class FactKind(Enum):
    """What a fact says. ALL is true everywhere: what is known beforehand becomes it."""

    ALLOW = "ALLOW"
    DENY = "DENY"
    OWNS = "OWNS"
    IS = "IS"
    HOLDS = "HOLDS"
    EXISTS = "EXISTS"
    BUILTIN = "BUILTIN"
    ALLOW_BELOW = "ALLOW below"
    EVERY_BELOW = "EVERY below"
    ALL = "ALL"


@dataclass(frozen=True, slots=True, order=True)
class Fact:
    """One fact; two facts are equal, and sorted, as their texts are.

    `place` is empty for ALL only. `privileges` has one entry for ALLOW, DENY and ALLOW_BELOW, several for EVERY_BELOW;
    `types` are those of the entities below the place.
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
        """The fact that `str` wrote. Raises ValueError for any other text."""
        word, _, rest = text.partition(" ")
        match word, rest.split(" "):
            case "OWNS" | "IS" | "HOLDS" | "EXISTS" | "BUILTIN" | "ALL", _:
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
        """That the entity with this reference is one of the principals."""
        return Fact(FactKind.HOLDS, f"={entity}")

    @property
    def entity(self) -> str | None:
        """The reference of the entity that is named instead of a place."""
        return self.place[1:] if self.place.startswith("=") else None

    @property
    def below(self) -> bool:
        """Is it about what is below its place?"""
        return bool(self.types)

    @property
    def denial(self) -> "Fact | None":
        """For an ALLOW on a place: the DENY of the same privilege there."""
        return Fact(FactKind.DENY, self.place, self.privileges) if self.kind is FactKind.ALLOW else None


ALL = Fact(FactKind.ALL)


def place_type(place: str) -> str:
    """The type of a place."""
    return place.rpartition(".")[2]


def place_prefix(place: str) -> str:
    """On whose way up to the root a place is: empty for the object, else `with.KEY` or `grantee`."""
    return place.rpartition(".")[0]


def second_object(place: str) -> str | None:
    """The key of the second object on whose way up a place is; None for the places of the object."""
    return place.split(".")[1] if place.startswith("with.") else None
