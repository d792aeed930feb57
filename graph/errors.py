"""The errors that grantpath raises. Each message names the thing, the rule and the remedy.

GrantpathError
├── Invalid                 the input is malformed or breaks a rule of the policy, for every caller
│   ├── InvalidReference    a reference that cannot be parsed
│   ├── InvalidPolicy       a policy file that is malformed or contradicts itself
│   ├── InvalidInput        an argument, an option, a scenario or an import row that is not valid
│   └── Unknown             a name, type, object or root that does not exist
├── Refused                 a change that the acting user may not make
├── Unavailable             the database cannot be reached, refuses the login, or was not free in time
├── Inconsistent            no answer from a single state of the graph was possible
└── ServerError             the embedded server cannot be installed, started or stopped
"""

from collections.abc import Callable
from typing import Any

# One text for "does not exist", "exists already", "breaks a rule" and "refused": an end user must not be able to tell
# which of them applies.
NOT_POSSIBLE = "this is not allowed or not possible"
# The text for end users, by code: it names only what the caller named, and does not reveal whether that exists.
PUBLIC = {
    "error": "this could not be done",
    "invalid": NOT_POSSIBLE,
    "invalid_reference": "a reference cannot be read",
    "invalid_policy": "a policy cannot be used",
    "invalid_input": "an input cannot be read",
    "unknown": NOT_POSSIBLE,
    "root_unknown": "this root is not known here",
    "root_dropped": "this root was dropped",
    "id_taken": NOT_POSSIBLE,
    "policy_differs": "this root uses another policy",
    "refused": NOT_POSSIBLE,
    "actor_refused": NOT_POSSIBLE,
    "unavailable": "the service is not available; try again later",
    "outcome_unknown": "it is not known whether this was done; try again with the same id",
    "inconsistent": "there was no consistent answer; try again",
    "write_under_way": "the root is being written; try again later",
    "policy_changed": "the policy was changed; try again",
    "revision_ahead": "this revision has not been reached; try again",
    "server_error": "the embedded server failed",
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
        return "\n".join(map(str, self.args))

    @property
    def public(self) -> str:
        """The text for end users: it names only what the caller named."""
        text = PUBLIC[self.code]
        return text if self.index is None else f"number {self.index}: {text}"

    @property
    def lines(self) -> list[str]:
        """The texts, one per line."""
        return [str(text) for text in self.args]

    def as_dict(self) -> dict[str, Any]:
        """The error in the form of the JSON output: `error` (the text for operators), `code`, `public`, `index` and
        `question`."""
        text = "\n".join(self.lines)
        fixed = {"code": self.code, "public": self.public, "index": self.index, "question": self.question}
        return {"error": text, **fixed}

    def prefixed(self, prefix: str) -> "GrantpathError":
        """The same error with a text that begins with `prefix`."""
        return type(self)(f"{prefix}{self}")


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
    """A name, type, object or root that does not exist.

    `absent` is the reference of the object, if the error is about one. Similar names are looked up when `hint` or the
    text is read, since that costs more than the question itself.
    """

    code = "unknown"

    def __init__(self, text: str, remedy: str = "", absent: str | None = None, code: str | None = None) -> None:
        super().__init__(text + remedy, code=code)
        self.absent = absent
        self.look: Callable[[], str] | None = None
        self._text, self._remedy = text, remedy

    @property
    def hint(self) -> str:
        """` (did you mean X?)`, or an empty string."""
        return self.look() if self.look else ""

    def look_now(self) -> None:
        """Looks up similar names now, so that reading the text later does not need the connection."""
        hint = self.hint
        self.look = lambda: hint

    def __str__(self) -> str:
        return f"{self._text}{self.hint}{self._remedy}"

    @property
    def lines(self) -> list[str]:
        return [str(self)]

    def prefixed(self, prefix: str) -> "Unknown":
        named = Unknown(prefix + self._text, self._remedy, self.absent)
        named.look = self.look
        return named

    def __reduce__(self) -> tuple[type["Unknown"], tuple[str], dict[str, object]]:
        return Unknown, (str(self),), {"code": self.code, "index": self.index}


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
    """No answer from a single committed state was possible; ask again."""

    code = "inconsistent"


class ServerError(GrantpathError):
    """The embedded server cannot be installed, started or stopped."""

    code = "server_error"
