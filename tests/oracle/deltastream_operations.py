"""DeltaStream's operations, each row of the sheet as a condition on one active role."""

from typing import TYPE_CHECKING, NamedTuple

from .base import Operation, on
from .notation import Ref

if TYPE_CHECKING:
    from .deltastream import DeltaStream


class Case(NamedTuple):
    """A question of one active role about one object (`it`); `held` are all roles of the subject."""

    world: "DeltaStream"
    role: Ref
    it: Ref
    second: dict[str, Ref]
    held: frozenset[Ref]

    def has(self, privilege: str, type_: str) -> bool:
        """PRIVILEGE(T): in effect on the object of type T or above it."""
        return self.world.in_effect(self.role, privilege, self.world.above(self.it, type_))

    def has_with(self, privilege: str, key: str) -> bool:
        """PRIVILEGE(with.k)."""
        return self.world.in_effect(self.role, privilege, self.second[key])

    def owner(self) -> bool:
        """owner(object): the role, or one that it inherits, owns the object of the question."""
        return self.world.owners.get(self.it) in self.world.reach(self.role)

    def holds(self, role: Ref) -> bool:
        """holds(x): the active role is x or inherits it."""
        return role in self.world.reach(self.role)

    def can(self, operation: str) -> bool:
        """can(op)."""
        return OPERATIONS[operation].condition(self)

    def can_on_with(self, operation: str, key: str) -> bool:
        """can(op on with.k)."""
        return OPERATIONS[operation].condition(self._replace(it=self.second[key]))

    def is_built_in(self) -> bool:
        """The object is one of the five built-in roles."""
        names = ("ORGADMIN", "SYSADMIN", "SECURITYADMIN", "USERADMIN", "PUBLIC")
        return self.it in [Ref("role", (name,)) for name in names]


ANY_BUT_USER = (
    "organization database schema relation store schema_registry descriptor_source function_source function query role"
)
ANY_BUT_USER_AND_ORGANIZATION = ANY_BUT_USER.removeprefix("organization ")


def manage_members(c: Case) -> bool:
    return c.has("MANAGE_MEMBERS", "organization")


def manages_links(c: Case) -> bool:
    """To and from a user only MANAGE_MEMBERS; to and from a role also the owner of both roles."""
    to = c.second.get("to")
    return manage_members(c) or (to is not None and c.owner() and c._replace(it=to).owner())


def manage_grants(c: Case) -> bool:
    return c.has("MANAGE_GRANTS", "organization")


def owner(c: Case) -> bool:
    return c.owner()


def owner_or_manage_members(c: Case) -> bool:
    return c.owner() or manage_members(c)


def owner_or_manage_grants(c: Case) -> bool:
    return c.owner() or manage_grants(c)


def list_users(c: Case) -> bool:
    return c.has("USAGE", "organization") or manage_members(c)


def list_roles(c: Case) -> bool:
    return c.holds(c.it) or c.has("USAGE", "role") or manage_members(c) or manage_grants(c)


def listed_by_usage(type_: str) -> Operation[Case]:
    """USAGE(T) or MANAGE_GRANTS(organization), checked on a T."""
    return on(type_, lambda c: c.has("USAGE", type_) or manage_grants(c))


def usage(type_: str) -> Operation[Case]:
    """USAGE(T), checked on a T."""
    return on(type_, lambda c: c.has("USAGE", type_))


def on_organization(privilege: str) -> Operation[Case]:
    """PRIVILEGE(organization), checked on the organization."""
    return on("organization", lambda c: c.has(privilege, "organization"))


def list_relations(c: Case) -> bool:
    return (c.has("USAGE", "relation") and c.has("USAGE", "schema") and c.has("USAGE", "database")) or manage_grants(c)


def create_with_store(c: Case) -> bool:
    return c.can("create_relation") and c.has_with("USAGE", "store")


def create_as_select(c: Case) -> bool:
    return c.can("create_relation") and c.can_on_with("select_from_relation", "source")


def insert_into_relation(c: Case) -> bool:
    return (
        c.has("INSERT", "relation")
        and c.has("USAGE", "schema")
        and c.has("USAGE", "database")
        and c.can_on_with("select_from_relation", "source")
    )


OPERATIONS: dict[str, Operation[Case]] = {
    # organization, users, roles, grants
    "can_i": on("organization", lambda c: c.holds(Ref("role", ("PUBLIC",)))),
    "invite_user": on_organization("MANAGE_MEMBERS"),
    "list_invitations": on_organization("MANAGE_MEMBERS"),
    "revoke_invitation": on_organization("MANAGE_MEMBERS"),
    "list_users": on("user", list_users),
    "describe_user": on("user", list_users),
    "drop_user": on("user", manage_members),
    "create_role": on_organization("MANAGE_MEMBERS"),
    "list_roles": on("role", list_roles),
    "describe_role": on("role", list_roles),
    "use_role": on("role", lambda c: c.it in c.held),
    "grant_role": on("role", manages_links, optional={"to": "role"}),
    "revoke_role": on("role", manages_links, optional={"to": "role"}),
    "drop_role": on("role", lambda c: owner_or_manage_members(c) and not c.is_built_in()),
    "grant_privileges": on(ANY_BUT_USER, owner_or_manage_grants),
    "revoke_privileges": on(ANY_BUT_USER, owner_or_manage_grants),
    "grant_ownership": on(
        ANY_BUT_USER_AND_ORGANIZATION,
        lambda c: c.owner() and c.holds(c.second["role"]) and not c.is_built_in(),
        role="role",
    ),
    # databases, schemas, relations
    "create_database": on_organization("CREATE_DATABASE"),
    "use_database": usage("database"),
    "list_databases": listed_by_usage("database"),
    "drop_database": on("database", owner),
    "create_schema": on("database", lambda c: c.has("CREATE", "database") and c.has("USAGE", "database")),
    "use_schema": on("schema", lambda c: c.has("USAGE", "schema") and c.has("USAGE", "database")),
    "list_schemas": on(
        "schema", lambda c: (c.has("USAGE", "schema") and c.has("USAGE", "database")) or manage_grants(c)
    ),
    "drop_schema": on("schema", owner),
    "create_relation": on(
        "schema",
        lambda c: c.has("CREATE", "schema") and c.has("USAGE", "schema") and c.has("USAGE", "database"),
    ),
    "create_stream": on("schema", create_with_store, store="store"),
    "create_changelog": on("schema", create_with_store, store="store"),
    "create_table": on("schema", create_with_store, store="store"),
    "list_relations": on("relation", list_relations),
    "describe_relation": on("relation", list_relations),
    "describe_relation_columns": on("relation", list_relations),
    "create_index": on("relation", owner),
    "drop_relation": on("relation", owner),
    "drop_stream": on("relation", owner),
    "drop_changelog": on("relation", owner),
    # queries
    "create_query": on_organization("CREATE_QUERY"),
    "select_from_relation": on(
        "relation",
        lambda c: (
            c.has("SELECT", "relation")
            and c.has("USAGE", "schema")
            and c.has("USAGE", "database")
            and c.has("CREATE_QUERY", "organization")
        ),
    ),
    "insert_into_relation": on("relation", insert_into_relation, source="relation"),
    "create_stream_as_select": on("schema", create_as_select, source="relation"),
    "create_changelog_as_select": on("schema", create_as_select, source="relation"),
    "create_table_as_select": on("schema", create_as_select, source="relation"),
    "create_materialized_view_as": on("schema", create_as_select, source="relation"),
    "list_queries": listed_by_usage("query"),
    "describe_query": listed_by_usage("query"),
    "describe_query_metrics": listed_by_usage("query"),
    "describe_query_events": listed_by_usage("query"),
    "describe_query_state": listed_by_usage("query"),
    "terminate_query": on("query", owner),
    "restart_query": on("query", owner),
    "resume_query": on("query", owner),
    # stores, registries, sources, functions
    "create_store": on_organization("CREATE_STORE"),
    "use_store": usage("store"),
    "list_stores": listed_by_usage("store"),
    "describe_store": listed_by_usage("store"),
    "update_store": on("store", owner),
    "drop_store": on("store", owner),
    "list_entities": usage("store"),
    "describe_entity": usage("store"),
    "print_entity": usage("store"),
    "generate_columns": usage("store"),
    "create_entity": usage("store"),
    "update_entity": on("store", owner),
    "drop_entity": on("store", owner),
    "create_schema_registry": on_organization("CREATE_SCHEMA_REGISTRY"),
    "list_schema_registries": listed_by_usage("schema_registry"),
    "update_schema_registry": on("schema_registry", owner),
    "drop_schema_registry": on("schema_registry", owner),
    "create_descriptor_source": on_organization("CREATE_DESCRIPTOR_SOURCE"),
    "list_descriptor_sources": listed_by_usage("descriptor_source"),
    "list_descriptors": listed_by_usage("descriptor_source"),
    "copy_descriptor_source": usage("descriptor_source"),
    "drop_descriptor_source": on("descriptor_source", owner),
    "create_function_source": on_organization("CREATE_FUNCTION_SOURCE"),
    "list_function_sources": listed_by_usage("function_source"),
    "copy_function_source": usage("function_source"),
    "drop_function_source": on("function_source", owner),
    "create_function": on(
        "function_source",
        lambda c: c.has("CREATE_FUNCTION", "organization") and c.has("USAGE", "function_source"),
    ),
    "use_function": usage("function"),
    "list_functions": listed_by_usage("function"),
    "drop_function": on("function", owner),
}
