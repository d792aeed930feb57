"""The question that an error is about, as data."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from inspect import signature
from typing import Any

from pydantic import BaseModel

from grantpath.graph.errors import GrantpathError
from grantpath.graph.reference import MAX_REFERENCE_BYTES


def with_question(
    error: GrantpathError, verb: Callable[..., Any], given: Sequence[Any], named: Mapping[str, Any]
) -> GrantpathError:
    """The error, whose `question` is now the call of this method with these arguments, without its `self`."""
    _, *parameters = signature(verb).parameters
    arguments = {**dict(zip(parameters, given, strict=False)), **named}
    words = {name: _plain(_member(value, error.index)) for name, value in arguments.items()}
    error.question = {"verb": verb.__name__, **{name: word for name, word in words.items() if word is not None}}
    return error


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
        return value.isoformat()
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        return {_plain(str(key)): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return None
