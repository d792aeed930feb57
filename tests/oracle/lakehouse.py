"""The policy model `lakehouse`: Gravitino with nested groups and roles, and grants and owners of any subject type."""

from typing import ClassVar

from .base import Change
from .gravitino import PRIVILEGES, Gravitino
from .gravitino_operations import Case
from .notation import Ref

BY_TAG = (
    "SELECT_TABLE",
    "MODIFY_TABLE",
    "CONSUME_TOPIC",
    "PRODUCE_TOPIC",
    "READ_FILESET",
    "WRITE_FILESET",
    "USE_MODEL",
)


class Lakehouse(Gravitino):
    """The policy model `lakehouse`."""

    policy = "lakehouse"
    memberships: ClassVar[set[tuple[str, str]]] = {
        ("user", "group"),
        ("group", "group"),
        ("user", "role"),
        ("group", "role"),
        ("role", "role"),
    }
    privileges: ClassVar[dict[str, tuple[str, ...]]] = {
        name: (*types, "tag") if name in BY_TAG else types for name, types in PRIVILEGES.items()
    }
    grantees = ("user", "group", "role")
    owner_types = ("user", "group", "role")

    def owns(self, user: Ref, place: Ref) -> bool:
        return self.owners.get(place) in self.holders(user)

    def checkable_on(self, privilege: str) -> tuple[str, ...]:
        return self.privileges[privilege]

    def in_effect(self, user: Ref, privilege: str, place: Ref) -> bool:
        if self.same_privilege(privilege) not in BY_TAG:
            return super().in_effect(user, privilege, place)
        path, holders = self.upward(place), self.holders(user)
        counting = {*path, *(tag for tagged, tag in self.tags if tagged in path and tag.type == "tag")}
        effects = {
            effect
            for effect, name, where, holder in self.grants
            if name == privilege and where in counting and holder in holders
        }
        return place.type != "tag" and "allow" in effects and "deny" not in effects

    def may_tag(self, change: Change, actor: Ref, as_role: Ref | None) -> bool:
        alter = self.operations[f"alter_{change.object.type}"]
        return super().may_tag(change, actor, as_role) and alter.condition(Case(self, actor, change.object, {}))
