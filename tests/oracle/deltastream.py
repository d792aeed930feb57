"""DeltaStream, by its sheet: roles own objects and hold privileges, and one role is active at a time."""

from collections.abc import Iterator
from typing import ClassVar

from .base import Change, Oracle, Question
from .deltastream_operations import OPERATIONS, Case
from .errors import InvalidChange
from .notation import Ref

OBJECT_TYPES = (
    "organization",
    "database",
    "schema",
    "relation",
    "store",
    "schema_registry",
    "descriptor_source",
    "function_source",
    "function",
    "query",
    "role",
)
ORGANIZATION = ("organization",)
APPLIES: dict[str, tuple[str, ...]] = {
    "CREATE_DATABASE": ORGANIZATION,
    "CREATE_STORE": ORGANIZATION,
    "CREATE_SCHEMA_REGISTRY": ORGANIZATION,
    "CREATE_DESCRIPTOR_SOURCE": ORGANIZATION,
    "CREATE_FUNCTION_SOURCE": ORGANIZATION,
    "CREATE_FUNCTION": ORGANIZATION,
    "CREATE_QUERY": ORGANIZATION,
    "MANAGE_MEMBERS": ORGANIZATION,
    "MANAGE_GRANTS": ORGANIZATION,
    "USAGE": OBJECT_TYPES,
    "CREATE": ("database", "schema"),
    "SELECT": ("relation",),
    "INSERT": ("relation",),
    "OWNERSHIP": OBJECT_TYPES,
}
ORGADMIN, SYSADMIN, SECURITYADMIN, USERADMIN, PUBLIC = (
    Ref("role", (name,)) for name in ("ORGADMIN", "SYSADMIN", "SECURITYADMIN", "USERADMIN", "PUBLIC")
)
BUILT_IN = {ORGADMIN, SYSADMIN, SECURITYADMIN, USERADMIN, PUBLIC}
INHERITS = {
    (ORGADMIN, SYSADMIN),
    (ORGADMIN, SECURITYADMIN),
    (SECURITYADMIN, USERADMIN),
}
BUILT_IN_PRIVILEGES = {
    *((SYSADMIN, privilege) for privilege in APPLIES if privilege.startswith("CREATE_")),
    (SECURITYADMIN, "MANAGE_GRANTS"),
    (USERADMIN, "MANAGE_MEMBERS"),
}


class DeltaStream(Oracle):
    """The policy model `deltastream`."""

    policy = "deltastream"
    root_type = "organization"
    types: ClassVar[dict[str, str | None]] = {
        "organization": None,
        "database": "organization",
        "schema": "database",
        "relation": "schema",
        "store": "organization",
        "schema_registry": "organization",
        "descriptor_source": "organization",
        "function_source": "organization",
        "function": "function_source",
        "query": "organization",
        "role": "organization",
        "user": "organization",
    }
    askers = ("user", "role")
    memberships: ClassVar[set[tuple[str, str]]] = {("user", "role"), ("role", "role")}
    grantees = ("role",)
    owner_types = ("role",)
    ownable = OBJECT_TYPES
    active_roles = True
    privileges = APPLIES
    operations = OPERATIONS
    adding_with: ClassVar[dict[str, dict[str, str]]] = {"relation": {"store": "store"}}

    def __init__(self, root_name: str) -> None:
        super().__init__(root_name)
        self.existing |= BUILT_IN
        for above, below in INHERITS:
            self.containers.setdefault(above, set()).add(below)
        for role in BUILT_IN - {PUBLIC}:
            self.containers.setdefault(role, set()).add(PUBLIC)
        self.grants |= {("allow", privilege, self.root, role) for role, privilege in BUILT_IN_PRIVILEGES}
        self.owners[self.root] = ORGADMIN

    def checkable_on(self, privilege: str) -> tuple[str, ...]:
        return tuple(self.types)

    def listed_on(self, privilege: str) -> tuple[str, ...]:
        return APPLIES[privilege]

    def in_effect(self, role: Ref, privilege: str, place: Ref) -> bool:
        """Has the active role, or one that it inherits, the privilege or the ownership on the object itself?"""
        if place.type not in APPLIES[privilege]:
            return False
        inherited = self.reach(role)
        granted = any(("allow", privilege, place, each) in self.grants for each in inherited)
        return granted or self.owners.get(place) in inherited

    def held(self, subject: Ref) -> set[Ref]:
        """The roles that the subject can activate: granted or inherited roles; for a role, itself, too."""
        return {each for each in self.reach(subject) if each.type == "role"}

    def active(self, subject: Ref, as_role: Ref | None) -> list[Ref]:
        """The roles to try one at a time, sorted by name in byte order."""
        if as_role is not None:
            return [as_role] if as_role in self.held(subject) else []
        if subject.type == "role":
            return [subject]
        return sorted(self.containers.get(subject, ()), key=lambda role: role.segments[0].encode())

    def cases(self, subject: Ref, as_role: Ref | None, place: Ref, second: dict[str, Ref]) -> Iterator[Case]:
        held = frozenset(self.held(subject))
        for role in self.active(subject, as_role):
            yield Case(self, role, place, second, held)

    def decide(self, question: Question) -> bool:
        cases = self.cases(question.subject, question.as_role, question.object, question.second)
        if question.name in APPLIES:
            return any(self.in_effect(case.role, question.name, case.it) for case in cases)
        return any(OPERATIONS[question.name].condition(case) for case in cases)

    def extra_rules(self, change: Change, given: bool, actor: Ref | None) -> None:
        what, subject = change.object, change.subject
        if change.verb in ("drop", "rename", "move") and what in BUILT_IN:
            raise InvalidChange(f"{what} is built in")
        if change.verb == "drop" and what in self.owners.values():
            raise InvalidChange(f"{what} still owns something")
        if change.verb == "owner" and (what == self.root or what in BUILT_IN):
            raise InvalidChange(f"the owner of {what} cannot be set")
        if change.verb in ("grant", "revoke") and change.privilege == "OWNERSHIP":
            raise InvalidChange("ownership is set, not granted")
        if change.verb == "revoke" and what == self.root and (subject, change.privilege) in BUILT_IN_PRIVILEGES:
            raise InvalidChange(f"{change.privilege} belongs to {subject}")
        always = what == PUBLIC or (subject, what) in INHERITS
        if change.verb == "remove" and subject.type == "role" and always:
            raise InvalidChange(f"{subject} always inherits {what}")

    def acting_role(self, change: Change, actor: Ref, as_role: Ref | None) -> Ref | None:
        """The first role with which the change is allowed."""
        operation, place, second = self._asked_for(change)
        cases = self.cases(actor, as_role, place, second)
        return next((case.role for case in cases if OPERATIONS[operation].condition(case)), None)

    def authorized(self, change: Change, actor: Ref, as_role: Ref | None) -> bool:
        return self.acting_role(change, actor, as_role) is not None

    def _asked_for(self, change: Change) -> tuple[str, Ref, dict[str, Ref]]:
        type_ = change.object.type
        if change.verb == "add":
            above = self.upward(change.object)[1]
            if change.second:
                return "create_stream", above, change.second
            return ("invite_user" if type_ == "user" else f"create_{type_}"), above, {}
        if change.verb == "owner":
            return "grant_ownership", change.object, {"role": change.subject}
        if change.verb in ("member", "remove"):
            second = {"to": change.subject} if change.subject.type == "role" else {}
            return ("grant_role" if change.verb == "member" else "revoke_role"), change.object, second
        name = {
            "drop": "terminate_query" if type_ == "query" else f"drop_{type_}",
            "grant": "grant_privileges",
            "revoke": "revoke_privileges",
        }[change.verb]
        return name, change.object, {}

    def created(self, change: Change, actor: Ref, as_role: Ref | None) -> None:
        role = self.acting_role(change, actor, as_role)
        if role is not None and change.object.type in self.ownable:
            self.owners[change.object] = role

    def _apply(self, change: Change) -> None:
        super()._apply(change)
        if change.verb == "add" and change.object.type == "role":
            self.containers[change.object] = {PUBLIC}
