"""What a benchmark asks of every system: load the facts of an estate, answer questions, change a grant."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import ClassVar, NamedTuple, Self

TABLES = ("SELECT_TABLE", "MODIFY_TABLE")  # the privileges on tables that are asked about


class Question(NamedTuple):
    """May this user use this privilege on this object?"""

    user: str
    privilege: str
    object: str


class Grant(NamedTuple):
    """One row of an estate's grants; `effect` is allow or deny."""

    effect: str
    privilege: str
    object: str
    subject: str


@dataclass(frozen=True)
class Facts:
    """An estate without its owners: references (type:name) and pairs of them.

    `above` maps each catalog, schema and table to its parent. `members` has pairs (member, group or role). `directory`
    has the same facts as Parquet files.
    """

    directory: Path
    root: str
    subjects: Sequence[str]
    above: dict[str, str]
    members: Sequence[tuple[str, str]]
    grants: Sequence[Grant]

    def users(self) -> list[str]:
        return [each for each in self.subjects if each.startswith("user:")]

    def tables(self) -> list[str]:
        return [each for each in self.above if each.startswith("table:")]

    def path(self, object_: str) -> list[str]:
        """The object and all places above it, up to the root."""
        path = [object_]
        while path[-1] in self.above:
            path.append(self.above[path[-1]])
        return path


class NotInstalled(Exception):
    """This system cannot run here. The text is the reason, in one line."""


class Peer(ABC):
    """One system in one configuration. A user has a privilege if an allow on the path counts for it and no deny
    does."""

    name: ClassVar[str]
    set_up: ClassVar[str]  # how it is configured, in one or two sentences
    distribution: ClassVar[str | None] = None  # the Python package that has its version

    def version(self) -> str:
        """The version of the system; empty if the name contains it."""
        return (self.distribution and find_distribution(self.distribution)) or ""

    def install(self) -> None:
        """Makes the system available, by building it if necessary. Raises NotInstalled."""
        if self.distribution and not find_distribution(self.distribution):
            raise NotInstalled(f"the Python package {self.distribution} is not installed")

    @abstractmethod
    def load(self, facts: Facts) -> None:
        """Loads all facts. The load time is measured from the empty system to the first answer."""

    @abstractmethod
    def check(self, question: Question) -> bool: ...

    @abstractmethod
    def check_many(self, questions: Sequence[Question]) -> list[bool]: ...

    @abstractmethod
    def list_objects(self, user: str, privilege: str) -> Iterable[str]:
        """All tables on which the user has the privilege."""

    @abstractmethod
    def list_users(self, privilege: str, table: str) -> Iterable[str]:
        """All users that have the privilege on the table."""

    @abstractmethod
    def change(self, grant: Grant, added: bool) -> None:
        """Adds or removes a grant. Every answer after this call must include the change."""

    def close(self) -> None:  # noqa: B027 most have nothing to close
        """Ends the processes that were started."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def find_distribution(name: str) -> str | None:
    """The version of a Python package, None if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None
