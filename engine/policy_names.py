"""The names of a policy, indexed and checked: types and their tree, privileges, operations, rules for changes."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cached_property

from grantpath.engine.policy_file import ConditionEntry, PolicyFile, PrivilegeEntry
from grantpath.graph.errors import Invalid, Unknown


class PolicyProblem(ValueError):
    """Something in a policy file that cannot be: `key` says where, the text what and the remedy."""

    def __init__(self, key: Iterable[str | int], text: str) -> None:
        super().__init__(text)
        self.key = tuple(key)


def nearest(word: str, known: Iterable[str]) -> str:
    """`; did you mean X?`, or nothing."""
    close = get_close_matches(word, list(known), n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(close)}?" if close else ""


def split(key: str) -> list[str]:
    """`a, b` as two names."""
    return [part.strip() for part in key.split(",")]


class Names:
    """What a policy file's names mean. Raises PolicyProblem where they don't fit together."""

    def __init__(self, file: PolicyFile) -> None:
        self.file = file
        self.types = file.types
        self.root = self._root()
        self._chains = {type_: self._chain(type_) for type_ in self.types}
        self.privileges: Mapping[str, PrivilegeEntry] = file.privileges
        self.operations = self._operations()
        self._check()

    # ---- types -----------------------------------------------------------------------------------------------
    def _root(self) -> str:
        roots = [name for name, entry in self.types.items() if entry.in_ is None]
        if len(roots) != 1:
            raise PolicyProblem(
                ["types"],
                f"exactly one type, the root, has no `in`; here {', '.join(roots) or 'none'}: mend `in`",
            )
        return roots[0]

    def _chain(self, type_: str) -> tuple[str, ...]:
        chain = [type_]
        while (parent := self.types[chain[-1]].in_) is not None:
            key = ["types", chain[-1], "in"]
            if parent not in self.types:
                raise PolicyProblem(
                    key,
                    f"the parent type {parent!r} is unknown{nearest(parent, self.types)}; add it to `types`",
                )
            if parent in chain:
                raise PolicyProblem(
                    key, f"{' in '.join([*chain, parent])} is a circle; let one stand in the root"
                )
            chain.append(parent)
        return tuple(chain)

    def chain(self, type_: str) -> tuple[str, ...]:
        """The type and the types above it, up to the root."""
        return self._chains[type_]

    def below(self, type_: str) -> list[str]:
        """The types that stand below a type."""
        return [name for name, chain in self._chains.items() if type_ in chain[1:]]

    @cached_property
    def subject_types(self) -> list[str]:
        return [name for name, entry in self.types.items() if entry.kind != "object"]

    @cached_property
    def one_segment(self) -> frozenset[str]:
        """Types whose name is one segment whatever it holds: the subjects."""
        return frozenset(self.subject_types)

    @cached_property
    def granted_types(self) -> set[str]:
        return {type_ for entry in self.privileges.values() for type_ in entry.on}

    def check_type(self, type_: str) -> None:
        """Raises Unknown with the nearest types."""
        if type_ not in self.types:
            raise Unknown(
                f"the type {type_!r} is unknown in the policy {self.file.policy}{nearest(type_, self.types)}; "
                f"there are {', '.join(self.types)}"
            )

    # ---- privileges ------------------------------------------------------------------------------------------
    def canonical(self, privilege: str) -> str:
        """The privilege's own name, if it is another name of one. Raises Unknown."""
        if privilege not in self.privileges:
            raise Unknown(
                f"the privilege {privilege} is unknown in the policy {self.file.policy}"
                f"{nearest(privilege, self.privileges)}; `grantpath policy show {self.file.policy}` lists them"
            )
        return self.privileges[privilege].alias_of or privilege

    def privilege(self, name: str) -> PrivilegeEntry:
        """A privilege's entry, of the one that an alias stands for. Raises Unknown."""
        return self.privileges[self.canonical(name)]

    @cached_property
    def sources(self) -> dict[str, list[str]]:
        """By privilege: the ones that put it in effect where they are granted, itself first."""
        implied: dict[str, set[str]] = {name: set(entry.implies) for name, entry in self.privileges.items()}
        for ladder in self.file.ladders:
            for low, high in zip(ladder, ladder[1:], strict=False):
                implied[high].add(low)
        closed = {name: self._reach(name, implied) for name in implied}
        return {
            name: [name, *(other for other in implied if other != name and name in closed[other])]
            for name in implied
        }

    @staticmethod
    def _reach(start: str, edges: Mapping[str, set[str]]) -> set[str]:
        reached: set[str] = set()
        waiting = list(edges[start])
        while waiting:
            name = waiting.pop()
            if name == start:
                raise PolicyProblem(
                    ["privileges", start], f"{start} implies itself in a circle; break the circle"
                )
            if name not in reached:
                reached.add(name)
                waiting.extend(edges[name])
        return reached

    # ---- operations and changes --------------------------------------------------------------------------------
    def _operations(self) -> dict[tuple[str, str], ConditionEntry]:
        operations: dict[tuple[str, str], ConditionEntry] = {}
        for types, entries in self.file.operations.items():
            for type_ in split(types):
                self._known_type(type_, ["operations", types])
                for names, entry in entries.items():
                    for name in split(names):
                        if (name, type_) in operations:
                            raise PolicyProblem(
                                ["operations", types, names], f"{name} stands twice for {type_}; keep one"
                            )
                        operations[name, type_] = entry
        return operations

    @cached_property
    def operation_types(self) -> dict[str, list[str]]:
        """By operation: the types it is asked on."""
        types: dict[str, list[str]] = {}
        for name, type_ in self.operations:
            types.setdefault(name, []).append(type_)
        return types

    def operation(self, name: str, type_: str) -> ConditionEntry:
        """The operation of that name (or alias) on a type. Raises Unknown or Invalid."""
        name = self.file.aliases.get(name, name)
        types = self.operation_types.get(name)
        if not types:
            known = [*self.operation_types, *self.file.aliases]
            raise Unknown(
                f"the operation {name} is unknown in the policy {self.file.policy}{nearest(name, known)}; "
                f"`grantpath policy show {self.file.policy}` lists them"
            )
        if type_ not in types:
            raise Invalid(f"{name} is asked on {', '.join(types)}, not on {type_}; name one of those")
        return self.operations[name, type_]

    def change(self, kind: str, type_: str) -> ConditionEntry | None:
        """The rule for a change to an object of a type, or None."""
        rules: dict[str, ConditionEntry] = getattr(self.file.changes, kind)
        for types, entry in rules.items():
            if type_ in split(types):
                return entry
        return None

    # ---- does it fit together --------------------------------------------------------------------------------
    def _known_type(self, type_: str, key: list[str | int] | list[str]) -> None:
        if type_ not in self.types:
            raise PolicyProblem(
                key, f"the type {type_!r} is unknown{nearest(type_, self.types)}; add it to `types`"
            )

    def _known_privilege(self, name: str, key: list[str | int] | list[str]) -> None:
        if name not in self.privileges:
            raise PolicyProblem(
                key,
                f"the privilege {name!r} is unknown{nearest(name, self.privileges)}; add it to `privileges`",
            )

    def _check(self) -> None:
        for type_, entry in self.types.items():
            if entry.kind != "object" and entry.in_ != self.root:
                raise PolicyProblem(
                    ["types", type_, "in"], f"a {entry.kind} stands in the root; write `in: {self.root}`"
                )
            for owner in entry.owned_by:
                self._subject(owner, ["types", type_, "owned_by"])
        for container, members in self.file.members.items():
            for type_ in (container, *members):
                self._subject(type_, ["members", container])
        for section, types in (("grants", self.file.grants.to), ("ask", self.file.ask.subjects)):
            for type_ in types:
                self._subject(type_, [section])
        self._check_privileges()
        self._check_ladders()
        for alias, name in self.file.aliases.items():
            if name not in self.operation_types:
                raise PolicyProblem(
                    ["aliases", alias],
                    f"the operation {name!r} is unknown{nearest(name, self.operation_types)}",
                )
        for kind in type(self.file.changes).model_fields:
            for types in getattr(self.file.changes, kind):
                for type_ in split(types):
                    self._known_type(type_, ["changes", kind, types])

    def _subject(self, type_: str, key: list[str | int] | list[str]) -> None:
        self._known_type(type_, key)
        if self.types[type_].kind == "object":
            raise PolicyProblem(
                key, f"{type_!r} is no subject; give it a `kind`, or name a user, group or role type"
            )

    def _check_privileges(self) -> None:
        for name, entry in self.privileges.items():
            key = ["privileges", name]
            if not name.isupper():
                raise PolicyProblem(key, "a privilege is written in UPPER_CASE; operations are in lower case")
            for type_ in (*entry.on, *(entry.effective or [])):
                self._known_type(type_, [*key, "on"])
            for other in entry.implies:
                self._known_privilege(other, [*key, "implies"])
            if entry.alias_of:
                self._known_privilege(entry.alias_of, [*key, "alias_of"])
                if self.privileges[entry.alias_of].alias_of:
                    raise PolicyProblem(
                        [*key, "alias_of"], f"{entry.alias_of} is an alias itself; name the privilege"
                    )

    def _check_ladders(self) -> None:
        for at, ladder in enumerate(self.file.ladders):
            for rung, name in enumerate(ladder):
                self._known_privilege(name, ["ladders", at, rung])
            if len(set(ladder)) != len(ladder):
                raise PolicyProblem(
                    ["ladders", at], "a rung stands twice; name each privilege once, from low to high"
                )
            self._check_rungs(at, ladder)
        if self.sources:
            return

    def _check_rungs(self, at: int, ladder: list[str]) -> None:
        """A rung that leaves out a type that rungs above and below it have is a gap."""
        for rung, name in enumerate(ladder):
            low = {type_ for other in ladder[:rung] for type_ in self.privileges[other].on}
            high = {type_ for other in ladder[rung + 1 :] for type_ in self.privileges[other].on}
            for type_ in sorted((low & high) - set(self.privileges[name].on)):
                raise PolicyProblem(
                    ["ladders", at, rung],
                    f"the ladder has a gap: {name} is not granted on {type_}, but rungs above and below it are; "
                    f"add {type_} to its `on`",
                )
