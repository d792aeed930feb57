"""Onehouse's operations, each row of the sheet as a condition on roles and privileges in effect."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from .base import Operation, on
from .notation import Ref

if TYPE_CHECKING:
    from .onehouse import Onehouse


class Case(NamedTuple):
    """A question of one user or service principal about one object (`it`)."""

    world: "Onehouse"
    subject: Ref
    it: Ref
    second: dict[str, Ref]

    def has(self, name: str) -> bool:
        """The role or privilege is in effect on it."""
        return self.world.in_effect(self.subject, name, self.it)

    def has_on_project(self, role: str) -> bool:
        """The role is in effect on the object's project."""
        return self.world.in_effect(self.subject, role, self.world.above(self.it, "project"))

    def uses_cluster(self) -> bool:
        """CLUSTER_USER on `cluster`."""
        return self.world.in_effect(self.subject, "CLUSTER_USER", self.second["cluster"])


def needs(type_: str, name: str) -> Operation[Case]:
    """One role or privilege on the object is enough."""
    return on(type_, lambda c: c.has(name))


def with_cluster(type_: str, condition: Callable[[Case], bool]) -> Operation[Case]:
    """A row that names a cluster of the object's project."""
    return replace(on(type_, condition, cluster="cluster"), same="project")


def service(privilege: str) -> Operation[Case]:
    """A table service: a privilege on the table, and the use of its Services Cluster."""
    return with_cluster("table", lambda c: c.has(privilege) and c.uses_cluster())


DISMISSING = {
    "cluster": "CLUSTER_VIEWER",
    "source": "SOURCE_VIEWER",
    "catalog": "CATALOG_VIEWER",
    "job": "JOB_VIEWER",
    "stream_capture": "STREAM_CAPTURE_VIEWER",
    "lake": "DESCRIBE",
    "database": "DESCRIBE",
    "table": "DESCRIBE",
}


VIEWING = {
    **DISMISSING,
    "account": "ACCOUNT_MEMBER",
    "project": "PROJECT_MEMBER",
    "group": "GROUP_MEMBER",
    "service_principal": "SERVICE_PRINCIPAL_USER",
}


def notifications(needed: dict[str, str]) -> Operation[Case]:
    """Every subject that may view the object."""
    return on(" ".join(needed), lambda c: c.has(needed[c.it.type]))


def create_stream_capture(c: Case) -> bool:
    return c.has_on_project("PROJECT_MEMBER") and c.has("CREATE_TABLE") and c.uses_cluster()


OPERATIONS: dict[str, Operation[Case]] = {
    # account
    "modify_account_settings": needs("account", "ACCOUNT_ADMIN"),
    "modify_billing_settings": needs("account", "ACCOUNT_ADMIN"),
    "create_project": needs("account", "ACCOUNT_ADMIN"),
    "create_group": needs("account", "ACCOUNT_ADMIN"),
    "create_service_principal": needs("account", "ACCOUNT_ADMIN"),
    "configure_scim": needs("account", "ACCOUNT_ADMIN"),
    # project
    "open_project": needs("project", "PROJECT_MEMBER"),
    "view_project_integrations": needs("project", "PROJECT_MEMBER"),
    "view_project_usage": needs("project", "PROJECT_MEMBER"),
    "create_source": needs("project", "PROJECT_MEMBER"),
    "create_catalog": needs("project", "PROJECT_MEMBER"),
    "create_job": with_cluster("project", lambda c: c.has("PROJECT_MEMBER") and c.uses_cluster()),
    "create_user": needs("project", "PROJECT_ADMIN"),
    "add_user_to_project": needs("project", "PROJECT_ADMIN"),
    "edit_user_permissions": needs("project", "PROJECT_ADMIN"),
    "remove_user": needs("project", "PROJECT_ADMIN"),
    "connect_cloud_account": needs("project", "PROJECT_ADMIN"),
    "create_cluster": needs("project", "PROJECT_ADMIN"),
    "create_lake": needs("project", "PROJECT_ADMIN"),
    "create_project_integration": needs("project", "PROJECT_ADMIN"),
    "edit_project_integration": needs("project", "PROJECT_ADMIN"),
    "create_api_token": needs("project", "PROJECT_ADMIN"),
    "delete_api_token": needs("project", "PROJECT_ADMIN"),
    # group
    "view_group_metadata": needs("group", "GROUP_MEMBER"),
    "assign_roles_and_privileges_to_group": needs("group", "GROUP_MANAGER"),
    "remove_roles_and_privileges_from_group": needs("group", "GROUP_MANAGER"),
    "edit_group_members": needs("group", "GROUP_MANAGER"),
    "edit_group_name": needs("group", "GROUP_MANAGER"),
    "delete_group": needs("group", "GROUP_MANAGER"),
    # service principal
    "assign_roles_and_privileges_to_service_principal": needs("service_principal", "SERVICE_PRINCIPAL_MANAGER"),
    "remove_roles_and_privileges_from_service_principal": needs("service_principal", "SERVICE_PRINCIPAL_MANAGER"),
    "edit_service_principal_members": needs("service_principal", "SERVICE_PRINCIPAL_MANAGER"),
    "edit_service_principal_name": needs("service_principal", "SERVICE_PRINCIPAL_MANAGER"),
    "delete_service_principal": needs("service_principal", "SERVICE_PRINCIPAL_MANAGER"),
    "create_service_principal_api_token": needs("service_principal", "SERVICE_PRINCIPAL_MANAGER"),
    # cluster
    "view_cluster_definition": needs("cluster", "CLUSTER_VIEWER"),
    "assign_stream_capture_to_cluster": needs("cluster", "CLUSTER_USER"),
    "assign_job_to_cluster": needs("cluster", "CLUSTER_USER"),
    "view_cluster_endpoint": needs("cluster", "CLUSTER_USER"),
    "edit_cluster_definition": needs("cluster", "CLUSTER_EDITOR"),
    "modify_cluster_permissions": needs("cluster", "CLUSTER_MANAGER"),
    "delete_cluster": needs("cluster", "CLUSTER_MANAGER"),
    # source
    "view_source_definition": needs("source", "SOURCE_VIEWER"),
    "use_source_in_stream_capture": needs("source", "SOURCE_USER"),
    "edit_source_definition": needs("source", "SOURCE_EDITOR"),
    "modify_source_permissions": needs("source", "SOURCE_MANAGER"),
    "delete_source": needs("source", "SOURCE_MANAGER"),
    # catalog
    "view_catalog_definition": needs("catalog", "CATALOG_VIEWER"),
    "use_catalog_in_stream_capture": needs("catalog", "CATALOG_USER"),
    "use_catalog_in_metasync": needs("catalog", "CATALOG_USER"),
    "edit_catalog_definition": needs("catalog", "CATALOG_EDITOR"),
    "modify_catalog_permissions": needs("catalog", "CATALOG_MANAGER"),
    "delete_catalog": needs("catalog", "CATALOG_MANAGER"),
    # job
    "view_job_definition": needs("job", "JOB_VIEWER"),
    "view_job_run_metadata": needs("job", "JOB_VIEWER"),
    "view_job_run_driver_logs": needs("job", "JOB_USER"),
    "view_job_spark_ui": needs("job", "JOB_USER"),
    "trigger_job_run": needs("job", "JOB_USER"),
    "cancel_job_run": needs("job", "JOB_USER"),
    "edit_job_definition": needs("job", "JOB_EDITOR"),
    "modify_job_permissions": needs("job", "JOB_MANAGER"),
    "delete_job": needs("job", "JOB_MANAGER"),
    # stream capture
    "create_stream_capture": with_cluster("database", create_stream_capture),
    "view_stream_capture_definition": needs("stream_capture", "STREAM_CAPTURE_VIEWER"),
    "view_stream_capture_driver_logs": needs("stream_capture", "STREAM_CAPTURE_VIEWER"),
    "edit_stream_capture_definition": needs("stream_capture", "STREAM_CAPTURE_EDITOR"),
    "pause_stream_capture": needs("stream_capture", "STREAM_CAPTURE_EDITOR"),
    "resume_stream_capture": needs("stream_capture", "STREAM_CAPTURE_EDITOR"),
    "clean_and_restart_stream_capture": needs("stream_capture", "STREAM_CAPTURE_MANAGER"),
    "delete_stream_capture": needs("stream_capture", "STREAM_CAPTURE_MANAGER"),
    "modify_stream_capture_permissions": needs("stream_capture", "STREAM_CAPTURE_MANAGER"),
    # data objects
    "grant_privilege": needs("lake database table", "MANAGE"),
    "revoke_privilege": needs("lake database table", "MANAGE"),
    "drop_lake": needs("lake", "DROP"),
    "drop_database": needs("database", "DROP"),
    "drop_table": needs("table", "DROP"),
    "describe_lake": needs("lake", "DESCRIBE"),
    "describe_database": needs("database", "DESCRIBE"),
    "describe_table": needs("table", "DESCRIBE"),
    "create_database": needs("lake", "CREATE_DATABASE"),
    "create_table": needs("database", "CREATE_TABLE"),
    "alter_table": needs("table", "ALTER"),
    "change_services_cluster": needs("table", "ALTER"),
    "read_table_data": on("table", lambda c: c.has("SELECT") or c.has("INSERT")),
    "insert_table_data": needs("table", "INSERT"),
    "update_table_data": needs("table", "INSERT"),
    "create_savepoint": needs("table", "INSERT"),
    "restore_savepoint": needs("table", "INSERT"),
    "delete_table_data": needs("table", "DELETE"),
    # table services
    "create_compaction": service("ALTER"),
    "edit_compaction": service("ALTER"),
    "remove_compaction": service("ALTER"),
    "pause_compaction": service("ALTER"),
    "resume_compaction": service("ALTER"),
    "create_clustering": service("ALTER"),
    "edit_clustering": service("ALTER"),
    "remove_clustering": service("ALTER"),
    "pause_clustering": service("ALTER"),
    "resume_clustering": service("ALTER"),
    "create_cleaning": service("ALTER"),
    "edit_cleaning": service("ALTER"),
    "remove_cleaning": service("ALTER"),
    "pause_cleaning": service("ALTER"),
    "resume_cleaning": service("ALTER"),
    "create_metasync": service("SELECT"),
    "edit_metasync": service("SELECT"),
    "remove_metasync": service("SELECT"),
    "pause_metasync": service("SELECT"),
    "resume_metasync": service("SELECT"),
    "view_table_service_definition": needs("table", "DESCRIBE"),
    "view_table_service_metrics": needs("table", "DESCRIBE"),
    "view_table_service_run_history": needs("table", "DESCRIBE"),
    # notifications
    "view_notifications": notifications(VIEWING),
    "dismiss_notifications": notifications(DISMISSING),
}
