"""The references that a rename or a move gives to an entity and to what is below it."""

from dataclasses import dataclass

from grantpath.engine.policy.index import PolicyIndex
from grantpath.graph.language.reference import name_of, parse, path_of, type_of


@dataclass(frozen=True)
class Renamed:
    """An entity with the reference `ref` got the reference `to`. `types`: those of which entities can be below it.
    `former` and `path`: the paths with which the references below it began, and begin now."""

    ref: str
    to: str
    types: frozenset[str]
    former: str
    path: str

    @classmethod
    def of(cls, names: PolicyIndex, ref: str, to: str) -> "Renamed":
        """`ref` and `to` are canonical and of one type."""
        former, path = (path_of(parse(text, names.one_segment)) for text in (ref, to))
        return cls(ref, to, frozenset(names.below(type_of(ref))), former, path)

    @property
    def growth(self) -> int:
        """The number of bytes by which references below the entity become longer."""
        return len(self.path.encode()) - len(self.former.encode())

    def new(self, text: str) -> str:
        """The new reference of an entity; its own if it is neither the renamed one nor below it.

        A reference that begins with the path is below the entity if it has one of the types (PolicyIndex).
        """
        if text == self.ref:
            return self.to
        type_, name = type_of(text), name_of(text)
        if type_ not in self.types or not name.startswith(f"{self.former}."):
            return text
        return f"{type_}:{self.path}{name[len(self.former) :]}"
