"""Gravitino 1.1.0, by its sheet: roles collect ALLOW and DENY down the tree, and users own objects."""

from dataclasses import replace
from typing import ClassVar

from .base import Change, Oracle, Question
from .errors import InvalidChange
from .gravitino_operations import OPERATIONS, OWNABLE, Case
from .notation import Ref

METALAKE = ("metalake",)
TO_CATALOG = ("metalake", "catalog")
TO_SCHEMA = ("metalake", "catalog", "schema")
PRIVILEGES: dict[str, tuple[str, ...]] = {
    "MANAGE_USERS": METALAKE,
    "MANAGE_GROUPS": METALAKE,
    "CREATE_ROLE": METALAKE,
    "MANAGE_GRANTS": METALAKE,
    "CREATE_CATALOG": METALAKE,
    "USE_CATALOG": TO_CATALOG,
    "CREATE_SCHEMA": TO_CATALOG,
    "USE_SCHEMA": TO_SCHEMA,
    "CREATE_TABLE": TO_SCHEMA,
    "MODIFY_TABLE": (*TO_SCHEMA, "table"),
    "SELECT_TABLE": (*TO_SCHEMA, "table"),
    "CREATE_TOPIC": TO_SCHEMA,
    "PRODUCE_TOPIC": (*TO_SCHEMA, "topic"),
    "CONSUME_TOPIC": (*TO_SCHEMA, "topic"),
    "CREATE_FILESET": TO_SCHEMA,
    "WRITE_FILESET": (*TO_SCHEMA, "fileset"),
    "READ_FILESET": (*TO_SCHEMA, "fileset"),
    "REGISTER_MODEL": TO_SCHEMA,
    "LINK_MODEL_VERSION": (*TO_SCHEMA, "model"),
    "USE_MODEL": (*TO_SCHEMA, "model"),
    "CREATE_MODEL": TO_SCHEMA,
    "CREATE_MODEL_VERSION": (*TO_SCHEMA, "model"),
    "CREATE_TAG": METALAKE,
    "APPLY_TAG": ("metalake", "tag"),
    "CREATE_POLICY": METALAKE,
    "APPLY_POLICY": ("metalake", "policy"),
    "REGISTER_JOB_TEMPLATE": METALAKE,
    "USE_JOB_TEMPLATE": ("metalake", "job_template"),
    "RUN_JOB": METALAKE,
}
DEPRECATED = {"CREATE_MODEL": "REGISTER_MODEL", "CREATE_MODEL_VERSION": "LINK_MODEL_VERSION"}
ADDING = {
    "model": "register_model",
    "job_template": "register_job_template",
    "job": "run_job",
    "user": "add_user",
    "group": "add_group",
}
MOVED = (
    "schema",
    "table",
    "topic",
    "fileset",
    "model",
)  # by an alter request, and the right to create in the new parent
RENAMED = ("catalog", *MOVED, "tag", "policy", "job_template")
DROPPING = {
    "role": "delete_role",
    "tag": "delete_tag",
    "policy": "delete_policy",
    "job_template": "delete_job_template",
    "user": "remove_user",
    "group": "remove_group",
}


TAGGABLE = ("catalog", "schema", "table", "topic", "fileset", "model")


class Gravitino(Oracle):
    """The policy model `gravitino`."""

    policy = "gravitino"
    root_type = "metalake"
    types: ClassVar[dict[str, str | None]] = {
        "metalake": None,
        "catalog": "metalake",
        "schema": "catalog",
        "table": "schema",
        "topic": "schema",
        "fileset": "schema",
        "model": "schema",
        "role": "metalake",
        "tag": "metalake",
        "policy": "metalake",
        "job_template": "metalake",
        "job": "job_template",
        "user": "metalake",
        "group": "metalake",
    }
    taggable: ClassVar[dict[str, tuple[str, ...]]] = {"tag": TAGGABLE, "policy": TAGGABLE}
    memberships: ClassVar[set[tuple[str, str]]] = {("user", "group"), ("user", "role"), ("group", "role")}
    grantees: ClassVar[tuple[str, ...]] = ("role",)
    owner_types: ClassVar[tuple[str, ...]] = ("user",)
    ownable = OWNABLE
    denies = True
    droppable_root = True
    privileges = PRIVILEGES
    operations = OPERATIONS
    aliases: ClassVar[dict[str, str]] = {
        "list_catalogs": "list_catalog",
        "list_schemas": "list_schema",
        "list_tables": "list_table",
        "list_topics": "list_topic",
        "list_filesets": "list_fileset",
        "list_models": "list_model",
        "list_model_versions": "list_model_version",
        "associate_tag": "associate_object_tags",
        "associate_policy": "associate_object_policies",
    }
    service_admin = Ref("role", ("service_admin",))

    def __init__(self, root_name: str) -> None:
        super().__init__(root_name)
        self.existing.add(self.service_admin)

    def hidden(self, ref: Ref) -> bool:
        return ref == self.service_admin

    def same_privilege(self, name: str) -> str:
        return DEPRECATED.get(name, name)

    def checkable_on(self, privilege: str) -> tuple[str, ...]:
        return PRIVILEGES[privilege]

    def is_service_admin(self, user: Ref) -> bool:
        return self.is_member(user, self.service_admin)

    def holders(self, user: Ref) -> set[Ref]:
        """The principals whose grants and memberships count for the user: groups, roles, and the groups' roles."""
        return self.reach(user)

    def owns(self, user: Ref, place: Ref) -> bool:
        return self.owners.get(place) == user

    def in_effect(self, user: Ref, privilege: str, place: Ref) -> bool:
        holders = self.holders(user)
        name = self.same_privilege(privilege)
        path = self.upward(place)
        allowed = any(("allow", name, above, holder) in self.grants for above in path for holder in holders)
        denied = any(("deny", name, above, holder) in self.grants for above in path for holder in holders)
        return allowed and not denied

    def decide(self, question: Question) -> bool:
        if question.name in self.privileges:
            return self.in_effect(question.subject, question.name, question.object)
        case = Case(self, question.subject, question.object, question.second)
        return self.operations[question.name].condition(case)

    def extra_rules(self, change: Change, given: bool, actor: Ref | None) -> None:
        if self.service_admin not in (change.object, change.subject):
            return
        appoints = change.verb in ("member", "remove") and change.subject.type == "user"
        if actor is not None or not appoints:
            raise InvalidChange("service admins are set only by facts, and must be users")

    def authorized(self, change: Change, actor: Ref, as_role: Ref | None) -> bool:
        if change.verb == "drop" and change.object.type == "job":
            return False
        operation, place = self._asked_for(change)
        return self.operations[operation].condition(Case(self, actor, place, {}))

    def may_rename(self, change: Change, actor: Ref, as_role: Ref | None) -> bool:
        if change.object.type not in (RENAMED if change.verb == "rename" else MOVED):
            return False
        may_alter = self.operations[f"alter_{change.object.type}"].condition(Case(self, actor, change.object, {}))
        added = replace(change, verb="add", object=change.target)
        return may_alter and (change.verb == "rename" or self.authorized(added, actor, as_role))

    def may_tag(self, change: Change, actor: Ref, as_role: Ref | None) -> bool:
        kind = change.target.type
        operation = {"tag": "associate_object_tags", "policy": "associate_object_policies"}[kind]
        return self.operations[operation].condition(Case(self, actor, change.object, {kind: change.target}))

    def _asked_for(self, change: Change) -> tuple[str, Ref]:
        """The operation that the actor of a change must be allowed to use, and its object."""
        type_ = change.object.type
        if change.verb == "add":
            return ADDING.get(type_, f"create_{type_}"), self.upward(change.object)[1]
        if change.verb == "drop":
            return DROPPING.get(type_, f"drop_{type_}"), change.object
        if change.verb in ("member", "remove"):
            if type_ == "group":
                return "change_group_members", change.object
            return ("grant_role" if change.verb == "member" else "revoke_role"), self.root
        if change.verb == "owner":
            return "set_owner", change.object
        return ("grant_privilege" if change.verb == "grant" else "revoke_privilege"), change.object

    def created(self, change: Change, actor: Ref, as_role: Ref | None) -> None:
        if change.object.type in self.ownable:
            self.owners[change.object] = actor
