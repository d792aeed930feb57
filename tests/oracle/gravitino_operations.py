"""Gravitino's operations, each row of the sheet as a condition in the sheet's words."""

from typing import TYPE_CHECKING, NamedTuple

from .base import Operation, on
from .notation import Ref

if TYPE_CHECKING:
    from .gravitino import Gravitino


class Case(NamedTuple):
    """A question of one user about one object (`it`), in the words of the sheet's conditions."""

    world: "Gravitino"
    user: Ref
    it: Ref
    second: dict[str, Ref]

    def has(self, privilege: str) -> bool:
        """PRIV: in effect on the object of the question."""
        return self.world.in_effect(self.user, privilege, self.it)

    def has_at_metalake(self, privilege: str) -> bool:
        """PRIV@metalake."""
        return self.world.in_effect(self.user, privilege, self.world.root)

    def owner(self, type_: str) -> bool:
        """owner(T): owns the T on the path from the object to the metalake."""
        return any(self.world.owns(self.user, place) for place in self.world.upward(self.it) if place.type == type_)

    def owner_of_itself(self) -> bool:
        """Owns the object of the question."""
        return self.world.owns(self.user, self.it)

    def owner_any(self) -> bool:
        """owner(any): the object, its schema, its catalog or the metalake."""
        return any(self.world.owns(self.user, place) for place in self.world.upward(self.it))

    def can(self, operation: str) -> bool:
        """can(op) on the same object."""
        return self.can_at(operation, self.it)

    def can_at(self, operation: str, place: Ref) -> bool:
        """can(op@X)."""
        return self.world.operations[operation].condition(Case(self.world, self.user, place, {}))

    def inside(self) -> bool:
        """The conditions to reach an object of a schema: load its catalog and its schema."""
        catalog, schema = self.world.above(self.it, "catalog"), self.world.above(self.it, "schema")
        return self.can_at("load_catalog", catalog) and self.can_at("load_schema", schema)

    def load(self) -> bool:
        """load(O)."""
        return self.can(LOADING[self.it.type])

    def may_create_in_schema(self, privilege: str) -> bool:
        """The common form of create_table, create_topic, create_fileset and register_model."""
        return self.inside() and (
            self.has(privilege) or self.owner("metalake") or self.owner("catalog") or self.owner("schema")
        )


LOADING = {
    "metalake": "load_metalake",
    "catalog": "load_catalog",
    "schema": "load_schema",
    "table": "load_table",
    "topic": "load_topic",
    "fileset": "load_fileset",
    "model": "load_model",
    "role": "get_role",
    "tag": "get_tag",
    "policy": "get_policy",
    "job_template": "get_job_template",
    "job": "get_job",
}
OWNABLE = tuple(LOADING)
ANY_OWNABLE = " ".join(OWNABLE)
SIX = "catalog schema table topic fileset model"


def member(case: Case) -> bool:
    """The user is in the metalake, which every condition requires."""
    return case.user in case.world.existing


def alter_schema(c: Case) -> bool:
    return c.can_at("load_catalog", c.world.above(c.it, "catalog")) and (
        c.owner("schema") or c.owner("catalog") or c.owner("metalake")
    )


def load_schema(c: Case) -> bool:
    return c.can_at("load_catalog", c.world.above(c.it, "catalog")) and (
        c.owner("metalake") or c.owner("catalog") or c.owner("schema") or c.has("USE_SCHEMA")
    )


def alter_table(c: Case) -> bool:
    return c.inside() and (c.owner_any() or c.has("MODIFY_TABLE"))


def load_table(c: Case) -> bool:
    return c.inside() and (c.owner_any() or c.has("SELECT_TABLE") or c.has("MODIFY_TABLE"))


def load_fileset(c: Case) -> bool:
    return c.inside() and (c.owner_any() or c.has("READ_FILESET") or c.has("WRITE_FILESET"))


def load_model(c: Case) -> bool:
    return c.inside() and (c.owner_any() or c.has("USE_MODEL"))


def inside_and_owner(c: Case) -> bool:
    return c.inside() and c.owner_any()


def manage_users(c: Case) -> bool:
    return c.has_at_metalake("MANAGE_USERS") or c.owner("metalake")


def manage_groups(c: Case) -> bool:
    return c.has_at_metalake("MANAGE_GROUPS") or c.owner("metalake")


def manage_grants(c: Case) -> bool:
    return c.has_at_metalake("MANAGE_GRANTS") or c.owner("metalake")


def grant_privilege(c: Case) -> bool:
    return manage_grants(c) or c.owner_of_itself()


def get_role(c: Case) -> bool:
    return manage_grants(c) or c.owner("role") or c.it in c.world.holders(c.user)


def owner_of_metalake_or_itself(c: Case) -> bool:
    return c.owner("metalake") or c.owner_of_itself()


def associate(privilege: str, key: str) -> Operation[Case]:
    """associate_object_tags and associate_object_policies: a right on the second object, and load(O)."""

    def condition(c: Case) -> bool:
        second = c.second[key]
        right = (
            c.world.in_effect(c.user, privilege, second)
            or c.world.owns(c.user, second)
            or c.world.owns(c.user, c.world.root)
        )
        return right and c.load()

    return Operation(tuple(SIX.split()), condition, {key: key})


OPERATIONS: dict[str, Operation[Case]] = {
    # metalake and catalog
    "create_metalake": on("metalake", lambda c: c.world.is_service_admin(c.user)),
    "load_metalake": on("metalake", member),
    "alter_metalake": on("metalake", lambda c: c.owner("metalake")),
    "drop_metalake": on("metalake", lambda c: c.owner("metalake")),
    "create_catalog": on("metalake", lambda c: c.has("CREATE_CATALOG") or c.owner("metalake")),
    "alter_catalog": on("catalog", lambda c: c.owner("catalog") or c.owner("metalake")),
    "drop_catalog": on("catalog", lambda c: c.owner("catalog") or c.owner("metalake")),
    "list_catalog": on("metalake", member),
    "load_catalog": on("catalog", lambda c: c.owner("metalake") or c.owner("catalog") or c.has("USE_CATALOG")),
    # schema
    "create_schema": on(
        "catalog",
        lambda c: (c.has("CREATE_SCHEMA") and c.has("USE_CATALOG")) or c.owner("metalake") or c.owner("catalog"),
    ),
    "alter_schema": on("schema", alter_schema),
    "drop_schema": on("schema", alter_schema),
    "list_schema": on("catalog", lambda c: c.can("load_catalog")),
    "load_schema": on("schema", load_schema),
    # table
    "create_table": on("schema", lambda c: c.may_create_in_schema("CREATE_TABLE")),
    "alter_table": on("table", alter_table),
    "update_table_statistics": on("table", alter_table),
    "drop_table_statistics": on("table", alter_table),
    "update_table_partition_statistics": on("table", alter_table),
    "drop_table_partition_statistics": on("table", alter_table),
    "drop_table": on("table", inside_and_owner),
    "list_table": on("schema", lambda c: c.inside()),
    "load_table": on("table", load_table),
    "list_table_statistics": on("table", load_table),
    "list_table_partition_statistics": on("table", load_table),
    # topic and fileset
    "create_topic": on("schema", lambda c: c.may_create_in_schema("CREATE_TOPIC")),
    "alter_topic": on("topic", lambda c: c.inside() and (c.owner_any() or c.has("PRODUCE_TOPIC"))),
    "drop_topic": on("topic", inside_and_owner),
    "list_topic": on("schema", lambda c: c.inside()),
    "load_topic": on(
        "topic",
        lambda c: c.inside() and (c.owner_any() or c.has("CONSUME_TOPIC") or c.has("PRODUCE_TOPIC")),
    ),
    "create_fileset": on("schema", lambda c: c.may_create_in_schema("CREATE_FILESET")),
    "alter_fileset": on("fileset", lambda c: c.inside() and (c.owner_any() or c.has("WRITE_FILESET"))),
    "drop_fileset": on("fileset", inside_and_owner),
    "list_fileset": on("schema", lambda c: c.inside()),
    "load_fileset": on("fileset", load_fileset),
    "list_files": on("fileset", load_fileset),
    # model
    "register_model": on("schema", lambda c: c.may_create_in_schema("REGISTER_MODEL")),
    "link_model_version": on(
        "model",
        lambda c: c.inside() and c.can("load_model") and (c.owner_any() or c.has("LINK_MODEL_VERSION")),
    ),
    "alter_model": on("model", inside_and_owner),
    "drop_model": on("model", inside_and_owner),
    "list_model": on("schema", lambda c: c.inside()),
    "load_model": on("model", load_model),
    "list_model_version": on("model", load_model),
    "load_model_version": on("model", load_model),
    "load_model_version_by_alias": on("model", load_model),
    "delete_model_version": on("model", inside_and_owner),
    "alter_model_version": on("model", inside_and_owner),
    "delete_model_version_alias": on("model", inside_and_owner),
    # users, groups, roles, grants, owners
    "add_user": on("metalake", manage_users),
    "remove_user": on("user", manage_users),
    "get_user": on("user", lambda c: manage_users(c) or c.it == c.user),
    "list_users": on("metalake", member),
    "add_group": on("metalake", manage_groups),
    "remove_group": on("group", manage_groups),
    "get_group": on("group", lambda c: manage_groups(c) or c.it in c.world.holders(c.user)),
    "list_groups": on("metalake", member),
    "create_role": on("metalake", lambda c: c.has("CREATE_ROLE") or c.owner("metalake")),
    "delete_role": on("role", lambda c: c.owner("metalake") or c.owner("role")),
    "get_role": on("role", get_role),
    "list_roles": on("metalake", member),
    "grant_role": on("metalake", manage_grants),
    "revoke_role": on("metalake", manage_grants),
    "grant_privilege": on(ANY_OWNABLE, grant_privilege),
    "revoke_privilege": on(ANY_OWNABLE, grant_privilege),
    "set_owner": on(ANY_OWNABLE, lambda c: c.owner("metalake") or c.owner_of_itself()),
    # tags
    "list_tags": on("metalake", member),
    "create_tag": on("metalake", lambda c: c.has("CREATE_TAG") or c.owner("metalake")),
    "get_tag": on("tag", lambda c: c.has("APPLY_TAG") or c.owner("metalake") or c.owner("tag")),
    "alter_tag": on("tag", owner_of_metalake_or_itself),
    "delete_tag": on("tag", owner_of_metalake_or_itself),
    "list_objects_for_tag": on("tag", lambda c: c.can("get_tag")),
    "list_tags_for_object": on(SIX, lambda c: c.can_at("list_tags", c.world.root) and c.load()),
    "get_tag_for_object": on(SIX, lambda c: c.can_at("get_tag", c.second["tag"]) and c.load(), tag="tag"),
    "associate_object_tags": associate("APPLY_TAG", "tag"),
    # policies
    "list_policies": on("metalake", member),
    "create_policy": on("metalake", lambda c: c.has("CREATE_POLICY") or c.owner("metalake")),
    "get_policy": on("policy", lambda c: c.has("APPLY_POLICY") or c.owner("metalake") or c.owner("policy")),
    "alter_policy": on("policy", owner_of_metalake_or_itself),
    "set_policy": on("policy", owner_of_metalake_or_itself),
    "delete_policy": on("policy", owner_of_metalake_or_itself),
    "list_objects_for_policy": on("policy", lambda c: c.can("get_policy")),
    "associate_object_policies": associate("APPLY_POLICY", "policy"),
    "list_policies_for_object": on(SIX, lambda c: c.load()),
    "get_policy_for_object": on(
        SIX, lambda c: c.can_at("get_policy", c.second["policy"]) and c.load(), policy="policy"
    ),
    # jobs and credentials
    "list_job_templates": on("metalake", member),
    "register_job_template": on("metalake", lambda c: c.has("REGISTER_JOB_TEMPLATE") or c.owner("metalake")),
    "get_job_template": on(
        "job_template",
        lambda c: c.has("USE_JOB_TEMPLATE") or c.owner("metalake") or c.owner("job_template"),
    ),
    "delete_job_template": on("job_template", owner_of_metalake_or_itself),
    "alter_job_template": on("job_template", owner_of_metalake_or_itself),
    "list_jobs": on("metalake", member),
    "run_job": on(
        "job_template",
        lambda c: c.owner("metalake") or (c.has_at_metalake("RUN_JOB") and c.has("USE_JOB_TEMPLATE")),
    ),
    "get_job": on("job", owner_of_metalake_or_itself),
    "cancel_job": on("job", owner_of_metalake_or_itself),
    "get_credential": on(SIX, lambda c: c.load()),
    # data access, which the document grants but does not list
    "select_from_table": on("table", load_table),
    "write_to_table": on("table", alter_table),
    "consume_topic": on("topic", lambda c: c.can("load_topic")),
    "produce_topic": on("topic", lambda c: c.can("alter_topic")),
    "read_fileset": on("fileset", load_fileset),
    "write_fileset": on("fileset", lambda c: c.can("alter_fileset")),
    "read_model": on("model", load_model),
    # calls that the document shows without conditions
    "get_owner": on(ANY_OWNABLE, lambda c: c.load()),
    "list_roles_for_object": on(ANY_OWNABLE, lambda c: c.load()),
    "change_group_members": on("group", manage_groups),
}
