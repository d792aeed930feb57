"""The facts of one tenant as plain sets, and the object tree, which follows from the references."""

import copy
from typing import ClassVar, Self

from .notation import Malformed, Ref, read_reference

Grant = tuple[str, str, Ref, Ref]  # effect, privilege, object, subject


class Facts:
    """The entities, memberships, owners and grants of a tenant."""

    policy: ClassVar[str]
    root_type: ClassVar[str]
    types: ClassVar[dict[str, str | None]]  # type -> the type of its parent
    taggable: ClassVar[dict[str, tuple[str, ...]]] = {}  # type of tags -> the types of what can have them

    def __init__(self, root_name: str) -> None:
        self.root = Ref(self.root_type, (root_name,))
        self.existing: set[Ref] = {self.root}
        self.only_mentioned: set[Ref] = set()
        self.containers: dict[Ref, set[Ref]] = {}  # member -> its groups and roles
        self.owners: dict[Ref, Ref] = {}
        self.grants: set[Grant] = set()
        self.tags: set[tuple[Ref, Ref]] = set()  # what has a tag, and the tag

    def hidden(self, ref: Ref) -> bool:
        """Whether the subject is hidden from lists and answers."""
        return False

    def clone(self) -> Self:
        """A copy whose changes do not reach this one."""
        other = copy.copy(self)
        other.existing = set(self.existing)
        other.only_mentioned = set(self.only_mentioned)
        other.containers = {member: set(those) for member, those in self.containers.items()}
        other.owners = dict(self.owners)
        other.grants = set(self.grants)
        other.tags = set(self.tags)
        return other

    def objects(self, type_: str | None = None) -> list[str]:
        """Everything that exists in the tree, including subjects that are objects, as sorted references."""
        return sorted(str(r) for r in self.existing if type_ in (None, r.type) and not self.hidden(r))

    def subjects(self) -> list[str]:
        """All users, groups, roles and service principals, as sorted references."""
        kinds = {"user", "group", "role", "service_principal"}
        return sorted(str(r) for r in self.existing if r.type in kinds and not self.hidden(r))

    def depth(self, type_: str) -> int:
        """The number of segments of a reference of this type."""
        parent = self.types[type_]
        return 1 if parent is None or parent == self.root_type else self.depth(parent) + 1

    def fits(self, ref: Ref) -> bool:
        """Whether a reference of this type can have so many segments."""
        return len(ref.segments) == self.depth(ref.type)

    def parent(self, ref: Ref) -> Ref | None:
        """The parent object; None for the root."""
        type_ = self.types[ref.type]
        if type_ is None:
            return None
        return self.root if type_ == self.root_type else Ref(type_, ref.segments[:-1])

    def upward(self, ref: Ref) -> list[Ref]:
        """The object itself, its parent and so on up to the root."""
        path = [ref]
        while (above := self.parent(path[-1])) is not None:
            path.append(above)
        return path

    def above(self, ref: Ref, type_: str) -> Ref:
        """The object of that type on the path from the object to the root."""
        return next(place for place in self.upward(ref) if place.type == type_)

    def existing_inside(self, ref: Ref) -> set[Ref]:
        """Everything that exists below the object."""
        return {each for each in self.existing if ref in self.upward(each)[1:]}

    def reach(self, subject: Ref) -> set[Ref]:
        """The subject and all its direct and indirect groups and roles."""
        found = {subject}
        waiting = [subject]
        while waiting:
            for container in self.containers.get(waiting.pop(), ()):
                if container not in found:
                    found.add(container)
                    waiting.append(container)
        return found

    def is_member(self, member: Ref, container: Ref) -> bool:
        """Whether exactly this membership was stated."""
        return container in self.containers.get(member, ())

    def resolve(self, text: str) -> Ref:
        """Parses a reference with a type of this policy, existing or not; raises Malformed."""
        ref = read_reference(text)
        if ref.type not in self.types:
            raise Malformed(f"{self.policy} has no type {ref.type}")
        if not self.fits(ref):
            raise Malformed(f"{ref}: a {ref.type} has {self.depth(ref.type)} segments")
        if ref.type == self.root_type and ref != self.root:
            raise Malformed(f"{ref} is not this tenant's root")
        return ref
