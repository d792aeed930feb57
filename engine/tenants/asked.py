"""The question that an error is about, as data."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from inspect import signature
from typing import Any

from pydantic import BaseModel

from grantpath.engine.policy.policy import Policy
from grantpath.engine.policy.statement_rules import canonical_reference, canonical_statement
from grantpath.graph.errors import GrantpathError
from grantpath.graph.language.reference import MAX_REFERENCE_BYTES, Reference
from grantpath.graph.language.statement import Check
from grantpath.graph.messages import time_text

# The parameters of the methods of an authorizer that are references, statements or mappings to references.
REFERENCES = frozenset(
    [
        *("actor", "after", "as_role", "by", "container", "member", "object", "objects", "on", "owned_by", "ref"),
        "subject",
        *("to", "under"),
    ]
)
STATEMENTS = frozenset(["after", "statement", "statements"])


def with_question(
    error: GrantpathError,
    verb: Callable[..., Any],
    given: Sequence[Any],
    named: Mapping[str, Any],
    policy: Policy,
    root: Reference,
) -> GrantpathError:
    """The error, whose `question` is now the call of this method with these arguments, without its `self`.

    References are canonical if they are valid under the policy.
    """
    _, *parameters = signature(verb).parameters
    arguments = {**dict(zip(parameters, given, strict=False)), **named}
    spelling = _Spelling(policy, root)
    words = {name: _plain(spelling.of(name, _member(value, error.index))) for name, value in arguments.items()}
    error.question = {"verb": verb.__name__, **{name: word for name, word in words.items() if word is not None}}
    return error


@dataclass(frozen=True)
class _Spelling:
    """Writes the arguments of a question with canonical references."""

    policy: Policy
    root: Reference

    def of(self, name: str, value: Any) -> Any:
        """The value of a parameter."""
        if isinstance(value, str):
            if name in REFERENCES:
                value = canonical_reference(self.policy, self.root, value)
            return canonical_statement(self.policy, self.root, value) if name in STATEMENTS else value
        if name == "with_" and isinstance(value, Mapping):
            return {key: self.of("object", ref) for key, ref in value.items()}
        if name == "checks" and isinstance(value, Check):
            return value.model_copy(
                update={key: self.of(key, getattr(value, key)) for key in ("subject", "object", "as_role", "with_")}
            )
        if name == "checks" and isinstance(value, list | tuple) and len(value) == 3:
            subject, asked, object_ = value
            return [self.of("subject", subject), asked, self.of("object", object_)]
        return value


def _member(value: Any, index: int | None) -> Any:
    """The item of a batch that an error is about, None if it is about the whole batch; other values as they are."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        return value
    return None if index is None or index >= len(value) else value[index]


def _plain(value: Any) -> Any:
    """A value as JSON has it, None if there is no form for it. Long texts are cut."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace")[:MAX_REFERENCE_BYTES].decode("utf-8", "ignore")
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, datetime):
        return time_text(value)
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        return {_plain(str(key)): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return None
