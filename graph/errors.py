"""The errors grantpath raises: one tree, each text names the thing, the rule and the remedy.

GrantpathError
├── Invalid                 the words are wrong or against the policy's rules, whoever asks
│   ├── InvalidReference    a reference that cannot be parsed
│   ├── InvalidPolicy       a policy file that says something impossible
│   ├── InvalidInput        a scenario, an import row or an option that cannot be read
│   └── Unknown             a name, type, object or root that is not there
├── Refused                 a change that the acting user may not make
├── Unavailable             the database cannot be reached, or refuses the login
├── Inconsistent            no answer from one state of the graph could be had
└── ServerError             the embedded server cannot be installed, started or stopped
"""


class GrantpathError(Exception):
    """Anything grantpath raises on purpose. `index`: which one of a batch it is about, counted from 0.

    Where it was given several texts, each is a line: one inside a text belongs to a name.
    """

    index: int | None = None

    def __str__(self) -> str:
        return "\n".join(map(str, self.args))


class Invalid(GrantpathError):
    """Malformed, or against the policy's rules, whoever asks."""


class InvalidReference(Invalid):
    """A reference that cannot be parsed."""


class InvalidPolicy(Invalid):
    """A policy file that says something impossible."""


class InvalidInput(Invalid):
    """A scenario, an import row or an option that cannot be read."""


class Unknown(Invalid):
    """A name, type, object or root that is not there."""


class Refused(GrantpathError):
    """A change that the acting user may not make; `reason` says what is missing."""


class Unavailable(GrantpathError):
    """The database cannot be reached, or refuses the login.

    `unknown`: it went while a change was being committed, and whether that was done is not known.
    """

    def __init__(self, text: str, unknown: bool = False) -> None:
        super().__init__(text)
        self.unknown = unknown


class Inconsistent(GrantpathError):
    """No answer from one committed state could be had; ask again."""


class ServerError(GrantpathError):
    """The embedded server cannot be installed, started or stopped."""
