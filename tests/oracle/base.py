"""The common part of all oracles: the rows of a sheet, checks, and lists by brute force."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, ClassVar, Generic, TypeVar

from .changes import Change, Changes
from .errors import OracleError
from .notation import Malformed, Ref

__all__ = ["Change", "Operation", "Oracle", "Question", "on"]

Case = TypeVar("Case")


@dataclass(frozen=True)
class Operation(Generic[Case]):
    """One row of a sheet's operations table; `with_` must be named, `optional` may be."""

    on: tuple[str, ...]
    condition: Callable[[Case], bool]
    with_: dict[str, str] = field(default_factory=dict)
    optional: dict[str, str] = field(default_factory=dict)
    same: str = ""  # a type: the second objects must be in the same object of this type as the object


def on(
    types: str, condition: Callable[[Case], bool], optional: dict[str, str] | None = None, **with_: str
) -> Operation[Case]:
    """A row whose types are written in one string."""
    return Operation(tuple(types.split()), condition, with_, optional or {})


@dataclass(frozen=True)
class Question:
    """A check with resolved references."""

    subject: Ref
    name: str
    object: Ref
    second: dict[str, Ref]
    as_role: Ref | None


class Oracle(Changes):
    """The facts of one tenant, and the answers of one policy about them."""

    askers: ClassVar[tuple[str, ...]] = ("user",)  # types that can be the subject of a check
    operations: ClassVar[dict[str, Operation[Any]]]
    aliases: ClassVar[dict[str, str]] = {}  # another name of an operation -> its name

    def __init__(self, root_name: str) -> None:
        super().__init__(root_name)
        self.askable = {type_: self._askable_on(type_) for type_ in self.types}

    def decide(self, question: Question) -> bool:
        """The answer to a resolved check whose subject exists."""
        raise NotImplementedError

    def checkable_on(self, privilege: str) -> tuple[str, ...]:
        """The types on which a privilege can be checked without an error."""
        raise NotImplementedError

    def listed_on(self, privilege: str) -> tuple[str, ...]:
        """The types on which tests should check it; by default, all types without an error."""
        return self.checkable_on(privilege)

    def may_be_absent(self, name: str) -> bool:
        """Whether this privilege or operation can be checked on an object that does not exist."""
        return False

    def check(
        self,
        subject: str,
        name: str,
        obj: str,
        with_: dict[str, str] | None = None,
        as_role: str | None = None,
    ) -> bool:
        """Whether the subject is allowed; raises OracleError if the question itself is an error."""
        try:
            question = self._read_question(subject, name, obj, with_ or {}, as_role)
        except Malformed as problem:
            raise OracleError(str(problem)) from problem
        return question.subject in self.existing and self.decide(question)

    def who(self, name: str, obj: str, with_: dict[str, str] | None = None, as_role: str | None = None) -> set[str]:
        """Every user (and service principal) for which the check says yes."""
        # the question must be valid even if there are no users
        self.check(f"{self.people[0]}:nobody", name, obj, with_, as_role)
        everybody = [str(each) for each in self.existing if each.type in self.people]
        return {each for each in everybody if self.check(each, name, obj, with_, as_role)}

    def which(
        self,
        type_: str,
        subject: str,
        name: str,
        with_: dict[str, str] | None = None,
        as_role: str | None = None,
    ) -> set[str]:
        """Every existing object of that type (`any`: of each type with this question) for which the check says yes."""
        asked = {
            each for each in self.types if (name, set(with_ or {})) in [(n, set(k)) for n, k in self.askable[each]]
        }
        if type_ == "any" and asked:
            return set[str]().union(*(self.which(each, subject, name, with_, as_role) for each in asked))
        if type_ not in self.types:
            raise OracleError(f"{self.policy} has no type {type_}")
        if type_ not in asked:
            raise OracleError(f"{name} is not asked on a {type_}, or not with these second objects")
        row = self.operations.get(self.aliases.get(name, name))
        places = (
            {self.above(self.resolve(ref), row.same) for ref in (with_ or {}).values()} if row and row.same else set()
        )
        return {
            each
            for each in self.objects(type_)
            if all(place in self.upward(self.resolve(each)) for place in places)
            and self.check(subject, name, each, with_, as_role)
        }

    def _read_question(self, subject: str, name: str, obj: str, with_: dict[str, str], as_role: str | None) -> Question:
        asker = self.resolve(subject)
        if asker.type not in self.askers:
            raise OracleError(f"{asker}: checks are about {' and '.join(self.askers)}")
        target = self.resolve(obj)
        if self.hidden(target) or (target not in self.existing and not self.may_be_absent(name)):
            raise OracleError(f"{target} does not exist")
        second = {key: self.resolve(ref) for key, ref in with_.items()}
        types = {key: ref.type for key, ref in second.items()}
        if (name, types) not in self.askable[target.type]:
            raise OracleError(f"{name} with {types} is not asked on a {target.type}")
        row = self.operations.get(self.aliases.get(name, name))
        for key, ref in second.items():
            if row is not None and row.same and self.above(ref, row.same) != self.above(target, row.same):
                raise OracleError(f"{ref} is in another {row.same} than {target}")
            if (ref not in self.existing and key not in self.any_name) or self.hidden(ref):
                raise OracleError(f"{ref} does not exist")
        role = None if as_role is None else self.resolve(as_role)
        if role is not None and (not self.active_roles or role.type != "role" or role not in self.existing):
            raise OracleError(f"as {role}: no active roles here, or no such role")
        return Question(asker, self.aliases.get(name, name), target, second, role)

    def _askable_on(self, type_: str) -> list[tuple[str, dict[str, str]]]:
        """Every name that can be checked on a type without an error, with its second objects."""
        return [*self._privileges_on(type_, self.checkable_on), *self._operations_on(type_)]

    def names_on(self, type_: str) -> list[tuple[str, dict[str, str]]]:
        """Every name that tests should check on a type, with each choice of its second objects."""
        return [*self._privileges_on(type_, self.listed_on), *self._operations_on(type_)]

    def _privileges_on(
        self, type_: str, types_of: Callable[[str], tuple[str, ...]]
    ) -> Iterator[tuple[str, dict[str, str]]]:
        for name in self.privileges:
            if type_ in types_of(name):
                yield name, {}

    def _operations_on(self, type_: str) -> Iterator[tuple[str, dict[str, str]]]:
        for name in [*self.operations, *self.aliases]:
            row = self.operations[self.aliases.get(name, name)]
            if type_ not in row.on:
                continue
            for count in range(len(row.optional) + 1):
                for keys in combinations(row.optional.items(), count):
                    yield name, {**row.with_, **dict(keys)}
