"""Messages about invalid values in a policy file: the value, the rule, and what to write instead."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from grantpath.engine.policy.yaml_reader import Document
from grantpath.graph.messages import short

CLOSE = 0.7  # how similar a misspelled key is to the right one; `create` and `rename` are less similar
MANUAL = "see docs/writing-a-policy.md"
ConditionEntry = "ConditionEntry"  # the class of an operation or a rule, in pydantic's errors
_MISSING = {
    "policy": "policy: NAME",
    "types": "types: {site: {}, user: {in: site, kind: user}}",
    "grants": "grants: {to: user}",
    "to": "to: user",
    "privileges": "privileges: {READ: {on: table}}",
    "operations": "operations: {table: {query: READ}}; if only privileges are asked, write operations: {}",
    "if": "if: READ",
    "type": "type: table",
}
_REMEDIES = {
    "string_too_short": "a name is missing; write it, or remove the comma",
    "string_type": "a name or text is expected; if it looks like a number, write it in quotes",
    "string_pattern_mismatch": "write the name in lower_snake_case: a letter from a to z, then letters, digits and `_`",
    "list_type": "a list of names is expected; write it as `a, b`",
    "dict_type": f"a mapping is expected; {MANUAL}",
    "model_type": f"a mapping is expected; write its keys, {MANUAL}",
}
_REQUEST = (
    "conditions on the request are not supported, because a decision reads the graph only; check the time or the "
    "address in the caller; a condition about the graph is written as `if` or `in_effect`"
)
_MASK = (
    "masks and row filters are not supported, because a check answers yes or no; declare an operation such as "
    "read_unmasked, and let the query engine mask or filter for whom it is refused"
)
_PATTERN = (
    "patterns are not supported, because a grant names one object; grant on the object above, whose grants apply to "
    "everything below it if `grants.inherit` is true"
)
_PRIORITY = (
    "priorities are not supported, because the order of grants has no effect; set `grants.deny: true`, so that a DENY "
    "overrides every ALLOW"
)
_NOT_SUPPORTED = {  # keys of other systems: what is not possible here, and what to do instead
    **dict.fromkeys(("condition", "conditions", "when", "unless", "caveat", "caveats", "context"), _REQUEST),
    **dict.fromkeys(
        ("mask", "masks", "masking", "column_mask", "column_masks", "row_filter", "row_filters", "filter", "filters"),
        _MASK,
    ),
    **dict.fromkeys(("pattern", "patterns", "wildcard", "wildcards", "regex", "glob"), _PATTERN),
    **dict.fromkeys(("priority", "priorities", "precedence"), _PRIORITY),
}


def explain(error: Mapping[str, Any], document: Document, schema: Mapping[str, Any]) -> str:
    """The message for one pydantic error, with file, line and key. `schema` is that of a whole policy file."""
    key = tuple(part for part in error["loc"] if part not in ("str", "dict[str,str]"))
    place = ".".join(str(part) for part in key) or "the file"
    return f"{document.place(key)}: {place}: {_remedy(error, key, schema)}"


def _remedy(error: Mapping[str, Any], key: tuple[str | int, ...], schema: Mapping[str, Any]) -> str:
    written = repr(short(str(error["input"])))
    if error["input"] in ("yes", "no", "on", "off"):
        written += ", which is a string in YAML 1.2,"
    match error["type"]:
        case "missing":
            return f"the key is missing; add it, e.g. {_MISSING[str(key[-1])]}"
        case "string_type" if isinstance(error["input"], list):
            return f"one name is expected, not a list; write one, e.g. {key[-1]}: {next(iter(error['input']), 'NAME')}"
        case "list_type" if key == ("ladders",):
            return f"a list of ladders is expected; write `- {short(str(error['input']))}` below it"
        case "model_type" if error["ctx"]["class_name"] == ConditionEntry and error["input"] is None:
            return f"the condition is missing; write e.g. {key[-1]}: READ, or {key[-1]}: {{if: READ, with: ...}}"
        case "model_type" if error["ctx"]["class_name"] == ConditionEntry:
            return f"{written} is not a condition; write e.g. {key[-1]}: READ, or {key[-1]}: {{if: READ, with: ...}}"
        case "extra_forbidden":
            return _unknown_key(str(key[-1]), error["input"], list(_keys(schema, schema, key[:-1])))
        case "bool_type":
            return f"{written} is not valid here; write true or false"
        case "literal_error":
            expected = str(error["ctx"]["expected"]).replace("'", "").replace("True, False", "true, false")
            return f"{written} is not valid here; write {expected}"
    return _REMEDIES.get(error["type"], str(error["msg"]))


def _unknown_key(name: str, value: object, known: list[str]) -> str:
    if value is None and ")" in name:
        return "unknown key; if this is the rest of a condition with a comma, put the condition in quotes"
    if value is None and name not in known:
        return f'unknown key; if {name} belongs to the list before it, put the list in quotes, e.g. {{on: "a, {name}"}}'
    if name in _NOT_SUPPORTED:
        return f"unknown key; {_NOT_SUPPORTED[name]}"
    close = get_close_matches(name, known, n=1, cutoff=CLOSE)
    if close:
        return f"unknown key; did you mean {close[0]}?"
    return f"unknown key; the keys are {', '.join(known)}" if known else f"unknown key; {MANUAL} for the known ones"


def _keys(node: Mapping[str, Any], schema: Mapping[str, Any], path: tuple[str | int, ...]) -> Mapping[str, Any]:
    """The keys that the schema allows at a path."""
    if "$ref" in node:
        return _keys(schema["$defs"][node["$ref"].rpartition("/")[2]], schema, path)
    if "anyOf" in node and "properties" not in node:
        found = (_keys(each, schema, path) for each in node["anyOf"])
        return next((each for each in found if each), {})
    properties: Mapping[str, Any] = node.get("properties", {})
    if not path:
        return properties
    inner = properties.get(str(path[0]), node.get("additionalProperties"))
    return _keys(inner, schema, path[1:]) if isinstance(inner, dict) else {}
