"""The policy model `lakehouse_nested`: lakehouse with schemas in schemas."""

from typing import Any, ClassVar

from .base import Operation, on
from .gravitino_operations import OPERATIONS, Case
from .lakehouse import Lakehouse
from .notation import Ref

DEEPEST = 64


def way(c: Case, schemas: list[Ref]) -> bool:
    """The catalog can be loaded, and each of the schemas is open: to its users, or to an owner of it or above it."""
    return c.can_at("load_catalog", c.world.above(c.it, "catalog")) and all(
        c._replace(it=each).has("USE_SCHEMA") or c._replace(it=each).owner_any() for each in schemas
    )


def schemas_above(c: Case) -> list[Ref]:
    return [each for each in c.world.upward(c.it)[1:] if each.type == "schema"]


def load_schema(c: Case) -> bool:
    return way(c, [c.it, *schemas_above(c)])


def alter_schema(c: Case) -> bool:
    return way(c, schemas_above(c)) and c.owner_any()


def create_schema(c: Case) -> bool:
    if c.it.type == "catalog":
        return (c.has("CREATE_SCHEMA") and c.has("USE_CATALOG")) or c.owner_any()
    return load_schema(c) and (c.has("CREATE_SCHEMA") or c.owner_any())


def list_schema(c: Case) -> bool:
    return c.can("load_catalog" if c.it.type == "catalog" else "load_schema")


class LakehouseNested(Lakehouse):
    """The policy model `lakehouse_nested`."""

    policy = "lakehouse_nested"
    privileges: ClassVar[dict[str, tuple[str, ...]]] = {
        **Lakehouse.privileges,
        "CREATE_SCHEMA": ("metalake", "catalog", "schema"),
    }
    operations: ClassVar[dict[str, Operation[Any]]] = {
        **OPERATIONS,
        "create_schema": on("catalog schema", create_schema),
        "list_schema": on("catalog schema", list_schema),
        "load_schema": on("schema", load_schema),
        "alter_schema": on("schema", alter_schema),
        "drop_schema": on("schema", alter_schema),
    }

    def fits(self, ref: Ref) -> bool:
        in_schemas = ref.type == "schema" or self.types[ref.type] == "schema"
        least = self.depth(ref.type)
        return least <= len(ref.segments) <= DEEPEST if in_schemas else len(ref.segments) == least

    def parent(self, ref: Ref) -> Ref | None:
        if ref.type == "schema" and len(ref.segments) > 2:
            return Ref("schema", ref.segments[:-1])
        return super().parent(ref)
