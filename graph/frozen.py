"""The base of the models for questions and answers."""

from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict

Model = TypeVar("Model", bound=BaseModel)
_set = object.__setattr__  # models are frozen


class Frozen(BaseModel):
    """A model that cannot be changed. It accepts neither other keys nor values of other types."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    def __hash__(self) -> int:
        """Equal models have the same hash. Fields can be lists and dictionaries, which pydantic's own hash refuses."""
        return hash((type(self), *(_hashable(getattr(self, name)) for name in type(self).model_fields)))


def _hashable(value: Any) -> Any:
    if isinstance(value, dict):
        return frozenset((key, _hashable(each)) for key, each in value.items())
    return tuple(map(_hashable, value)) if isinstance(value, list | tuple) else value


def unchecked(model: type[Model], values: dict[str, Any]) -> Model:
    """A model of values that are known to be valid; all fields count as set.

    A batch of checks makes thousands of them, and validation or `model_construct` takes several times as long.
    """
    made = model.__new__(model)
    _set(made, "__dict__", values)
    _set(made, "__pydantic_fields_set__", _fields(model))
    _set(made, "__pydantic_extra__", None)
    _set(made, "__pydantic_private__", None)
    return made


@cache
def _fields(model: type[BaseModel]) -> set[str]:
    return {*model.model_fields}
