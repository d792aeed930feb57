"""An edit of a statement: what an operator finds, and what it puts there."""

from dataclasses import dataclass

from .tokens import Statement


@dataclass(frozen=True)
class Edit:
    """The tokens from `first` to `last` are what matched; in them, offsets `start` to `end` of the text get `new`."""

    first: int
    last: int
    start: int
    end: int
    new: str


def edit(of: Statement, first: int, last: int, new: str, around: tuple[int, int] | None = None) -> Edit:
    """Tokens `first` to `last` become `new`; `around`: the tokens to show."""
    return Edit(*(around or (first, last)), of.tokens[first].start, of.tokens[last].end, new)
