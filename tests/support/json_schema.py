"""A validator for the part of JSON schema that the policies' schema uses; anything else in a schema is an error."""

import re
from typing import Any

_KINDS: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
}
_WORDS = {"title", "description", "default", "$defs"}
_RULES = {"$ref", "anyOf", "type", "enum", "pattern", "properties", "additionalProperties", "required", "items"}


def fits(value: Any, schema: dict[str, Any], whole: dict[str, Any]) -> bool:
    """Does the value follow the schema, whose definitions stand in `whole`?"""
    unknown = schema.keys() - _WORDS - _RULES
    assert not unknown, f"the validator does not know {unknown}"
    if "$ref" in schema:
        return fits(value, whole["$defs"][schema["$ref"].rpartition("/")[2]], whole)
    if "type" in schema and not isinstance(value, _KINDS[schema["type"]]):
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if "pattern" in schema and not re.search(schema["pattern"], value):
        return False
    if "anyOf" in schema and not any(fits(value, one, whole) for one in schema["anyOf"]):
        return False
    if isinstance(value, list):
        return all(fits(each, schema.get("items", {}), whole) for each in value)
    return not isinstance(value, dict) or _fits_object(value, schema, whole)


def _fits_object(value: dict[str, Any], schema: dict[str, Any], whole: dict[str, Any]) -> bool:
    rest = schema.get("additionalProperties", {})
    return all(key in value for key in schema.get("required", ())) and all(
        fits(each, schema["properties"][key], whole)
        if key in schema.get("properties", {})
        else rest is not False and fits(each, rest, whole)
        for key, each in value.items()
    )
