"""The operations of CDAP's design page, each row of the sheet as a condition."""

from typing import TYPE_CHECKING, NamedTuple

from .base import Operation, on
from .notation import Ref

if TYPE_CHECKING:
    from .cdap_design import CdapDesign


class Case(NamedTuple):
    """A question of one subject about one entity (`it`)."""

    world: "CdapDesign"
    subject: Ref
    it: Ref
    second: dict[str, Ref]

    def has(self, privilege: str) -> bool:
        """The privilege, or ALL, is granted on it."""
        return self.world.in_effect(self.subject, privilege, self.it)

    def has_on_namespace(self, privilege: str) -> bool:
        """The privilege, or ALL, is granted on its namespace."""
        return self.world.in_effect(self.subject, privilege, self.world.above(self.it, "namespace"))

    def may_deploy(self) -> bool:
        """WRITE on the namespace, and READ on the artifact if one is named."""
        artifact = self.second.get("artifact")
        return self.has("WRITE") and (artifact is None or self.world.in_effect(self.subject, "READ", artifact))


def needs(type_: str, privilege: str, namespace: str = "") -> Operation[Case]:
    """A privilege on it, and one on its namespace if the row requires that."""
    return on(
        type_,
        lambda c: c.has(privilege) and (not namespace or c.has_on_namespace(namespace)),
    )


def listing(type_: str) -> Operation[Case]:
    """READ/WRITE/ADMIN on it."""
    return on(type_, lambda c: c.has("READ") or c.has("WRITE") or c.has("ADMIN"))


def emitting(type_: str) -> Operation[Case]:
    """WRITE on its namespace, nothing on it."""
    return on(type_, lambda c: c.has_on_namespace("WRITE"))


OPERATIONS: dict[str, Operation[Case]] = {
    # namespace
    "create_namespace": needs("instance", "WRITE"),
    "update_namespace": needs("namespace", "ADMIN"),
    "list_namespace": on("namespace", lambda c: True),
    "get_namespace": needs("namespace", "READ"),
    "delete_namespace": needs("namespace", "ADMIN"),
    "set_namespace_preference": needs("namespace", "WRITE"),
    "get_namespace_preference": needs("namespace", "READ"),
    "search_namespace": needs("namespace", "READ"),
    # artifact
    "add_artifact": needs("namespace", "WRITE"),
    "delete_artifact": needs("artifact", "ADMIN"),
    "get_artifact": needs("artifact", "READ"),
    "list_artifact": listing("artifact"),
    "write_artifact_property": needs("artifact", "ADMIN"),
    "delete_artifact_property": needs("artifact", "ADMIN"),
    "get_artifact_property": needs("artifact", "READ"),
    "write_artifact_metadata": needs("artifact", "ADMIN"),
    "read_artifact_metadata": needs("artifact", "READ"),
    # application
    "deploy_application": on("namespace", lambda c: c.may_deploy(), {"artifact": "artifact"}),
    "get_application": needs("application", "READ"),
    "list_application": listing("application"),
    "update_application": needs("application", "ADMIN"),
    "delete_application": needs("application", "ADMIN"),
    "set_application_preference": needs("application", "WRITE"),
    "get_application_preference": needs("application", "READ"),
    "add_application_metadata": needs("application", "ADMIN"),
    "get_application_metadata": needs("application", "READ"),
    # program
    "create_program": needs("application", "WRITE"),
    "start_program": needs("program", "EXECUTE", "READ"),
    "stop_program": needs("program", "EXECUTE", "READ"),
    "debug_program": needs("program", "EXECUTE", "READ"),
    "set_program_instances": needs("program", "ADMIN"),
    "list_program": listing("program"),
    "set_program_runtime_args": needs("program", "ADMIN"),
    "get_program_runtime_args": needs("program", "READ"),
    "get_program_instances": needs("program", "READ"),
    "set_program_preference": needs("program", "WRITE"),
    "get_program_preference": needs("program", "READ"),
    "get_program_status": needs("program", "READ"),
    "get_program_history": needs("program", "READ"),
    "add_program_metadata": needs("program", "ADMIN"),
    "get_program_metadata": needs("program", "READ"),
    "emit_program_logs": emitting("program"),
    "view_program_logs": needs("program", "READ"),
    "emit_program_metrics": emitting("program"),
    "view_program_metrics": needs("program", "READ"),
    "delete_program": needs("program", "ADMIN"),
    # stream
    "create_stream": needs("namespace", "WRITE"),
    "update_stream_properties": needs("stream", "ADMIN"),
    "delete_stream": needs("stream", "ADMIN"),
    "truncate_stream": needs("stream", "ADMIN"),
    "enqueue_stream": needs("stream", "WRITE", "READ"),
    "async_enqueue_stream": needs("stream", "WRITE", "READ"),
    "batch_stream": needs("stream", "WRITE", "READ"),
    "get_stream": needs("stream", "READ", "READ"),
    "list_stream": listing("stream"),
    "read_stream_events": needs("stream", "READ", "READ"),
    "set_stream_preferences": needs("stream", "WRITE"),
    "get_stream_preferences": needs("stream", "READ"),
    "add_stream_metadata": needs("stream", "ADMIN"),
    "get_stream_metadata": needs("stream", "READ"),
    "view_stream_lineage": needs("stream", "READ"),
    "emit_stream_metrics": emitting("stream"),
    "view_stream_metrics": needs("stream", "READ"),
    # dataset
    "create_dataset": needs("namespace", "WRITE"),
    "get_dataset": needs("dataset", "READ", "READ"),
    "list_dataset": listing("dataset"),
    "update_dataset": needs("dataset", "ADMIN", "READ"),
    "drop_dataset": needs("dataset", "ADMIN"),
    "truncate_dataset": needs("dataset", "ADMIN"),
    "upgrade_dataset": needs("dataset", "ADMIN"),
    "add_dataset_metadata": needs("dataset", "ADMIN"),
    "get_dataset_metadata": needs("dataset", "READ"),
    "view_dataset_lineage": needs("dataset", "READ"),
    "emit_dataset_metrics": emitting("dataset"),
    "view_dataset_metrics": needs("dataset", "READ"),
}
CREATING = {
    "namespace": "create_namespace",
    "artifact": "add_artifact",
    "application": "deploy_application",
    "program": "create_program",
    "stream": "create_stream",
    "dataset": "create_dataset",
}
DELETING = {
    "namespace": "delete_namespace",
    "artifact": "delete_artifact",
    "application": "delete_application",
    "program": "delete_program",
    "stream": "delete_stream",
    "dataset": "drop_dataset",
}
