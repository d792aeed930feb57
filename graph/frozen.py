"""The base of the models for questions and answers."""

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A model that cannot be changed. It accepts neither other keys nor values of other types."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
