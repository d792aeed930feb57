"""The errors that grantpath raises. Each message names the thing, the rule and the remedy.

GrantpathError
├── Invalid                 the input is malformed or breaks a rule of the policy, for every caller
│   ├── InvalidReference    a reference that cannot be parsed
│   ├── InvalidPolicy       a policy file that is malformed or contradicts itself
│   ├── InvalidInput        an argument, an option, a scenario or an import row that is not valid
│   ├── Unknown             an object, a subject or a root that does not exist
│   ├── UnknownName         a name that only a programmer writes, and that the policy does not define
│   └── Conflict            the state of the root already excludes the change, e.g. the name exists
├── Refused                 a change that the acting user may not make
├── Unavailable             the database cannot be reached, refuses the login, or was not free in time
├── Inconsistent            no answer from a single state of the graph was possible
├── PageExpired             a page of a list at a revision that has passed
└── ServerError             the embedded server cannot be installed, started or stopped
"""

from collections.abc import Callable
from typing import Any, NamedTuple


class Meaning(NamedTuple):
    """What a code means for a service: the text for end users, the HTTP status that fits, and whether the same call
    may succeed later.

    `public` names only what the caller named, and does not reveal whether that exists.
    """

    public: str
    status: int
    retryable: bool = False


# One text for "does not exist", "exists already", "breaks a rule" and "refused": an end user must not be able to tell
# which of them applies.
NOT_POSSIBLE = "this is not allowed or not possible"
CODES = {
    "error": Meaning("this could not be done", 500),
    "invalid": Meaning(NOT_POSSIBLE, 400),
    "invalid_reference": Meaning("a reference cannot be read", 400),
    "invalid_policy": Meaning("a policy cannot be used", 400),
    "invalid_input": Meaning("an input cannot be read", 400),
    "unknown": Meaning(NOT_POSSIBLE, 404),
    "root_unknown": Meaning("this root is not known here", 404),
    "root_dropped": Meaning("this root was dropped", 404),
    "unknown_name": Meaning("this could not be done", 500),
    "conflict": Meaning(NOT_POSSIBLE, 409),
    "id_taken": Meaning(NOT_POSSIBLE, 409),
    "root_moved": Meaning("the root was changed since this was planned", 409),
    "policy_differs": Meaning("this root uses another policy", 409),
    "refused": Meaning(NOT_POSSIBLE, 403),
    "actor_refused": Meaning(NOT_POSSIBLE, 403),
    "unavailable": Meaning("the service is not available; try again later", 503, True),
    "outcome_unknown": Meaning("it is not known whether this was done; try again with the same id", 503, True),
    "inconsistent": Meaning("there was no consistent answer; try again", 503, True),
    "write_under_way": Meaning("the root is being written; try again later", 503, True),
    "ends_due": Meaning("facts have ended, and are being removed; try again later", 503, True),
    "policy_changed": Meaning("the policy was changed; the service must open the root again", 503),
    "revision_ahead": Meaning("this revision has not been reached; try again", 503, True),
    "log_contradicted": Meaning("the history of this root cannot be read", 500),
    "page_expired": Meaning("the list has changed; read it again from its first page", 410),
    "server_error": Meaning("the embedded server failed", 503),
}


class GrantpathError(Exception):
    """The base class of all errors that grantpath raises on purpose.

    `index` is the position in the batch that the error is about, counted from 0. `question` is the call that failed, if
    a method of `Authorizer` failed: `verb` is the name of the method, the other keys are its arguments. `code` is a
    stable word for the error. The text is for operators: it may name roles, groups, DENYs and similar names, and reveal
    whether something exists. `public` is the text for end users. Several texts become one line each; a line break
    inside a text is part of a name.
    """

    code = "error"
    index: int | None = None
    question: dict[str, Any] | None = None

    def __init__(self, *texts: str, code: str | None = None) -> None:
        super().__init__(*texts)
        if code is not None:
            self.code = code

    def __str__(self) -> str:
        return "\n".join(self.lines)

    @property
    def public(self) -> str:
        """The text for end users: it names only what the caller named."""
        text = CODES[self.code].public
        return text if self.index is None else f"number {self.index}: {text}"

    @property
    def status(self) -> int:
        """The HTTP status that fits the error."""
        return CODES[self.code].status

    @property
    def retryable(self) -> bool:
        """Whether the same call, unchanged, may succeed later."""
        return CODES[self.code].retryable

    @property
    def lines(self) -> list[str]:
        """The texts, one per line."""
        return [str(text) for text in self.args]

    def as_dict(self) -> dict[str, Any]:
        """The error in the form of the JSON output: `error` (the text for operators), `code`, `public`, `retryable`,
        `index` and `question`."""
        told = {"code": self.code, "public": self.public, "retryable": self.retryable}
        return {"error": str(self), **told, "index": self.index, "question": self.question}

    def prefixed(self, prefix: str) -> "GrantpathError":
        """The same error with a text that begins with `prefix`."""
        return self.reworded(f"{prefix}{self}")

    def reworded(self, text: str) -> "GrantpathError":
        """The same error with another text."""
        return _restored(type(self), (text,), self.__dict__)

    def __reduce__(self) -> tuple[Callable[..., "GrantpathError"], tuple[Any, ...]]:
        return _restored, (type(self), tuple(self.lines), self.__dict__)


def _restored(kind: type[GrantpathError], texts: tuple[str, ...], attributes: dict[str, Any]) -> GrantpathError:
    """An error with these texts and attributes."""
    made = kind.__new__(kind, *texts)  # sets `args`, and runs no `__init__`, which differ from class to class
    made.__dict__.update(attributes)
    return made


class Invalid(GrantpathError):
    """The input is malformed or breaks a rule of the policy, for every caller."""

    code = "invalid"


class InvalidReference(Invalid):
    """A reference that cannot be parsed."""

    code = "invalid_reference"


class InvalidPolicy(Invalid):
    """A policy file that is malformed or contradicts itself."""

    code = "invalid_policy"


class InvalidInput(Invalid):
    """An argument, an option, a scenario or an import row that is not valid."""

    code = "invalid_input"


class Unknown(Invalid):
    """An object, a subject or a root that does not exist. `absent` is its reference, if it is an entity of a root."""

    code = "unknown"

    def __init__(self, text: str, remedy: str = "", absent: str | None = None, code: str | None = None) -> None:
        super().__init__(text + remedy, code=code)
        self.absent = absent
        self._text, self._remedy = text, remedy

    def suggest(self, hint: str) -> None:
        """Adds ` (did you mean X?)` to the text, after the name."""
        self._text += hint
        self.args = (self._text + self._remedy,)

    def prefixed(self, prefix: str) -> "GrantpathError":
        named = super().prefixed(prefix)
        assert isinstance(named, Unknown), "the copy has the class of the error"
        named._text = prefix + self._text
        return named


class UnknownName(Invalid):
    """A name in a call that only a programmer writes, and that the policy does not define: a type, a privilege, an
    operation on a type, a policy, or the key of a second object. Also a second object that the operation needs, and
    that was omitted. It is a fault of the program, not of its user."""

    code = "unknown_name"


class Conflict(Invalid):
    """The present state excludes what is asked: the name exists already, the id belongs to another change, or the root
    has changed since the change was planned."""

    code = "conflict"


class Refused(GrantpathError):
    """A change that the acting user may not make; the text says what is missing."""

    code = "refused"


class Unavailable(GrantpathError):
    """The database cannot be reached, refuses the login, or was not free in time.

    `unknown`: the connection was lost during a commit, and it is not known whether the change was made.
    """

    code = "unavailable"

    def __init__(self, text: str, unknown: bool = False) -> None:
        super().__init__(text, code="outcome_unknown" if unknown else None)
        self.unknown = unknown


class Inconsistent(GrantpathError):
    """No answer from a single committed state was possible; if `retryable`, ask again."""

    code = "inconsistent"


class PageExpired(GrantpathError):
    """A page of a list at a revision that has passed: read the list again from its first page."""

    code = "page_expired"


class ServerError(GrantpathError):
    """The embedded server cannot be installed, started or stopped."""

    code = "server_error"


class NotInMemory(Exception):
    """The database was asked where only the copy may be asked. No caller sees it: the question is asked again."""
