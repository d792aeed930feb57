"""The policy model `lakehouse`: Gravitino with nested groups and roles, and grants and owners of any subject type."""

from typing import ClassVar

from .gravitino import Gravitino
from .notation import Ref


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
    grantees = ("user", "group", "role")
    owner_types = ("user", "group", "role")

    def owns(self, user: Ref, place: Ref) -> bool:
        return self.owners.get(place) in self.holders(user)
