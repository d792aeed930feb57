"""The names of a policy, indexed: types and their tree, privileges, operations, rules for changes."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise, zip_longest
from types import MappingProxyType
from typing import NamedTuple

from grantpath.engine.policy.extend import split
from grantpath.engine.policy.facts import on_tag
from grantpath.engine.policy.schema import BUILT_IN, ConditionEntry, PolicyFile, PrivilegeEntry
from grantpath.graph.errors import UnknownName
from grantpath.graph.language.near_names import nearest
from grantpath.graph.messages import short

YamlPath = Sequence[str | int]
ROLE = "Role"  # the label of every entity of the kind role; a membership in one is a HAS_ROLE relationship
_OF_ENTITIES = ["Entity", "Subject", "Securable"]
_OF_THE_LOG = ["Revision", "Change", "Delta", "Refusal", "Request", "DroppedRoot"]
_OF_WRITERS = ["Writer", "Gate", "Heartbeat", "LoadedBatch", "DoomedBatch", "LoadLane"]
_RULE_LABELS = ["Policy", "Type", "Privilege", "Operation", "Clause", "Term", "Atom", "Fact", "Part"]
OWN_LABELS = frozenset([*_OF_ENTITIES, *_OF_THE_LOG, *_OF_WRITERS, *(f"Rule{label}" for label in _RULE_LABELS)])


MAX_SEGMENTS = 64  # of a reference: how deep types can be in themselves


class PolicyProblem(ValueError):
    """An error in a policy file: `key` is its place, the text says what is wrong and how to correct it."""

    def __init__(self, key: YamlPath, text: str) -> None:
        super().__init__(text)
        self.key = tuple(key)


class Lengths(NamedTuple):
    """The numbers of segments of the references in a question, for types whose references have different ones."""

    object: int | None = None  # None: the only one that references of the type have, or the least one
    seconds: tuple[tuple[str, int], ...] = ()  # by key of a second object


ONE_LENGTH = Lengths()


def label_of(type_: str) -> str:
    """The node label of a type, e.g. ServicePrincipal for service_principal."""
    return "".join(part.capitalize() for part in type_.split("_"))


def _collision(type_: str, one: tuple[str, ...], other: tuple[str, ...]) -> str:
    first, second = (".".join(reversed(way[:-1])) for way in (one, other))
    return (
        f"a {type_} with {len(one) - 1} segments can be {first} or {second}, so a reference would have two meanings; "
        "let the types of a reference follow from its number of segments"
    )


def _other_beginning(type_: str, shorter: tuple[str, ...], longer: tuple[str, ...], one: str, other: str) -> str:
    first, second = (".".join(reversed(way[:-1])) for way in (shorter, longer))
    return (
        f"a {type_} can be {first} or {second}, so below the {one} x and below the {other} x would be references that "
        f"begin alike; let the {type_} in one of them be another type"
    )


class PolicyIndex:
    """The names of a policy file. Raises PolicyProblem if the types do not lead to one root, if a reference would have
    two meanings, or if an operation is a duplicate."""

    def __init__(self, file: PolicyFile) -> None:
        self.file = file
        self.types = file.types
        self.root = self._root()
        self.parents = {type_: self._parents(type_) for type_ in self.types}
        self._sequences = self._types_by_length()
        self.repeated = self._repeated()
        self._above = {
            type_: frozenset(each for way in ways.values() for each in way[1:])
            for type_, ways in self._sequences.items()
        }
        self.privileges: Mapping[str, PrivilegeEntry] = file.privileges
        self.operations = self._operations()

    # ---- types -----------------------------------------------------------------------------------------------
    def _root(self) -> str:
        roots = [name for name, entry in self.types.items() if entry.in_ is None]
        if len(roots) != 1:
            raise PolicyProblem(
                ["types"],
                f"{' and '.join(roots)} have no `in`, and only the root may omit it; choose the root, and give each "
                "of the others an `in` with the type of its parent"
                if roots
                else "each type has an `in`, and the root must not have one; remove it from the root type",
            )
        return roots[0]

    def _parents(self, type_: str) -> tuple[str, ...]:
        """The types of which the parent of an entity can be; empty for the root."""
        text = self.types[type_].in_
        if text is None:
            return ()
        key, parents = ["types", type_, "in"], split(text)
        for parent in parents:
            if parent not in self.types:
                raise PolicyProblem(
                    key, f"the parent type {parent!r} is unknown{nearest(parent, self.types)}; add it to `types`"
                )
        if len({*parents}) != len(parents) or not parents:
            raise PolicyProblem(key, f"{text!r} names a type twice, or none; name each type once")
        return tuple(parents)

    def _types_by_length(self) -> dict[str, dict[int, tuple[str, ...]]]:
        """By type and number of segments of a reference: the type and the types above it, up to the root.

        Raises PolicyProblem if there are two such sequences, or none, or if places of different types can have the same
        name in references of one type: what is below a place would not be one range of these references.
        """
        found: dict[str, dict[int, tuple[str, ...]]] = {type_: {} for type_ in self.types}
        found[self.root][1] = (self.root,)
        for length in range(1, MAX_SEGMENTS + 1):
            for type_, parents in self.parents.items():
                ways = [
                    (type_, *above)
                    for parent in parents
                    if (above := (self.root,) if parent == self.root else found[parent].get(length - 1))
                    and len(above) == length
                ]
                if len(ways) > 1:
                    raise PolicyProblem(["types", type_, "in"], _collision(type_, *ways[:2]))
                for way in ways:
                    found[type_][length] = way
        for type_, ways_of in found.items():
            if not ways_of:
                raise PolicyProblem(["types", type_, "in"], self._without_root(type_))
            for shorter, longer in pairwise(ways_of.values()):
                for one, other in zip(shorter[:0:-1], longer[::-1], strict=False):  # the types above, from the root on
                    if one != other:
                        raise PolicyProblem(
                            ["types", type_, "in"], _other_beginning(type_, shorter, longer, one, other)
                        )
        return found

    def _without_root(self, type_: str) -> str:
        """Why no sequence of types leads from a type to the root."""
        path = [type_]
        while path[-1] not in path[:-1]:
            path.append(self.parents[path[-1]][0])
        if path[-1] == type_ and len(path) == 2:
            return (
                f"{type_} is only in {type_}, so none can be the first; name also the type that the first one is in, "
                f"e.g. in: {self.root}, {type_}"
            )
        return f"{' in '.join(path)} is a cycle; put one of them into the root"

    def _repeated(self) -> frozenset[str]:
        """The types of which several entities can be on the way from an entity to the root."""
        return frozenset(
            type_ for ways in self._sequences.values() for way in ways.values() for type_ in way if way.count(type_) > 1
        )

    def lengths(self, type_: str) -> list[int]:
        """The numbers of segments that references of the type can have, ascending."""
        return list(self._sequences[type_])

    def varies(self, type_: str) -> bool:
        """Whether references of the type can have different numbers of segments."""
        return len(self._sequences[type_]) > 1

    def examples(self, type_: str, seconds: Mapping[str, str] = MappingProxyType({})) -> Iterator[Lengths]:
        """Numbers of segments for the references of a question about a type, with second objects of these types.

        Each has three types, one in the other, that no smaller number has. So among them are all types that can be
        above an entity, and each way of a type to be in itself.
        """

        def some(each: str) -> list[int]:
            seen: set[tuple[str, ...]] = set()
            chosen = []
            for length, way in self._sequences[each].items():
                parts = {way[at : at + 3] for at in range(len(way))}
                if not parts <= seen:
                    chosen.append(length)
                    seen |= parts
            return chosen

        varying = {key: second for key, second in sorted(seconds.items()) if self.varies(second)}
        for length in some(type_) if self.varies(type_) else [None]:
            for chosen in zip_longest(*map(some, varying.values())) if varying else [()]:
                given = zip(varying.items(), chosen, strict=True)
                yield Lengths(length, tuple((key, each or self.lengths(second)[0]) for (key, second), each in given))

    @cached_property
    def vary(self) -> bool:
        """Whether references of some type can have different numbers of segments."""
        return any(map(self.varies, self.types))

    def types_up(self, type_: str, length: int | None = None) -> tuple[str, ...]:
        """The type and the types above it, up to the root, for a reference with `length` segments. Without `length`
        references of the type must have one length."""
        ways = self._sequences[type_]
        if length is None:
            [length] = ways
        return ways[length]

    def place(self, type_: str, length: int) -> str:
        """The name of a place of conditions: its type; of several of one type, each also has its number of segments."""
        return f"{type_}@{length}" if type_ in self.repeated else type_

    def places_up(self, type_: str, length: int) -> tuple[str, ...]:
        """The names of the places of an object: its own, and those of the entities above it."""
        up = self.types_up(type_, length)
        return tuple(self.place(each, max(1, len(up) - 1 - at)) for at, each in enumerate(up))

    def above(self, type_: str) -> frozenset[str]:
        """The types that can be above an entity of the type."""
        return self._above[type_]

    def below(self, type_: str) -> list[str]:
        """The types of which entities can be below one of the type, by name."""
        return sorted(name for name, above in self._above.items() if type_ in above)

    @cached_property
    def subject_types(self) -> list[str]:
        return [name for name, entry in self.types.items() if entry.kind != "object"]

    @cached_property
    def one_segment(self) -> frozenset[str]:
        """The types whose names are a single segment even if they contain dots: the subject types."""
        return frozenset(self.subject_types)

    def is_securable(self, type_: str) -> bool:
        """Whether entities of the type are in the tree of objects: all objects, and subjects that can have an owner,
        grants on them or objects inside."""
        return type_ in self._securable

    @cached_property
    def _securable(self) -> frozenset[str]:
        contain = {type_ for above in self._above.values() for type_ in above}
        owned = {type_ for type_, entry in self.types.items() if entry.kind == "object" or entry.owned_by}
        return frozenset(contain | owned | self.granted_types)

    @cached_property
    def granted_types(self) -> set[str]:
        return {type_ for entry in self.privileges.values() for type_ in entry.on}

    def tags_on(self, privilege: str, type_: str) -> list[str]:
        """The types of tags that objects of a type can have, and on which a privilege can be granted."""
        on = self.privileges[privilege].on
        return [tag for tag, entry in sorted(self.file.tags.items()) if tag in on and type_ in entry.on]

    def privilege_by_tag(self, privilege: str, type_: str) -> str | None:
        """The privilege that a grant on a tag of this type gives on what has the tag (`SELECT_TABLE#tag`); None if it
        gives none."""
        name = on_tag(privilege, type_)
        return name if name in self.by_tag else None

    @cached_property
    def by_tag(self) -> dict[str, str]:
        """The privileges that hold for what has a tag, as the facts about tags name them (`SELECT_TABLE#tag`), each
        with the type of the tag."""
        return {
            on_tag(name, tag): tag
            for tag, entry in self.file.tags.items()
            for name, privilege in self.privileges.items()
            if not privilege.alias_of and tag in privilege.on
            if any(
                type_ in entry.on or (entry.inherited and not self.above(type_).isdisjoint(entry.on))
                for source in self.sources[name]  # its DENY can also deny what implies it
                for type_ in self.effective(source)
            )
        }

    def is_protected(self, type_: str) -> bool:
        """Whether objects of the type cannot be added or dropped; by default only those of the root type."""
        stated = self.types[type_].protected
        return type_ == self.root if stated is None else stated

    def require_type(self, type_: str, key: YamlPath) -> None:
        """Raises PolicyProblem if the policy file does not define the type."""
        if type_ not in self.types:
            raise PolicyProblem(
                key, f"the type {short(repr(type_))} is unknown{nearest(type_, self.types)}; add it to `types`"
            )

    def check_type(self, type_: str) -> None:
        """Raises UnknownName, with the nearest names, if the policy does not define the type."""
        if not isinstance(type_, str):
            raise UnknownName(f"{short(repr(type_))} is not a string; write a type, e.g. {self.root}")
        if type_ not in self.types:
            raise UnknownName(
                f"the type {short(repr(type_))} is unknown in the policy {self.file.policy}"
                f"{nearest(type_, self.types)}; the types are {', '.join(self.types)}"
            )

    @property
    def _listing(self) -> str:
        """The command that lists the policy's names. It needs the file of a policy that is not built in."""
        if (BUILT_IN / f"{self.file.policy}.yaml").is_file():
            return f"`grantpath policy show {self.file.policy}`"
        return "`grantpath policy show` with the policy's file"

    # ---- privileges ------------------------------------------------------------------------------------------
    def canonical(self, privilege: str) -> str:
        """The name of the privilege, with aliases resolved. Raises UnknownName."""
        if privilege not in self.privileges:
            raise UnknownName(
                f"the privilege {short(privilege)} is unknown in the policy {self.file.policy}"
                f"{nearest(privilege, [*self.privileges, *self.operation_types])}; {self._listing} lists them"
            )
        return self.privileges[privilege].alias_of or privilege

    def privilege(self, name: str) -> PrivilegeEntry:
        """The entry of a privilege, with aliases resolved. Raises UnknownName."""
        return self.privileges[self.canonical(name)]

    def effective(self, name: str) -> list[str]:
        """The types on which a privilege, by its own name, can be in effect."""
        entry = self.privileges[name]
        return entry.on if entry.effective is None else entry.effective

    def require_privilege(self, name: str, key: YamlPath) -> None:
        """Raises PolicyProblem if the policy file does not define the privilege."""
        if name not in self.privileges:
            raise PolicyProblem(
                key,
                f"the privilege {short(repr(name))} is unknown{nearest(name, self.privileges)}; add it to `privileges`",
            )

    def require_own_name(self, name: str, key: YamlPath) -> None:
        """Raises PolicyProblem if the policy file does not define the privilege, or defines it as an alias."""
        self.require_privilege(name, key)
        other = self.privileges[name].alias_of
        if other:
            raise PolicyProblem(key, f"{name} is an alias, which only grants and questions can use; write {other} here")

    @cached_property
    def sources(self) -> dict[str, list[str]]:
        """By privilege: the privileges whose ALLOW includes it: itself, then the others by name.

        A stored policy has its privileges in another order than its file, and the order decides which of several
        reasons is named.
        """
        implied = self._implied
        return {name: [name, *sorted(other for other in implied if name in implied[other])] for name in implied}

    @cached_property
    def deniers(self) -> dict[str, list[str]]:
        """By privilege: the privileges whose DENY denies it, in such an order; empty if the policy has no DENY."""
        cascades = self.file.grants.deny == "cascades"
        return {
            name: [name, *sorted(other for other in implied if cascades)]
            for name, implied in self._implied.items()
            if self.file.grants.deny
        }

    @cached_property
    def _implied(self) -> dict[str, set[str]]:
        """By privilege: the privileges that it implies, through `implies` or a ladder, directly or through others."""
        direct: dict[str, set[str]] = {name: set(entry.implies) for name, entry in self.privileges.items()}
        for ladder in self.file.ladders:
            for low, high in pairwise(ladder):
                direct[high].add(low)
        return {name: self._reach(name, direct) for name in direct}

    def check_implications(self) -> None:
        """Raises PolicyProblem if a privilege implies itself, by `implies` or by a ladder."""
        self._implied  # noqa: B018 (computes and checks it)

    @staticmethod
    def _reach(start: str, edges: Mapping[str, set[str]]) -> set[str]:
        reached: dict[str, str] = {}  # by privilege: one that implies it
        waiting = [(start, name) for name in sorted(edges[start])]
        while waiting:
            by, name = waiting.pop()
            if name == start:
                way = [by]
                while way[-1] != start:
                    way.append(reached[way[-1]])
                cycle = ", which implies ".join([*way[-2::-1], start])
                raise PolicyProblem(["privileges", start], f"{start} implies {cycle}; remove one of these")
            if name not in reached:
                reached[name] = by
                waiting.extend((name, each) for each in sorted(edges[name]))
        return {*reached}

    # ---- operations and changes --------------------------------------------------------------------------------
    def _operations(self) -> dict[tuple[str, str], ConditionEntry]:
        operations: dict[tuple[str, str], ConditionEntry] = {}
        for types, entries in self.file.operations.items():
            for type_ in split(types):
                self.require_type(type_, ["operations", types])
                for names, entry in entries.items():
                    for name in split(names):
                        if (name, type_) in operations:
                            raise PolicyProblem(
                                ["operations", types, names], f"{name} is defined twice for {type_}; keep one"
                            )
                        operations[name, type_] = entry
        return operations

    @cached_property
    def operation_types(self) -> dict[str, list[str]]:
        """By operation: the types that it is defined on."""
        types: dict[str, list[str]] = {}
        for name, type_ in self.operations:
            types.setdefault(name, []).append(type_)
        return types

    def operation(self, name: str, type_: str) -> ConditionEntry:
        """The operation with this name or alias on a type. Raises UnknownName."""
        name = self.file.aliases.get(name, name)
        types = self.operation_types.get(name)
        if not types:
            known = [*self.operation_types, *self.file.aliases, *self.privileges]
            raise UnknownName(
                f"the operation {short(name)} is unknown in the policy {self.file.policy}{nearest(name, known)}; "
                f"{self._listing} lists them"
            )
        if type_ not in types:
            raise UnknownName(f"{name} is defined on {', '.join(types)}, not on {type_}; name one of those")
        return self.operations[name, type_]

    @cached_property
    def change_kinds(self) -> list[str]:
        """The sections of `changes`: add, drop, member and so on."""
        return list(type(self.file.changes).model_fields)

    def rules(self, kind: str) -> Mapping[str, ConditionEntry]:
        """The rules for one kind of change, by type or list of types."""
        rules: Mapping[str, ConditionEntry] = getattr(self.file.changes, kind)
        return rules

    def change(self, kind: str, type_: str) -> ConditionEntry | None:
        """The rule for a kind of change to objects of a type, or None. The rule of `tag` is also that of `untag`."""
        kind = "tag" if kind == "untag" else kind
        return next((rule for types, rule in self.rules(kind).items() if type_ in split(types)), None)

    def grantees(self, kind: str, type_: str) -> list[str] | list[None]:
        """The types of the subjects that gain or lose something by this kind of change of an object of the type."""
        if kind in ("add", "drop", "rename", "move", "tag"):
            return [None]
        if kind == "owner":
            return self.types[type_].owned_by
        return self.file.members.get(type_, []) if kind in ("member", "remove") else self.file.grants.to
