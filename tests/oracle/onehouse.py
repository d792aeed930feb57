"""Onehouse, by its sheet: ladders of roles on resources, privileges down the lakes, and a common gate."""

from typing import ClassVar

from .base import Change, Oracle, Question
from .errors import InvalidChange
from .notation import Ref
from .onehouse_operations import OPERATIONS, Case

LADDERS: dict[str, tuple[str, ...]] = {
    "account": ("ACCOUNT_MEMBER", "ACCOUNT_ADMIN"),
    "project": ("PROJECT_MEMBER", "PROJECT_ADMIN"),
    "group": ("GROUP_MEMBER", "GROUP_MANAGER"),
    "service_principal": ("SERVICE_PRINCIPAL_USER", "SERVICE_PRINCIPAL_MANAGER"),
    "cluster": ("CLUSTER_VIEWER", "CLUSTER_USER", "CLUSTER_EDITOR", "CLUSTER_MANAGER"),
    "source": ("SOURCE_VIEWER", "SOURCE_USER", "SOURCE_EDITOR", "SOURCE_MANAGER"),
    "catalog": ("CATALOG_VIEWER", "CATALOG_USER", "CATALOG_EDITOR", "CATALOG_MANAGER"),
    "job": ("JOB_VIEWER", "JOB_USER", "JOB_EDITOR", "JOB_MANAGER"),
    "stream_capture": ("STREAM_CAPTURE_VIEWER", "STREAM_CAPTURE_EDITOR", "STREAM_CAPTURE_MANAGER"),
}
LAKE = ("lake",)
DATA = ("lake", "database", "table")
GRANTABLE: dict[str, tuple[str, ...]] = {
    "ALL": DATA,
    "MANAGE": DATA,
    "DROP": DATA,
    "DESCRIBE": DATA,
    "CREATE_DATABASE": LAKE,
    "CREATE_TABLE": ("lake", "database"),
    "ALTER": DATA,
    "SELECT": DATA,
    "INSERT": DATA,
    "DELETE": DATA,
}
IN_EFFECT_ON: dict[str, tuple[str, ...]] = {
    "ALL": DATA,
    "MANAGE": DATA,
    "DROP": DATA,
    "DESCRIBE": DATA,
    "CREATE_DATABASE": LAKE,
    "CREATE_TABLE": ("database",),
    "ALTER": ("table",),
    "SELECT": ("table",),
    "INSERT": ("table",),
    "DELETE": ("table",),
}
ROLE_TYPE = {role: type_ for type_, ladder in LADDERS.items() for role in ladder}
IN_A_PROJECT = ("cluster", "source", "catalog", "job", "stream_capture")
ADDING = {  # the role that an actor needs on the parent to add such an object
    "project": "ACCOUNT_ADMIN",
    "group": "ACCOUNT_ADMIN",
    "service_principal": "ACCOUNT_ADMIN",
    "source": "PROJECT_MEMBER",
    "catalog": "PROJECT_MEMBER",
    "cluster": "PROJECT_ADMIN",
    "lake": "PROJECT_ADMIN",
    "database": "CREATE_DATABASE",
    "table": "CREATE_TABLE",
}


class Onehouse(Oracle):
    """The policy model `onehouse`."""

    policy = "onehouse"
    root_type = "account"
    types: ClassVar[dict[str, str | None]] = {
        "account": None,
        "project": "account",
        "group": "account",
        "service_principal": "account",
        "user": "account",
        "cluster": "project",
        "source": "project",
        "catalog": "project",
        "job": "project",
        "stream_capture": "project",
        "lake": "project",
        "database": "lake",
        "table": "database",
    }
    askers = ("user", "service_principal")
    people = ("user", "service_principal")
    memberships: ClassVar[set[tuple[str, str]]] = {
        ("user", "group"),
        ("group", "group"),
        ("service_principal", "group"),
    }
    grantees = ("user", "group", "service_principal")
    privileges: ClassVar[dict[str, tuple[str, ...]]] = {
        **{role: (type_,) for role, type_ in ROLE_TYPE.items()},
        **GRANTABLE,
    }
    operations = OPERATIONS
    adding_with: ClassVar[dict[str, dict[str, str]]] = {
        "job": {"cluster": "cluster"},
        "stream_capture": {"cluster": "cluster", "database": "database"},
    }

    def checkable_on(self, privilege: str) -> tuple[str, ...]:
        return tuple(self.types)

    def listed_on(self, privilege: str) -> tuple[str, ...]:
        return DATA if privilege in GRANTABLE else self.privileges[privilege]

    def highest_role(self, subject: Ref, place: Ref) -> int:
        """The subject's rank on its type's ladder, by grants only; 0 means no role."""
        ladder = LADDERS[place.type]
        holders = self.reach(subject)
        ranks = [
            rank
            for rank, role in enumerate(ladder, start=1)
            if any(("allow", role, place, holder) in self.grants for holder in holders)
        ]
        if place.type == "group" and place in holders and place != subject:
            ranks.append(1)
        return max(ranks, default=0)

    def project_rank(self, subject: Ref, place: Ref) -> int:
        """The rank in the project of that place: 0 outside, 1 as a member, 2 as an admin."""
        return self.highest_role(subject, self.above(place, "project"))

    def role_in_effect(self, subject: Ref, role: str, place: Ref) -> bool:
        if ROLE_TYPE[role] != place.type:
            return False
        if place.type in IN_A_PROJECT:
            project = self.project_rank(subject, place)
            if project == 0:
                return False
            if project == 2:
                return True
        return self.highest_role(subject, place) > LADDERS[place.type].index(role)

    def privilege_in_effect(self, subject: Ref, privilege: str, place: Ref) -> bool:
        if place.type not in IN_EFFECT_ON[privilege]:
            return False
        project = self.project_rank(subject, place)
        if project != 1:
            return project == 2
        holders = self.reach(subject)
        return any(
            ("allow", enough, above, holder) in self.grants
            for enough in (privilege, "ALL")
            for above in self.upward(place)
            for holder in holders
        )

    def in_effect(self, subject: Ref, name: str, place: Ref) -> bool:
        if name in ROLE_TYPE:
            return self.role_in_effect(subject, name, place)
        return self.privilege_in_effect(subject, name, place)

    def decide(self, question: Question) -> bool:
        if question.name in self.privileges:
            return self.in_effect(question.subject, question.name, question.object)
        case = Case(self, question.subject, question.object, question.second)
        return OPERATIONS[question.name].condition(case)

    def extra_rules(self, change: Change, given: bool, actor: Ref | None) -> None:
        if change.verb == "grant" and change.privilege == "GROUP_MEMBER":
            self._validate_membership(self._as_membership(change, "member"))
        if change.verb == "move" and actor is not None and change.object.type in self.adding_with:
            raise InvalidChange(f"an actor who moves a {change.object.type} cannot name its second objects")
        if change.verb == "add":
            if actor is not None and change.second.keys() != self.adding_with.get(change.object.type, {}).keys():
                raise InvalidChange(f"an actor who adds a {change.object.type} names its second objects")
            for ref in change.second.values():
                if self.above(ref, "project") != self.parent(change.object):
                    raise InvalidChange(f"{ref} is in another project")

    def authorized(self, change: Change, actor: Ref, as_role: Ref | None) -> bool:
        what = change.object
        if change.verb == "drop" and what.type == "user":
            return self.in_effect(actor, "ACCOUNT_ADMIN", self.root)
        if change.verb == "add" and what.type == "user":
            projects = [each for each in self.existing if each.type == "project"]
            return any(self.in_effect(actor, "PROJECT_ADMIN", each) for each in projects)
        if change.verb == "add":
            return self._may_add(change, actor)
        if change.verb == "drop":
            if what.type == "project":
                return False
            return self.in_effect(actor, "DROP" if what.type in DATA else LADDERS[what.type][-1], what)
        needed = "MANAGE" if what.type in DATA else LADDERS[what.type][-1]
        right_on_object = self.in_effect(actor, needed, what)
        if change.subject.type == "user":
            return right_on_object
        manages_subject = self.in_effect(actor, LADDERS[change.subject.type][-1], change.subject)
        if change.verb in ("revoke", "remove"):
            return right_on_object or manages_subject
        return right_on_object and manages_subject

    def created(self, change: Change, actor: Ref, as_role: Ref | None) -> None:
        if change.object.type in LADDERS:
            self.grants.add(("allow", LADDERS[change.object.type][-1], change.object, actor))

    def _may_add(self, change: Change, actor: Ref) -> bool:
        above = self.upward(change.object)[1]
        if change.object.type == "job":
            return OPERATIONS["create_job"].condition(Case(self, actor, above, change.second))
        if change.object.type == "stream_capture":
            case = Case(self, actor, change.second["database"], change.second)
            return OPERATIONS["create_stream_capture"].condition(case)
        return self.in_effect(actor, ADDING[change.object.type], above)

    def _as_membership(self, change: Change, verb: str) -> Change:
        return Change(verb, change.object, change.subject, "", "", {})

    def _apply(self, change: Change) -> None:
        if change.privilege == "GROUP_MEMBER":
            # membership in the group and this role are the same fact
            change = self._as_membership(change, {"grant": "member", "revoke": "remove"}[change.verb])
        super()._apply(change)
