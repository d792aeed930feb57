"""The policy file format: pydantic models of what stands in the YAML, and how one policy extends another.

docs/writing-a-policy.md explains it to people; `json_schema()` gives it to editors. What the names mean together
is checked in policy.py.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from grantpath.engine.policy.extend import merge, split
from grantpath.engine.policy.value_messages import explain
from grantpath.engine.policy.yaml_reader import Document, read_documents
from grantpath.graph.errors import InvalidInput, InvalidPolicy
from grantpath.graph.messages import short

BUILT_IN = Path(__file__).parents[1] / "policies"
MAX_NAME = 255  # a longer one is not compared with others


def _names(value: Any) -> Any:
    """`a, b` and `a` for [a, b] and [a]."""
    if isinstance(value, str):
        return split(value)
    return value


NameList = Annotated[
    list[Annotated[str, Field(min_length=1)]], BeforeValidator(_names, json_schema_input_type=str | list[str])
]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, populate_by_name=True)


class TypeEntry(_Entry):
    """A type of entity. The one without `in` is the root."""

    in_: str | None = Field(default=None, alias="in", description="the type of its parent")
    kind: Literal["object", "user", "service_principal", "group", "role"] = Field(
        default="object", description="what it is as a subject; users and service principals ask"
    )
    owned_by: NameList = Field(default=[], description="the types that may own it")
    keep_while_owning: bool = Field(default=False, description="it cannot be dropped while it owns something")
    protected: bool | None = Field(
        default=None, description="no change may add or drop it; by default only for the root"
    )


def _not_a_number(value: Any) -> Any:
    """1 is not true, though Python says that they are equal."""
    return value if isinstance(value, bool) else str(value)


class GrantRules(_Entry):
    """Who is granted privileges, and how far a grant goes."""

    to: NameList = Field(description="the types that hold grants")
    deny: Annotated[Literal[True, False, "cascades"], BeforeValidator(_not_a_number)] = Field(
        default=False,
        description="there is DENY, and it beats every ALLOW of its privilege; `cascades`: and of those that imply it",
    )
    inherit: bool = Field(default=True, description="a grant counts for everything below its object")
    on_missing: bool = Field(default=False, description="a name can hold grants before it is created")


class AskRules(_Entry):
    """Who is asked about, and what is answered for a privilege on a type that it is never in effect on."""

    subjects: NameList = Field(default=["user"], description="the types that a check may be about")
    elsewhere: Literal["error", "no"] = "error"
    one_role: bool = Field(default=False, description="one held role must do alone; `as role:X` names it")


class PrivilegeEntry(_Entry):
    """A privilege (or a resource role): UPPER_CASE."""

    on: NameList = Field(default=[], description="the types it can be granted on")
    effective: NameList | None = Field(default=None, description="the types it is in effect on; default: `on`")
    implies: NameList = Field(default=[], description="privileges that come with it")
    alias_of: str | None = Field(default=None, description="it is another name of that privilege")
    inherit: bool | None = Field(default=None, description="as in `grants`, for this privilege")
    in_effect: str | None = Field(default=None, description="when it is in effect; default: the policy's")
    membership: bool = Field(default=False, description="granting it on a group makes a member of it")


class WithEntry(_Entry):
    """A second object of an operation or a change."""

    type: str
    optional: bool = False
    if_: str | None = Field(default=None, alias="if", description="asked besides, where it is named")
    inside: str | None = Field(default=None, description="its ancestor of that type is the object's own")


def _second(value: Any) -> Any:
    return {"type": value} if isinstance(value, str) else value


With = Annotated[WithEntry, BeforeValidator(_second, json_schema_input_type=str | WithEntry)]


class ConditionEntry(_Entry):
    """An operation of a type, or the rule for a change."""

    if_: str = Field(alias="if", description="the condition")
    with_: dict[str, With] = Field(default={}, alias="with", description="the second objects it names")
    new: bool = Field(default=False, description="asked on a name that need not exist yet")
    all_roles: bool = Field(default=False, description="judged on all held roles together")
    returns: str | None = Field(default=None, description="what the operation then shows; for readers only")


def _condition(value: Any) -> Any:
    return {"if": value} if isinstance(value, str) else value


ConditionField = Annotated[ConditionEntry, BeforeValidator(_condition, json_schema_input_type=str | ConditionEntry)]


class BuiltinEntry(_Entry):
    """A subject that comes with every root of the policy, and is protected."""

    holds: NameList = Field(default=[], description="the roles it holds")
    owns: NameList = Field(default=[], description="the types of root it owns")
    allow: NameList = Field(default=[], description="what it is granted on the root")
    hidden: bool = Field(default=False, description="it stands in no answer and no change; load sets its members")
    held_by_every: str | None = Field(default=None, description="every entity of that type holds it from its creation")
    members: NameList = Field(default=[], description="the types that may hold it; default: as for its type")


class Changes(_Entry):
    """What each change asks of the acting user: a condition, or one by the type of the object."""

    add: dict[str, ConditionField] = {}
    drop: dict[str, ConditionField] = {}
    member: dict[str, ConditionField] = {}
    remove: dict[str, ConditionField] = {}
    owner: dict[str, ConditionField] = {}
    grant: dict[str, ConditionField] = {}
    revoke: dict[str, ConditionField] = {}


class PolicyFile(_Entry):
    """A whole policy."""

    policy: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    title: str = ""
    source: str = ""
    extends: str | None = Field(default=None, description="a built-in policy, or a path; its entries are the start")
    types: dict[str, TypeEntry]
    members: dict[str, NameList] = Field(default={}, description="container type: the types that may be in it")
    grants: GrantRules
    ask: AskRules = AskRules()
    creating: str | None = Field(default=None, description="what the creator gets: `owner`, or a privilege")
    builtin: dict[str, BuiltinEntry] = {}
    privileges: dict[str, PrivilegeEntry]
    ladders: list[NameList] = Field(default=[], description="privileges from low to high; each implies those before")
    in_effect: dict[str, str] = Field(default={}, description="by type: when a granted privilege is in effect")
    define: dict[str, str | dict[str, str]] = Field(default={}, description="named conditions, also by type")
    operations: dict[str, dict[str, ConditionField]] = Field(description="type or types: operation: condition")
    aliases: dict[str, str] = Field(default={}, description="other names of operations")
    changes: Changes = Changes()


def json_schema() -> dict[str, Any]:
    """The JSON schema of a policy file, for editors. A file that extends another may say less, and may say null."""
    schema = PolicyFile.model_json_schema(by_alias=True)
    whole = [key for key in schema["required"] if key != "policy"]
    schema["required"] = ["policy"]
    schema["anyOf"] = [{"required": ["extends"]}, {"required": whole}]
    schema["$defs"]["GrantRules"].pop("required")
    sections = [*schema["properties"].values(), *schema["$defs"]["Changes"]["properties"].values()]
    sections.append(schema["properties"]["operations"]["additionalProperties"])
    for section in sections:
        if isinstance(section.get("additionalProperties"), dict):
            section["additionalProperties"] = {"anyOf": [section["additionalProperties"], {"type": "null"}]}
    return schema


def find(name: str, beside: Path | None = None) -> Path:
    """The file of a built-in policy's name, or of a path (relative to `beside`). Raises InvalidPolicy."""
    if "/" not in name and not name.endswith((".yaml", ".yml")):
        built_in = {path.stem: path for path in BUILT_IN.glob("*.yaml")}
        if name in built_in:
            return built_in[name]
        names = ", ".join(sorted(built_in))
        raise InvalidPolicy(
            f"the policy {short(name)!r} is unknown{_nearest(name, built_in)}: there are {names}; "
            f"a file is named by its path, as ./{short(name)}.yaml"
        )
    path = (beside or Path.cwd()) / name
    try:
        found = path.is_file()
    except OSError:  # too long a name, or a circle of links
        found = False
    if not found:
        raise InvalidPolicy(f"{short(str(path))}: no such policy file; check the path")
    return path


def _nearest(name: str, known: Iterable[str]) -> str:
    close = get_close_matches(name[:MAX_NAME], list(known), n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def read(path: Path) -> tuple[PolicyFile, Document]:
    """A policy file with what it extends, and the document for its lines. Raises InvalidPolicy."""
    document = _document(path, ())
    try:
        return PolicyFile.model_validate(document.data), document
    except ValidationError as error:
        # a key that is unknown tells more than the one that is missing in its place
        found = sorted(error.errors(), key=lambda each: each["type"] != "extra_forbidden")
        raise InvalidPolicy(*(explain(each, document, json_schema()) for each in found)) from None


def _document(path: Path, above: tuple[Path, ...]) -> Document:
    try:
        documents = read_documents(path)
    except InvalidInput as error:
        raise InvalidPolicy(str(error)) from None
    if len(documents) != 1 or not isinstance(documents[0].data, dict):
        raise InvalidPolicy(f"{path}: a policy file holds one YAML mapping; start it with `policy: name`")
    document = documents[0]
    base = document.data.get("extends") if isinstance(document.data, dict) else None
    if not isinstance(base, str):
        return document
    try:
        base_path = find(base, path.parent)
    except InvalidPolicy as error:
        raise InvalidPolicy(f"{path}:{document.line(('extends',))}: extends: {error}") from None
    if base_path.resolve() in [each.resolve() for each in (*above, path)]:
        raise InvalidPolicy(
            f"{path}:{document.line(('extends',))}: {base} extends this policy in turn; break the circle"
        )
    parent = _document(base_path, (*above, path))
    assert isinstance(parent.data, dict)
    document.data = merge(parent.data, document)
    return document
