"""CDAP's newer page, by its sheet: privileges on names, without inheritance or implications."""

from typing import ClassVar, NamedTuple

from .base import Change, Operation, Oracle, Question, on
from .notation import Ref

ENTITIES = (
    "namespace",
    "artifact",
    "application",
    "program",
    "dataset",
    "stream",
    "secure_key",
    "kerberos_principal",
)
ALL_FOUR = ("READ", "WRITE", "EXECUTE", "ADMIN")


class Case(NamedTuple):
    """A question of one subject about one entity (`it`), which exists unless the question is about its creation."""

    world: "Cdap"
    subject: Ref
    it: Ref
    second: dict[str, Ref]

    def has(self, privilege: str) -> bool:
        """The privilege is granted on the entity."""
        return self.world.in_effect(self.subject, privilege, self.it)

    def has_any(self) -> bool:
        """Any privilege on the entity."""
        return any(self.has(privilege) for privilege in ALL_FOUR)

    def visible(self) -> bool:
        """Any privilege on the entity or on a descendant, created or not."""
        holders = self.world.reach(self.subject)
        return any(
            subject in holders and self.it in self.world.upward(place) for _, _, place, subject in self.world.grants
        )

    def admin_of_everything_inside(self, *types: str) -> bool:
        """ADMIN on every existing entity of these types in it."""
        return all(
            self.world.in_effect(self.subject, "ADMIN", each)
            for each in self.world.existing_inside(self.it)
            if each.type in types
        )

    def may_create(self) -> bool:
        """ADMIN on the new entity and, if named, ADMIN on its principal and any privilege on its artifact."""
        principal, artifact = self.second.get("principal"), self.second.get("artifact")
        return (
            self.has("ADMIN")
            and (principal is None or self._replace(it=principal).has("ADMIN"))
            and (artifact is None or self._replace(it=artifact).has_any())
        )


def needs(type_: str, privilege: str) -> Operation[Case]:
    """One privilege on it."""
    return on(type_, lambda c: c.has(privilege))


def any_privilege(type_: str) -> Operation[Case]:
    """At least one of the four on it."""
    return on(type_, lambda c: c.has_any())


def visible(type_: str) -> Operation[Case]:
    """At least one of the four on it or below it."""
    return on(type_, lambda c: c.visible())


def creating(type_: str, **optional: str) -> Operation[Case]:
    """A creation, checked on the new entity itself."""
    return on(type_, lambda c: c.may_create(), optional)


OPERATIONS: dict[str, Operation[Case]] = {
    # namespace
    "create_namespace": creating("namespace", principal="kerberos_principal"),
    "update_namespace": needs("namespace", "ADMIN"),
    "delete_namespace": on(
        "namespace",
        lambda c: (
            c.has("ADMIN")
            and c.admin_of_everything_inside("artifact", "application", "program", "dataset", "stream", "secure_key")
        ),
    ),
    "list_namespace": visible("namespace"),
    "view_namespace": visible("namespace"),
    "get_namespace": visible("namespace"),
    "drop_all_streams": on("namespace", lambda c: c.admin_of_everything_inside("stream")),
    # artifact
    "add_artifact": creating("artifact"),
    "add_artifact_property": needs("artifact", "ADMIN"),
    "remove_artifact_property": needs("artifact", "ADMIN"),
    "delete_artifact": needs("artifact", "ADMIN"),
    "list_artifact": any_privilege("artifact"),
    "view_artifact": any_privilege("artifact"),
    "get_artifact": any_privilege("artifact"),
    # application
    "deploy_application": creating("application", principal="kerberos_principal", artifact="artifact"),
    "update_application": needs("application", "ADMIN"),
    "delete_application": on("application", lambda c: c.has("ADMIN") and c.admin_of_everything_inside("program")),
    "list_application": visible("application"),
    "view_application": visible("application"),
    "get_application": visible("application"),
    # program
    "create_program": creating("program"),
    "start_program": needs("program", "EXECUTE"),
    "stop_program": needs("program", "EXECUTE"),
    "debug_program": needs("program", "EXECUTE"),
    "set_program_instances": needs("program", "ADMIN"),
    "set_program_runtime_args": needs("program", "ADMIN"),
    "get_program_status": any_privilege("program"),
    "delete_program": needs("program", "ADMIN"),
    "list_program": any_privilege("program"),
    "view_program": any_privilege("program"),
    "get_program": any_privilege("program"),
    # dataset
    "create_dataset": creating("dataset", principal="kerberos_principal"),
    "read_dataset": needs("dataset", "READ"),
    "write_dataset": needs("dataset", "WRITE"),
    "update_dataset": needs("dataset", "ADMIN"),
    "upgrade_dataset": needs("dataset", "ADMIN"),
    "truncate_dataset": needs("dataset", "ADMIN"),
    "drop_dataset": needs("dataset", "ADMIN"),
    "list_dataset": any_privilege("dataset"),
    "view_dataset": any_privilege("dataset"),
    "get_dataset": any_privilege("dataset"),
    # stream
    "create_stream": creating("stream", principal="kerberos_principal"),
    "retrieve_events": needs("stream", "READ"),
    "send_events_sync": needs("stream", "WRITE"),
    "send_events_async": needs("stream", "WRITE"),
    "send_events_batch": needs("stream", "WRITE"),
    "drop_stream": needs("stream", "ADMIN"),
    "update_stream": needs("stream", "ADMIN"),
    "truncate_stream": needs("stream", "ADMIN"),
    "list_stream": any_privilege("stream"),
    "view_stream": any_privilege("stream"),
    "get_stream": any_privilege("stream"),
    # secure key
    "create_secure_key": creating("secure_key"),
    "read_secure_data": needs("secure_key", "READ"),
    "delete_secure_key": needs("secure_key", "ADMIN"),
    "list_secure_key": any_privilege("secure_key"),
    "view_secure_key": any_privilege("secure_key"),
    # kerberos principal
    "create_kerberos_principal": creating("kerberos_principal"),
    "delete_kerberos_principal": needs("kerberos_principal", "ADMIN"),
}
CREATING = {
    "namespace": "create_namespace",
    "artifact": "add_artifact",
    "application": "deploy_application",
    "program": "create_program",
    "dataset": "create_dataset",
    "stream": "create_stream",
    "secure_key": "create_secure_key",
    "kerberos_principal": "create_kerberos_principal",
}
DELETING = {
    "namespace": "delete_namespace",
    "artifact": "delete_artifact",
    "application": "delete_application",
    "program": "delete_program",
    "dataset": "drop_dataset",
    "stream": "drop_stream",
    "secure_key": "delete_secure_key",
    "kerberos_principal": "delete_kerberos_principal",
}


class Cdap(Oracle):
    """The policy model `cdap`."""

    policy = "cdap"
    root_type = "instance"
    types: ClassVar[dict[str, str | None]] = {
        "instance": None,
        "namespace": "instance",
        "artifact": "namespace",
        "application": "namespace",
        "program": "application",
        "dataset": "namespace",
        "stream": "namespace",
        "secure_key": "namespace",
        "kerberos_principal": "instance",
        "user": "instance",
        "group": "instance",
        "role": "instance",
    }
    askers = ("user", "group", "role")
    memberships: ClassVar[set[tuple[str, str]]] = {
        ("user", "group"),
        ("group", "group"),
        ("user", "role"),
        ("group", "role"),
    }
    grantees = ("user", "group", "role")
    grants_before_creation = True
    privileges: ClassVar[dict[str, tuple[str, ...]]] = {
        "READ": ENTITIES,
        "WRITE": ENTITIES,
        "EXECUTE": ENTITIES,
        "ADMIN": ("instance", *ENTITIES),
    }
    operations = OPERATIONS
    any_name = ("principal",)
    adding_with: ClassVar[dict[str, dict[str, str]]] = {
        type_: OPERATIONS[name].optional for type_, name in CREATING.items()
    }

    def checkable_on(self, privilege: str) -> tuple[str, ...]:
        # no type is an error in the sheet: on a type where a privilege cannot be granted, no subject has it
        return tuple(self.types)

    def listed_on(self, privilege: str) -> tuple[str, ...]:
        return self.privileges[privilege]

    def may_be_absent(self, name: str) -> bool:
        # other operations on a missing entity give no instead of an error
        return True

    def in_effect(self, subject: Ref, privilege: str, place: Ref) -> bool:
        holders = self.reach(subject)
        return any(("allow", privilege, place, holder) in self.grants for holder in holders)

    def decide(self, question: Question) -> bool:
        if question.name in self.privileges:
            return self.in_effect(question.subject, question.name, question.object)
        if question.object not in self.existing and question.name not in CREATING.values():
            return False
        case = Case(self, question.subject, question.object, question.second)
        return OPERATIONS[question.name].condition(case)

    def authorized(self, change: Change, actor: Ref, as_role: Ref | None) -> bool:
        names = {"add": CREATING, "drop": DELETING}.get(change.verb, {})
        if change.object.type not in names:
            return self.in_effect(actor, "ADMIN", self.root)
        case = Case(self, actor, change.object, change.second)
        return OPERATIONS[names[change.object.type]].condition(case)
