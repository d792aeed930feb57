"""An edit of a statement: the match of an operator, and its replacement."""

from dataclasses import dataclass

from .tokens import Statement


@dataclass(frozen=True)
class Edit:
    """The tokens from `first` to `last` matched; offsets `start` to `end` of the text are replaced by `new`."""

    first: int
    last: int
    start: int
    end: int
    new: str


def edit(of: Statement, first: int, last: int, new: str, around: tuple[int, int] | None = None) -> Edit:
    """Replaces tokens `first` to `last` by `new`; `around`: the tokens to show."""
    return Edit(*(around or (first, last)), of.tokens[first].start, of.tokens[last].end, new)
