"""The part of an open root that the questions of this package need, and the pages in which they are answered."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from pydantic import ValidationError

from grantpath.engine.answers.listing import Page
from grantpath.engine.policy.policy import Policy
from grantpath.graph.errors import Invalid, InvalidInput
from grantpath.graph.language.inputs import require_page_limit
from grantpath.graph.language.reference import Reference
from grantpath.graph.messages import short

MOST = 10_000  # entries of one page
USUAL = 1_000
Result = TypeVar("Result")
Question = TypeVar("Question")


class Ask(Protocol):
    """Runs a guarded query of cypher/ and returns its one row."""

    def __call__(self, query: str, *, at_least: int | None = None, **parameters: Any) -> Mapping[str, Any]: ...


class RootView(Protocol):
    """An open root, whose questions are answered one by one or all at one revision."""

    tenant: str
    policy: Policy
    root: Reference

    def ask(self, query: str, *, at_least: int | None = None, **parameters: Any) -> Mapping[str, Any]: ...

    def at_one_revision(self, work: Callable[[Ask], Result]) -> Result: ...

    def require_existing(self, needed: Iterable[str], known: Collection[str]) -> None: ...


@dataclass(frozen=True)
class PageRequest(Page):
    """A page of a list that is always read page by page: its limit is from 1 to MOST. Raises InvalidInput."""

    limit: int = USUAL
    after: str | None = None
    at: int | None = None
    least: int | None = None

    def __post_init__(self) -> None:
        require_page_limit(self.limit, MOST, "read a longer list in pages")
        super().__post_init__()


def require_question(make: Callable[..., Question], **words: Any) -> Question:
    """The question of these words. Raises InvalidInput, which names the word, if one of them has another type or value
    than the question allows."""
    try:
        return make(**words)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        match first["type"]:
            case "bool_type":
                rule = "must be True or False"
            case "literal_error":
                rule = f"must be {first['ctx']['expected']}; omit it if both are meant"
            case _:
                rule = "must be a string" if len(first["loc"]) == 1 else "must have strings as keys and values"
        raise InvalidInput(f"{name}={short(repr(words[name]))} {rule}") from None


def subject_of(view: RootView, text: str) -> Reference:
    """The reference of a user, service principal, group or role. Raises Unknown, InvalidReference, Invalid."""
    ref = view.policy.reference(text, view.root)
    if ref.type not in view.policy.names.subject_types:
        raise Invalid(f"{ref} is not a subject; name a {' or '.join(view.policy.names.subject_types)}")
    return ref
