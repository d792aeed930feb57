"""What all policies share in the oracle: the facts as sets, the changes to them, checks and naive questions."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, ClassVar, Generic, Self, TypeVar

from .errors import InvalidChange, OracleError
from .notation import Malformed, Ref, read_reference, read_statement

Case = TypeVar("Case")
Grant = tuple[str, str, Ref, Ref]  # effect, privilege, object, subject


@dataclass(frozen=True)
class Operation(Generic[Case]):
    """One row of a sheet's operations table; `with_` must be named, `optional` may be."""

    on: tuple[str, ...]
    condition: Callable[[Case], bool]
    with_: dict[str, str] = field(default_factory=dict)
    optional: dict[str, str] = field(default_factory=dict)


def on(
    types: str, condition: Callable[[Case], bool], optional: dict[str, str] | None = None, **with_: str
) -> Operation[Case]:
    """A row, its types written in one string."""
    return Operation(tuple(types.split()), condition, with_, optional or {})


@dataclass(frozen=True)
class Change:
    """A statement with its references resolved. For `member` and `remove` the object is the container."""

    verb: str
    object: Ref
    subject: Ref
    effect: str
    privilege: str
    second: dict[str, Ref]


@dataclass(frozen=True)
class Question:
    """A check with everything in it resolved."""

    subject: Ref
    name: str
    object: Ref
    second: dict[str, Ref]
    as_role: Ref | None


NOBODY = Ref("", ())


class Oracle:
    """One tenant's facts, and the answers of one policy about them."""

    policy: ClassVar[str]
    root_type: ClassVar[str]
    types: ClassVar[dict[str, str | None]]  # type -> the type of its parent
    askers: ClassVar[tuple[str, ...]] = ("user",)  # types that may stand as the subject of a check
    people: ClassVar[tuple[str, ...]] = ("user",)  # types that `who` answers
    memberships: ClassVar[set[tuple[str, str]]]  # (type of the member, type of the container)
    grantees: ClassVar[tuple[str, ...]]
    owner_types: ClassVar[tuple[str, ...]] = ()
    ownable: ClassVar[tuple[str, ...]] = ()
    denies: ClassVar[bool] = False
    active_roles: ClassVar[bool] = False
    grants_before_creation: ClassVar[bool] = False
    droppable_root: ClassVar[bool] = False
    privileges: ClassVar[dict[str, tuple[str, ...]]]  # name -> types it can be granted on
    operations: ClassVar[dict[str, Operation[Any]]]
    aliases: ClassVar[dict[str, str]] = {}  # another name of an operation -> its name
    adding_with: ClassVar[dict[str, dict[str, str]]] = {}  # type -> second objects an `add` of it may name

    def __init__(self, root_name: str) -> None:
        self.root = Ref(self.root_type, (root_name,))
        self.existing: set[Ref] = {self.root}
        self.only_mentioned: set[Ref] = set()
        self.containers: dict[Ref, set[Ref]] = {}  # member -> what it was put into or holds
        self.owners: dict[Ref, Ref] = {}
        self.grants: set[Grant] = set()
        self.askable = {type_: self._askable_on(type_) for type_ in self.types}

    # What each policy decides for itself

    def decide(self, question: Question) -> bool:
        """The answer to a resolved check whose subject exists."""
        raise NotImplementedError

    def authorized(self, change: Change, actor: Ref, as_role: Ref | None) -> bool:
        """Whether the actor, who exists, may make this valid change."""
        raise NotImplementedError

    def created(self, change: Change, actor: Ref, as_role: Ref | None) -> None:
        """What an actor gets by an `add`; called before the new object exists."""

    def extra_rules(self, change: Change, given: bool, actor: Ref | None) -> None:
        """Rules beyond the common ones; raises InvalidChange."""

    def checkable_on(self, privilege: str) -> tuple[str, ...]:
        """The types on which an UPPER_CASE check may be asked without being an error."""
        raise NotImplementedError

    def listed_on(self, privilege: str) -> tuple[str, ...]:
        """The types on which tests should ask it: by default those on which it may be asked."""
        return self.checkable_on(privilege)

    def same_privilege(self, name: str) -> str:
        """The one name under which a privilege with several names is kept."""
        return name

    def hidden(self, ref: Ref) -> bool:
        """Whether it appears in no list and no answer."""
        return False

    def may_be_absent(self, name: str) -> bool:
        """Whether this privilege or operation may be asked on an object that does not exist."""
        return False

    # Facts and the tree

    def given(self, statement: str) -> str:
        """A fact: 'done' or 'invalid'; users and groups it mentions are added."""
        return self._change(statement, given=True, by=None, as_role=None)

    def do(self, statement: str, by: str | None = None, as_role: str | None = None) -> str:
        """A change, of an actor or without: 'done', 'refused' or 'invalid'."""
        return self._change(statement, given=False, by=by, as_role=as_role)

    def clone(self) -> Self:
        """A copy whose changes do not reach this one."""
        other = copy.copy(self)
        other.existing = set(self.existing)
        other.only_mentioned = set(self.only_mentioned)
        other.containers = {member: set(those) for member, those in self.containers.items()}
        other.owners = dict(self.owners)
        other.grants = set(self.grants)
        return other

    def objects(self, type_: str | None = None) -> list[str]:
        """Everything that exists in the tree, subjects that are objects included, as sorted references."""
        return sorted(str(r) for r in self.existing if type_ in (None, r.type) and not self.hidden(r))

    def subjects(self) -> list[str]:
        """All users, groups, roles and service principals, as sorted references."""
        kinds = {"user", "group", "role", "service_principal"}
        return sorted(str(r) for r in self.existing if r.type in kinds and not self.hidden(r))

    def depth(self, type_: str) -> int:
        """How many segments a reference of this type has."""
        parent = self.types[type_]
        return 1 if parent is None or parent == self.root_type else self.depth(parent) + 1

    def parent(self, ref: Ref) -> Ref | None:
        """The object it is in; the root has none."""
        type_ = self.types[ref.type]
        if type_ is None:
            return None
        return self.root if type_ == self.root_type else Ref(type_, ref.segments[:-1])

    def upward(self, ref: Ref) -> list[Ref]:
        """The object itself, its parent and so on up to the root."""
        path = [ref]
        while (above := self.parent(path[-1])) is not None:
            path.append(above)
        return path

    def above(self, ref: Ref, type_: str) -> Ref:
        """The one of that type on the way from the object to the root."""
        return next(place for place in self.upward(ref) if place.type == type_)

    def existing_inside(self, ref: Ref) -> set[Ref]:
        """Everything that exists below it."""
        return {each for each in self.existing if ref in self.upward(each)[1:]}

    def reach(self, subject: Ref) -> set[Ref]:
        """The subject, what it is a member of, what those are members of, and so on."""
        found = {subject}
        waiting = [subject]
        while waiting:
            for container in self.containers.get(waiting.pop(), ()):
                if container not in found:
                    found.add(container)
                    waiting.append(container)
        return found

    def is_member(self, member: Ref, container: Ref) -> bool:
        """Whether exactly this membership was stated."""
        return container in self.containers.get(member, ())

    def resolve(self, text: str) -> Ref:
        """A written reference to one of a type of this policy, existing or not; raises Malformed."""
        ref = read_reference(text)
        if ref.type not in self.types:
            raise Malformed(f"{self.policy} has no type {ref.type}")
        if len(ref.segments) != self.depth(ref.type):
            raise Malformed(f"{ref}: a {ref.type} has {self.depth(ref.type)} segments")
        if ref.type == self.root_type and ref != self.root:
            raise Malformed(f"{ref} is not this tenant's root")
        return ref

    # Changes

    def _change(self, text: str, given: bool, by: str | None, as_role: str | None) -> str:
        new: set[Ref] = set()
        try:
            change = self._read_change(text)
            actor = None if by is None else self.resolve(by)
            role = None if as_role is None else self.resolve(as_role)
            if as_role is not None and not self.active_roles:
                raise InvalidChange(f"{self.policy} has no active roles")
            if given and change.verb not in ("add", "drop"):
                new = {r for r in (change.subject, change.object) if r.type in ("user", "group")}
                new -= self.existing
            self.existing |= new
            self._validate(change, given)
            self.extra_rules(change, given, actor)
        except (Malformed, InvalidChange):
            self.existing -= new
            return "invalid"
        self.only_mentioned |= new
        if actor is not None:
            if actor not in self.existing or actor.type not in self.people:
                return "refused"
            if not self.authorized(change, actor, role):
                return "refused"
            if change.verb == "add":
                self.created(change, actor, role)
        self._apply(change)
        return "done"

    def _read_change(self, text: str) -> Change:
        statement = read_statement(text)
        subject = self.resolve(statement.subject) if statement.subject else NOBODY
        second = {key: self.resolve(ref) for key, ref in statement.with_.items()}
        privilege = self.same_privilege(statement.privilege)
        object_ = self.resolve(statement.object)
        return Change(statement.verb, object_, subject, statement.effect, privilege, second)

    def _validate(self, change: Change, given: bool) -> None:
        if change.verb == "add":
            self._validate_add(change, given)
            return
        absent_allowed = self.grants_before_creation and change.verb in ("grant", "revoke")
        if change.object not in self.existing and not absent_allowed:
            raise InvalidChange(f"{change.object} does not exist")
        if change.verb == "drop":
            if change.object == self.root and not self.droppable_root:
                raise InvalidChange("the root cannot be dropped")
            return
        if change.subject not in self.existing:
            raise InvalidChange(f"{change.subject} does not exist")
        if change.verb in ("member", "remove"):
            self._validate_membership(change)
        elif change.verb == "owner":
            if change.subject.type not in self.owner_types or change.object.type not in self.ownable:
                raise InvalidChange(f"{change.subject} cannot own {change.object}")
        else:
            self._validate_grant(change)

    def _validate_add(self, change: Change, given: bool) -> None:
        above = self.parent(change.object)
        if above is None:
            raise InvalidChange("a tenant has one root")
        if change.object in self.existing and not (given and change.object in self.only_mentioned):
            raise InvalidChange(f"{change.object} exists")
        if above not in self.existing:
            raise InvalidChange(f"{above} does not exist")
        for key, ref in change.second.items():
            if self.adding_with.get(change.object.type, {}).get(key) != ref.type or ref not in self.existing:
                raise InvalidChange(f"{key}={ref} cannot be named here")

    def _validate_membership(self, change: Change) -> None:
        if (change.subject.type, change.object.type) not in self.memberships:
            raise InvalidChange(f"{change.subject} cannot be a member of {change.object}")
        if change.verb == "member" and change.subject in self.reach(change.object):
            raise InvalidChange(f"{change.subject} in {change.object} would be a cycle")

    def _validate_grant(self, change: Change) -> None:
        if change.effect == "deny" and not self.denies:
            raise InvalidChange(f"{self.policy} has no deny")
        if change.privilege not in self.privileges:
            raise InvalidChange(f"{change.privilege} is not a privilege")
        if change.object.type not in self.privileges[change.privilege]:
            raise InvalidChange(f"{change.privilege} cannot be granted on a {change.object.type}")
        if change.subject.type not in self.grantees:
            raise InvalidChange(f"nothing is granted to a {change.subject.type}")

    def _apply(self, change: Change) -> None:
        if change.verb == "add":
            self.existing.add(change.object)
            self.only_mentioned.discard(change.object)
        elif change.verb == "drop":
            self._drop(change.object)
        elif change.verb == "member":
            self.containers.setdefault(change.subject, set()).add(change.object)
        elif change.verb == "remove":
            self.containers.get(change.subject, set()).discard(change.object)
        elif change.verb == "owner":
            self.owners[change.object] = change.subject
        else:
            grant = (change.effect, change.privilege, change.object, change.subject)
            if change.verb == "grant":
                self.grants.add(grant)
            else:
                self.grants.discard(grant)

    def _drop(self, top: Ref) -> None:
        gone = {top} | self.existing_inside(top)
        self.existing -= gone
        self.only_mentioned -= gone
        self.containers = {member: those - gone for member, those in self.containers.items() if member not in gone}
        self.owners = {o: w for o, w in self.owners.items() if o not in gone and w not in gone}
        # a grant may also stand on a name below that was never created
        self.grants = {
            (effect, privilege, on_, to)
            for effect, privilege, on_, to in self.grants
            if top not in self.upward(on_) and to not in gone
        }

    # Checks and questions

    def check(
        self,
        subject: str,
        name: str,
        obj: str,
        with_: dict[str, str] | None = None,
        as_role: str | None = None,
    ) -> bool:
        """Whether the subject may; raises OracleError where the question itself is an error."""
        try:
            question = self._read_question(subject, name, obj, with_ or {}, as_role)
        except Malformed as problem:
            raise OracleError(str(problem)) from problem
        return question.subject in self.existing and self.decide(question)

    def who(self, name: str, obj: str, with_: dict[str, str] | None = None, as_role: str | None = None) -> set[str]:
        """Every user (and service principal) for which the check says yes."""
        # a question about nobody at all must still be a proper one
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
        """Every existing object of that type for which the check says yes."""
        if type_ not in self.types:
            raise OracleError(f"{self.policy} has no type {type_}")
        if (name, set(with_ or {})) not in [(n, set(keys)) for n, keys in self.askable[type_]]:
            raise OracleError(f"{name} is not asked on a {type_}, or not with these second objects")
        return {each for each in self.objects(type_) if self.check(subject, name, each, with_, as_role)}

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
        for ref in second.values():
            if ref not in self.existing or self.hidden(ref):
                raise OracleError(f"{ref} does not exist")
        role = None if as_role is None else self.resolve(as_role)
        if role is not None and (not self.active_roles or role.type != "role" or role not in self.existing):
            raise OracleError(f"as {role}: no active roles here, or no such role")
        return Question(asker, self.aliases.get(name, name), target, second, role)

    def _askable_on(self, type_: str) -> list[tuple[str, dict[str, str]]]:
        """All that may be asked on a type without being an error, with its second objects."""
        return [*self._privileges_on(type_, self.checkable_on), *self._operations_on(type_)]

    def names_on(self, type_: str) -> list[tuple[str, dict[str, str]]]:
        """All that is worth asking on a type, with its second objects; each choice of optional ones apart."""
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
