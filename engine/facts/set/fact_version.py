"""The facts of a root at one revision, in maps that questions look up."""

from collections.abc import Callable, Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from grantpath.engine.facts.set.copy_size import ENTITY
from grantpath.engine.facts.set.layered_map import LayeredMap
from grantpath.engine.policy.fact_plan import FactPlan
from grantpath.engine.policy.facts import effect_and_privilege, of_tag, on_tag
from grantpath.engine.policy.policy import Policy
from grantpath.graph.language.reference import type_of
from grantpath.graph.language.statement import Statement, parse_statement

if TYPE_CHECKING:
    from grantpath.engine.facts.set.place_grants import ConditionGrants

OWNS, TAGGED = "OWNS", "TAGGED"
Principals = int | frozenset[int]  # a single one is not in a set, because most facts have only one
# By 'ALLOW SELECT_TABLE' or OWNS: who has it; by TAGGED: the tags of the entity; by 'ALLOW SELECT_TABLE#tag': who has
# it on one of these tags. Never changed.
Grants = dict[str, Principals]
Numbers = npt.NDArray[np.int32]
NOTHING: list[str] = []
NO_GRANTS: Grants = {}
CLOSURES = 4_096  # subjects whose effective principals are kept
CHAINS = 65_536  # entities whose ancestors are kept
CONTAINERS = 32_768  # groups and roles whose effective principals are kept


def members(principals: Principals | None) -> Collection[int]:
    """The principals as a collection; empty for None."""
    return () if principals is None else (principals,) if isinstance(principals, int) else principals


def is_stored(label: str) -> bool:
    """Whether the label is of a fact of the entity itself, not of one of its tags."""
    return not of_tag(label)[1]


def fact_of(words: Statement) -> tuple[str, str, str]:
    """The principal, the label and the entity of a grant, an ownership or a tag. The principal of a tag is the tag."""
    match words.kind:
        case "tag":
            return words.to or "", TAGGED, words.object
        case "owner":
            return words.subject or "", OWNS, words.object
    return words.subject or "", f"{words.effect} {words.privilege}", words.object


def has_any(principals: Principals | None, others: AbstractSet[int]) -> bool:
    """Whether one of the principals is among the others."""
    if isinstance(principals, int):
        return principals in others
    return principals is not None and not others.isdisjoint(principals)


def by_tags(version: "FactVersion", statements: Iterable[str]) -> set[int]:
    """The entities that have a tag, and whose facts by tags the facts of these statements can change."""
    find, found = version.numbers.find, set[int]()
    for text in statements:
        words = parse_statement(text)
        if words.kind == "tag":
            found.add(find(words.object, -1))
        elif words.kind == "grant" and type_of(words.object) in version.numbers.tag_types:
            found.update(version.places_of.get(find(words.object, -1)) or ())
    return found - {-1}


class EntityNumbers:
    """Gives numbers to references. All versions of a copy share the numbers, which are never removed. Only one thread
    at a time may extend them."""

    def __init__(self, policy: Policy) -> None:
        self._role_types = frozenset(policy.role_types)
        self._user_types = frozenset(policy.user_types)
        self.names = policy.names
        self._by_tag = frozenset(policy.names.by_tag)
        self.tag_types = frozenset(policy.names.by_tag.values())  # what is granted on these counts for what has them
        self.refs: list[str] = []
        self.size = 0  # bytes
        self.roles: set[int] = set()
        self.users: set[int] = set()
        self._number: dict[str, int] = {}
        self.find = self._number.get
        self._positions: dict[tuple[str, ...], tuple[list[list[str]], list[str], Numbers]] = {}
        self._users_of: list[tuple[LayeredMap[int, bool], Collection[str], Numbers]] = []  # of the last two versions
        self.chains: dict[int, tuple[int, ...]] = {}  # an entity with all places above it, for some entities

    def of(self, ref: str) -> int:
        """The number of a reference, a new one if necessary."""
        number = self._number.get(ref)
        if number is None:
            # extend the lookup last: a process that is forked in between has an unused reference, but no wrong number
            number = len(self.refs)
            self.refs.append(ref)
            self.size += ENTITY + len(ref)
            type_ = type_of(ref)
            if type_ in self._role_types:
                self.roles.add(number)
            elif type_ in self._user_types:
                self.users.add(number)
            self._number[ref] = number
        return number

    def label_by_tag(self, label: str, type_: str) -> str | None:
        """The label, on what has a tag of this type, of a fact of the tag; None if the fact does not count there."""
        effect, privilege = effect_and_privilege(label)
        name = on_tag(privilege, type_)
        return f"{effect} {name}" if name in self._by_tag else None

    def copy(self) -> "EntityNumbers":
        """The same numbers, which another thread may then extend. May be called while a thread extends these."""
        other = copy(self)
        # copy the lookup first: a reference that a thread adds meanwhile is then unused, but never missing
        other._number = self._number.copy()
        other.find = other._number.get
        other.roles, other.users, other.refs = self.roles.copy(), self.users.copy(), self.refs.copy()
        other._positions, other._users_of, other.chains = {}, [], {}
        return other

    def keep_chain(self, number: int, chain: tuple[int, ...]) -> None:
        """Keeps an entity with all places above it, because it takes long to find them."""
        if len(self.chains) >= CHAINS:
            self.chains.clear()
        self.chains[number] = chain

    def positions(self, types: tuple[str, ...], listed: Mapping[str, list[str]]) -> tuple[list[str], Numbers]:
        """The listed references of these types, in byte order, and for each number its position in that list, or -1.

        The last result for these types is kept, since sorting takes long; it is returned again for the same lists.
        """
        lists = [listed.get(type_, NOTHING) for type_ in types]
        kept = self._positions.get(types)
        if kept is not None and all(mine is other for mine, other in zip(lists, kept[0], strict=True)):
            return kept[1], kept[2]
        refs = sorted(chain(*lists))
        position = np.full(len(self.refs), -1, np.int32)
        position[np.fromiter((self._number[ref] for ref in refs), np.int32, len(refs))] = np.arange(len(refs))
        self._positions[types] = lists, refs, position
        return refs, position

    def users_of(self, existing: LayeredMap[int, bool], hidden: Collection[str]) -> Numbers:
        """The numbers of the existing users that are not hidden, ascending: the same array while they do not change.

        The last two results are kept. A new result is computed from the changes since one of them.
        """
        for known, also_hidden, users in reversed(self._users_of):
            moved = existing.changed_since(known)
            if moved is None or also_hidden != hidden:
                continue
            moved = {each for each in moved & self.users if self.refs[each] not in hidden}
            if moved:
                added = np.array(sorted(each for each in moved if existing.get(each) is not None), np.int32)
                rest = users[~np.isin(users, np.array([*moved], np.int32))]
                users = np.insert(rest, np.searchsorted(rest, added), added)
            break
        else:
            listed = (each for each in self.users.copy() if existing.get(each) is not None)
            users = np.fromiter((each for each in listed if self.refs[each] not in hidden), np.int32)
            users.sort()
        if all(known is not existing or also_hidden != hidden for known, also_hidden, _ in self._users_of):
            self._users_of = [*self._users_of[-1:], (existing, hidden, users)]
        return users


@dataclass(frozen=True)
class FactOrigin:
    """The tenant's creation id, its log's chain and its policy's digest. Revisions can be compared if these are
    equal."""

    made: str
    chain: str
    policy: str


@dataclass(frozen=True, slots=True)
class FactVersion:
    """The facts at one revision; immutable. An entity is its number in `numbers`.

    The facts:

    existing       the entities that exist
    containers     the groups and roles that a subject is in directly
    grants         what is granted on an entity and on its tags, who owns it, and its tags

    Indexes of the facts:

    users_in       the users that are directly in a group or role
    others_in      the groups and roles that are directly in a group or role
    places_of      the entities on which a principal has a grant, also by their tags, or an ownership; those of a tag
    listed         the references that exist, by type and in byte order
    granted_names  the references that have grants and do not exist, in the same way

    The last three fields keep values that take long to derive: the effective principals of subjects, those of groups
    and roles, and the grants that a condition needs. Versions share the grants, and the effective principals as long as
    no membership changes.
    """

    origin: FactOrigin
    revision: int
    numbers: EntityNumbers
    existing: LayeredMap[int, bool]
    containers: LayeredMap[int, tuple[int, ...]]
    grants: LayeredMap[int, Grants]
    users_in: LayeredMap[int, Numbers]
    others_in: LayeredMap[int, tuple[int, ...]]
    places_of: LayeredMap[int, tuple[int, ...]]
    listed: Mapping[str, list[str]]
    granted_names: Mapping[str, list[str]]
    size_of_edges: int  # bytes of memberships, grants and owners
    left_out: tuple[str, ...] = ()  # facts that are stored at this revision, but have ended, as sorted statements
    closures: dict[int, frozenset[int]] = field(default_factory=dict, compare=False)
    closures_of_containers: dict[int, frozenset[int]] = field(default_factory=dict, compare=False)
    granted: dict[FactPlan, "ConditionGrants"] = field(default_factory=dict, compare=False)

    @property
    def row(self) -> dict[str, Any]:
        """What a row of answers says about the facts that they are from."""
        return {"revision": self.revision, "left_out": self.left_out}

    @property
    def size(self) -> int:
        """The estimated memory in bytes, without the kept closures."""
        return self.numbers.size + self.size_of_edges

    def apart(self) -> "FactVersion":
        """The same facts with a copy of the numbers, so that another thread can derive other versions from them."""
        return replace(self, numbers=self.numbers.copy(), closures={}, closures_of_containers={}, granted={})

    def exists(self, ref: str) -> bool:
        """Whether the entity exists. A name that only has grants on it does not."""
        return self.existing.get(self.numbers.find(ref, -1)) is not None

    def granted_on(self, ref: str) -> Grants:
        """What is granted on an entity and on its tags, who owns it, and its tags."""
        return self.grants.get(self.numbers.find(ref, -1)) or NO_GRANTS

    def stored_on(self, ref: str) -> Grants:
        """What is granted on an entity itself, who owns it, and its tags."""
        return {label: by for label, by in self.granted_on(ref).items() if is_stored(label)}

    def effective(self, subject: int) -> AbstractSet[int]:
        """The subject with its groups and roles, direct or through others; kept while no membership changes."""
        known = self.closures.get(subject)
        if known is None:
            if len(self.closures) >= CLOSURES:
                self.closures.clear()
            containers, above = self.containers.get(subject) or (), self.closures_of_containers
            try:
                found = [*map(above.__getitem__, containers)]
            except KeyError:
                found = [*map(self._above, containers)]
            known = self.closures[subject] = frozenset((subject,)).union(*found)
        return known

    def _above(self, container: int) -> frozenset[int]:
        known = self.closures_of_containers.get(container)
        if known is None:
            if len(self.closures_of_containers) >= CONTAINERS:
                self.closures_of_containers.clear()
            inside = self.containers.get(container)
            known = frozenset((container,) if inside is None else self.containers_of([container]))
            self.closures_of_containers[container] = known
        return known

    def containers_of(self, subjects: Iterable[int]) -> set[int]:
        """These subjects with all groups and roles that they are in, direct or through others."""
        return containers_of(self.containers, subjects)

    def containers_in(self, principals: Iterable[int]) -> set[int]:
        """These principals with all groups and roles that are in them, directly or through others."""
        return _reached(principals, lambda each: self.others_in.get(each) or ())

    def held_roles(self, subject: int) -> list[int]:
        """The roles that a subject holds directly."""
        return [each for each in self.containers.get(subject) or () if each in self.numbers.roles]

    def with_roles(self, role: int) -> set[int]:
        """The role with the roles that it holds, directly or through others."""
        return _reached([role], self.held_roles)


def containers_of(containers: LayeredMap[int, tuple[int, ...]], subjects: Iterable[int]) -> set[int]:
    """Subjects with all groups and roles that they are in, direct or through others. `containers`: the direct ones."""
    return _reached(subjects, lambda each: containers.get(each) or ())


def _reached(starts: Iterable[int], step: Callable[[int], Iterable[int]]) -> set[int]:
    """The starts, and all that is reached from them in any number of steps."""
    found = set(starts)
    waiting = [*found]
    while waiting:
        for each in step(waiting.pop()):
            if each not in found:
                found.add(each)
                waiting.append(each)
    return found
