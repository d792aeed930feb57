"""The policy file format: pydantic models of the YAML, and the reading of files that extend others.

docs/writing-a-policy.md describes it for people, `json_schema()` for editors. `validate.py` checks what a schema
cannot express.
"""

import os
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from grantpath.engine.policy.extend import merge, split
from grantpath.engine.policy.value_messages import explain
from grantpath.engine.policy.yaml_reader import Document, read_documents
from grantpath.graph.errors import InvalidInput, InvalidPolicy, UnknownName
from grantpath.graph.messages import short

# The format of the facts beside a stored policy. A version that stores other kinds of facts raises it, and stores the
# number with the policy under the key UPGRADE. So the digest changes, which each answer returns, and an older version,
# which does not know the key, repeats its name in an error and gives no answer. A policy without the key has format 1.
WITH_TAGS, WITH_ENDS = 2, 3  # objects have tags; grants and memberships end
FACTS_FORMAT = WITH_ENDS  # the latest that this version reads
UPGRADE = "upgrade grantpath"
BUILT_IN = Path(__file__).parents[1] / "policies"
MAX_NAME = 255  # longer input is never a typo, and slow to compare


def _names(value: Any) -> Any:
    """Accepts `a, b` for [a, b], and `a` for [a]."""
    if isinstance(value, str):
        return split(value)
    return value


NameList = Annotated[
    list[Annotated[str, Field(min_length=1)]], BeforeValidator(_names, json_schema_input_type=str | list[str])
]


NoNames = Annotated[  # null, which older versions stored with a root, is no name
    list[Annotated[str, Field(min_length=1)]],
    BeforeValidator(lambda value: [] if value is None else _names(value), json_schema_input_type=str | list[str]),
]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, populate_by_name=True)


def _parents(value: Any) -> Any:
    """Accepts [a, b] for `a, b`, and writes both as `a, b`."""
    names = split(value) if isinstance(value, str) else value
    return ", ".join(names) if isinstance(names, list) and all(isinstance(each, str) for each in names) else value


class TypeEntry(_Entry):
    """A type of entity. The one without `in` is the root."""

    in_: Annotated[str | None, BeforeValidator(_parents, json_schema_input_type=str | list[str] | None)] = Field(
        default=None, alias="in", description="the type of its parent, or the types that it can have"
    )
    kind: Literal["object", "user", "service_principal", "group", "role"] = Field(
        default="object", description="an object, or a kind of subject; `who` lists users and service principals"
    )
    owned_by: NameList = Field(default=[], description="the types that can own it")
    keep_while_owning: bool = Field(default=False, description="it cannot be dropped while it owns an object")
    protected: bool | None = Field(
        default=None, description="no change can add or drop it; default: true for the root, otherwise false"
    )


def _not_a_number(value: Any) -> Any:
    """Rejects 1 and 0, which Python takes to be equal to true and false."""
    return value if isinstance(value, bool) else str(value)


class GrantRules(_Entry):
    """Which types hold grants, and how grants are inherited."""

    to: NameList = Field(description="the types that hold grants")
    deny: Annotated[Literal[True, False, "cascades"], BeforeValidator(_not_a_number)] = Field(
        default=False,
        description="a DENY overrides every ALLOW of its privilege; with `cascades`, also of privileges that imply it",
    )
    inherit: bool = Field(default=True, description="a grant applies to everything below its object")
    on_missing: bool = Field(default=False, description="a name can have grants on it before it is created")


class AskRules(_Entry):
    """Which types questions are about, and the answer for a privilege on a type on which it is never in effect."""

    subjects: NameList = Field(default=["user"], description="the types of subjects that checks are about")
    elsewhere: Literal["error", "no"] = "error"
    one_role: bool = Field(default=False, description="a single held role must suffice; `as role:X` names it")


class PrivilegeEntry(_Entry):
    """A privilege (or a resource role); its name is in UPPER_CASE."""

    on: NameList = Field(default=[], description="the types it can be granted on")
    effective: NameList | None = Field(default=None, description="the types it is in effect on; default: `on`")
    implies: NameList = Field(default=[], description="the privileges that it includes")
    alias_of: str | None = Field(default=None, description="the privilege of which this is another name")
    inherit: bool | None = Field(default=None, description="overrides `grants.inherit` for this privilege")
    in_effect: str | None = Field(
        default=None, description="the condition for it to be in effect; default: the policy's `in_effect` for the type"
    )
    membership: bool = Field(default=False, description="granting it on a group makes the grantee a member")


class TagEntry(_Entry):
    """A type of objects that other objects are tagged with."""

    on: NameList = Field(description="the types of objects that can be tagged with it")
    inherited: bool = Field(default=True, description="a tag of an object holds for everything inside the object, too")


class WithEntry(_Entry):
    """A second object of an operation or a change."""

    type: str
    optional: bool = False
    new: bool = Field(default=False, description="it need not exist")
    if_: str | None = Field(default=None, alias="if", description="a further condition if this object is given")
    inside: str | None = Field(
        default=None,
        description="a type above both; this object and the main one must be in the same object of it",
    )


def _second(value: Any) -> Any:
    return {"type": value} if isinstance(value, str) else value


With = Annotated[WithEntry, BeforeValidator(_second, json_schema_input_type=str | WithEntry)]


class ConditionEntry(_Entry):
    """An operation of a type, or the rule for a change."""

    if_: str = Field(alias="if", description="the condition")
    if_new: dict[str, str] = Field(
        default={},
        description="in `changes.grant`, by type of grantee: the condition if the same batch adds the grantee before",
    )
    with_: dict[str, With] = Field(default={}, alias="with", description="the second objects that it takes")
    new: bool = Field(default=False, description="the object need not exist yet")
    all_roles: bool = Field(default=False, description="decided on all held roles together, despite `ask.one_role`")
    returns: str | None = Field(default=None, description="what the operation shows if allowed; documentation only")


def _condition(value: Any) -> Any:
    return {"if": value} if isinstance(value, str) else value


ConditionField = Annotated[ConditionEntry, BeforeValidator(_condition, json_schema_input_type=str | ConditionEntry)]


class BuiltinEntry(_Entry):
    """A subject that is created with every root of the policy, and is protected."""

    holds: NameList = Field(default=[], description="the roles it holds")
    owns: NameList = Field(default=[], description="the root type, if this subject owns the root")
    allow: NameList = Field(default=[], description="the privileges that it is granted on the root")
    hidden: bool = Field(default=False, description="answers omit it, and only facts without an actor set its members")
    held_by_every: NoNames = Field(default=[], description="the types whose entities hold it from their creation")
    members: NameList = Field(default=[], description="the types that can hold it; default: the `members` of its type")


class Changes(_Entry):
    """The conditions that the actor of a change must meet, by kind of change and type of the object."""

    add: dict[str, ConditionField] = {}
    drop: dict[str, ConditionField] = {}
    member: dict[str, ConditionField] = {}
    remove: dict[str, ConditionField] = {}
    owner: dict[str, ConditionField] = {}
    rename: dict[str, ConditionField] = {}
    move: dict[str, ConditionField] = {}
    tag: dict[str, ConditionField] = {}
    grant: dict[str, ConditionField] = {}
    revoke: dict[str, ConditionField] = {}


class PolicyFile(_Entry):
    """A whole policy."""

    policy: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    title: str = ""
    source: str = ""
    extends: str | None = Field(
        default=None, description="a built-in policy's name, or a file's path; this file overrides its entries"
    )
    types: dict[str, TypeEntry]
    members: dict[str, NameList] = Field(default={}, description="by group or role type: the types of its members")
    grants: GrantRules
    ask: AskRules = AskRules()
    creating: NoNames = Field(
        default=[],
        description="what an object's creator gets: `owner`, or privileges, each on the types it can be granted on",
    )
    builtin: dict[str, BuiltinEntry] = {}
    privileges: dict[str, PrivilegeEntry]
    ladders: list[NameList] = Field(default=[], description="privileges from low to high; each implies those before it")
    tags: dict[str, TagEntry] = Field(
        default={}, description="the types of tags; a privilege that is granted on a tag holds for what has the tag"
    )
    in_effect: dict[str, str] = Field(default={}, description="by type: the condition for a privilege to be in effect")
    define: dict[str, str | dict[str, str]] = Field(default={}, description="named conditions, also by type")
    operations: dict[str, dict[str, ConditionField]] = Field(description="by type or types, by operation: a condition")
    aliases: dict[str, str] = Field(default={}, description="other names of operations")
    changes: Changes = Changes()

    @model_validator(mode="before")
    @classmethod
    def _without_format(cls, fields: Any) -> Any:
        """The fields without the number of the format of their facts, which this version must be able to read."""
        if not isinstance(fields, dict) or UPGRADE not in fields:
            return fields
        given = fields[UPGRADE]
        if type(given) is not int or not 1 <= given <= FACTS_FORMAT:
            raise InvalidPolicy(
                f"the facts have the format {short(str(given))}, and this version of grantpath reads up to "
                f"{FACTS_FORMAT}; {UPGRADE}"
            )
        return {key: value for key, value in fields.items() if key != UPGRADE}


def json_schema() -> dict[str, Any]:
    """The JSON schema of a policy file, for editors. A file that extends another can omit keys, and contain null."""
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
    """The file of a policy: a built-in one by name, any other by path (relative to `beside`). Raises UnknownName,
    InvalidPolicy."""
    built_in = {path.stem: path for path in BUILT_IN.glob("*.yaml")}
    if "/" not in name and not name.endswith((".yaml", ".yml")):
        if name in built_in:
            return built_in[name]
        names = ", ".join(sorted(built_in))
        raise UnknownName(
            f"the policy {short(repr(name))} is unknown{_nearest(name, built_in)}; name one of {names}, "
            f"or give the path of a file, e.g. ./{short(name)}.yaml"
        )
    path = (beside or Path.cwd()) / name
    try:
        found = path.is_file()
    except OSError:  # the name is too long, or symbolic links form a cycle
        found = False
    if not found:
        problem = "is not a file" if os.path.lexists(path) else "no such policy file"
        remedy = "check the path"
        if path.name in built_in:
            remedy += f"; the built-in policy of this name is shown by `grantpath policy show {path.name}`"
        raise InvalidPolicy(f"{short(str(path))}: {problem}; {remedy}")
    return path


def _nearest(name: str, known: Iterable[str]) -> str:
    close = get_close_matches(name[:MAX_NAME], list(known), n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def read(path: Path) -> tuple[PolicyFile, Document]:
    """A policy file merged with what it extends, and the document, which knows its lines. Raises InvalidPolicy."""
    document = _document(path, ())
    try:
        return PolicyFile.model_validate(document.data), document
    except InvalidPolicy as error:
        raise InvalidPolicy(f"{document.place((UPGRADE,))}: {error}") from None
    except ValidationError as error:
        # an unknown key is usually a misspelling of a missing one, so it comes first
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
    if base is None:
        return document
    if not isinstance(base, str):
        raise InvalidPolicy(
            f"{document.place(('extends',))}: extends: name one policy or file, e.g. extends: lakehouse"
        )
    try:
        base_path = find(base, path.parent)
    except (InvalidPolicy, UnknownName) as error:
        raise InvalidPolicy(f"{document.place(('extends',))}: extends: {error}") from None
    if base_path.resolve() in [each.resolve() for each in (*above, path)]:
        raise InvalidPolicy(f"{document.place(('extends',))}: {base} extends this policy in turn; break the cycle")
    merge(_document(base_path, (*above, path)), document)
    return document
