"""A checked policy: it resolves references, and compiles privileges, operations and changes to clauses."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

from grantpath.engine.policy import author_warnings
from grantpath.engine.policy.clauses import Clauses, TooManyClauses
from grantpath.engine.policy.compiler import Expander
from grantpath.engine.policy.fact_plan import FactPlan
from grantpath.engine.policy.facts import Fact, is_privilege
from grantpath.engine.policy.index import ONE_LENGTH, ROLE, Lengths, PolicyIndex, PolicyProblem, label_of
from grantpath.engine.policy.schema import (
    BUILT_IN,
    UPGRADE,
    WITH_TAGS,
    BuiltinEntry,
    ConditionEntry,
    PolicyFile,
    WithEntry,
    find,
    read,
)
from grantpath.graph.errors import Invalid, InvalidInput, InvalidPolicy, InvalidReference, Unknown, UnknownName
from grantpath.graph.language.near_names import nearest
from grantpath.graph.language.reference import Reference, parse
from grantpath.graph.messages import counted, indefinite, short

SHORT = 16  # characters of the digests that older versions of grantpath wrote
MANY_CHAINS = 10_000  # cached references: one call resolves a reference several times, and later calls do so again


@dataclass(frozen=True, eq=False)
class Requirement:
    """The compiled condition of a privilege or operation on a type of object, and how held roles count."""

    name: str
    type: str
    clauses: Clauses
    one_role: bool
    with_: Mapping[str, WithEntry]
    may_be_missing: bool
    up: tuple[str, ...]  # the names of the object's own place and of those above it, up to the root
    of_length: "Callable[[int], Requirement] | None" = None  # for objects with another number of segments
    lengths: tuple[int, ...] = ()  # examples of these numbers

    @cached_property
    def plan(self) -> FactPlan:
        """The facts that the clauses need."""
        return FactPlan(self.clauses)

    @cached_property
    def of_examples(self) -> "tuple[Requirement, ...]":
        """The requirement for each of the example lengths; itself if it does not depend on the number of segments."""
        return (self,) if self.of_length is None else tuple(map(self.of_length, self.lengths))

    @cached_property
    def facts(self) -> frozenset[Fact]:
        """The facts that the clauses need, whatever the number of segments is: none is of another kind or type."""
        return frozenset(fact for each in self.of_examples for fact in each.plan.facts)

    @cached_property
    def condition(self) -> object:
        """Equal for requirements that decide alike."""
        return tuple(each.clauses for each in self.of_examples), self.one_role


class Policy:
    """One policy. `load` creates it."""

    def __init__(self, file: PolicyFile, source: str | None = None) -> None:
        """`source` is the text that a root stores; default: `canonical`."""
        self.file = file
        self._source = source
        self.names = PolicyIndex(file)
        self._expander = Expander(file, self.names)
        self._questions: dict[tuple[str, str, frozenset[str], Lengths], Requirement] = {}
        self._changes: dict[tuple[str, str, str | None, frozenset[str], bool, Lengths], Clauses] = {}
        self._references: dict[str, Reference] = {}
        self._chains: dict[tuple[str, tuple[str, ...], str], tuple[tuple[str, Reference], ...]] = {}

    # ---- properties ------------------------------------------------------------------------------------------
    @property
    def name(self) -> str:
        return self.file.policy

    @property
    def root_type(self) -> str:
        return self.names.root

    @cached_property
    def canonical(self) -> str:
        """The whole policy, with what it extends, as JSON in the format of this version of grantpath."""
        fields = self.file.model_dump(by_alias=True, exclude={"extends"})
        if self.file.tags:
            fields[UPGRADE] = WITH_TAGS
        else:  # the same text as before there were tags
            del fields["tags"], fields["changes"]["tag"]
        return json.dumps(fields, sort_keys=True)

    @property
    def source(self) -> str:
        """The whole policy as the JSON that its root stores; `from_source` reads it."""
        return self.canonical if self._source is None else self._source

    @cached_property
    def facts_format(self) -> int:
        """The format of the facts beside the policy."""
        return int(json.loads(self.source).get(UPGRADE, 1))

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the source. It changes with every change that can affect a decision."""
        return _digest(self.source)

    @property
    def active_roles(self) -> bool:
        return self.file.ask.one_role

    @property
    def grants_on_missing(self) -> bool:
        return self.file.grants.on_missing

    @cached_property
    def user_types(self) -> list[str]:
        """The types of users and service principals, which `who` lists."""
        return [name for name, entry in self.file.types.items() if entry.kind in ("user", "service_principal")]

    @cached_property
    def role_types(self) -> list[str]:
        """The types of roles."""
        return [name for name, entry in self.file.types.items() if entry.kind == "role"]

    @cached_property
    def addable_by_mention(self) -> list[str]:
        return [name for name, entry in self.file.types.items() if entry.kind in ("user", "group")]

    @cached_property
    def beside_the_tree(self) -> list[str]:
        """The types directly in the root whose entities are not in the tree of objects, such as users and groups."""
        return [
            type_
            for type_, parents in self.names.parents.items()
            if parents == (self.root_type,) and not self.is_securable(type_)
        ]

    @property
    def builtins(self) -> Mapping[str, BuiltinEntry]:
        return self.file.builtin

    @cached_property
    def hidden(self) -> list[str]:
        return [ref for ref, entry in self.builtins.items() if entry.hidden]

    def labels(self, type_: str) -> list[str]:
        """The node labels of a type, without :Entity."""
        kinds = ["Subject"] * (type_ in self.names.subject_types) + ["Securable"] * self.is_securable(type_)
        kinds += [ROLE] * (self.file.types[type_].kind == "role" and label_of(type_) != ROLE)
        return [*kinds, label_of(type_)]

    def is_securable(self, type_: str) -> bool:
        """Whether entities of the type are in the tree of objects; see PolicyIndex."""
        return self.names.is_securable(type_)

    # ---- references ------------------------------------------------------------------------------------------
    def reference(self, text: str, root: Reference) -> Reference:
        """The reference that `text` means under `root`. Raises InvalidReference or Unknown."""
        ref = self._references.get(text) if isinstance(text, str) else None
        if ref is None:
            ref = self._reference(text)
            if len(self._references) >= MANY_CHAINS:
                self._references.clear()
            self._references[text] = ref
        if ref.type == root.type and ref != root:
            raise Unknown(
                f"{short(ref.text)} is another tenant (the root of this one is {root}); "
                f"open it with root={short(ref.text)!r}"
            )
        return ref

    def _reference(self, text: str) -> Reference:
        ref = parse(text, self.names.one_segment)
        self.names.check_type(ref.type)
        if len(ref.segments) not in self.names.lengths(ref.type):
            raise InvalidReference(self._wrong_length(ref))
        return ref

    def _wrong_length(self, ref: Reference) -> str:
        lengths, given = self.names.lengths(ref.type), len(ref.segments)
        near = min(lengths, key=lambda length: abs(length - given))
        form = ".".join(f"<{type_}>" for type_ in reversed(self.names.types_up(ref.type, near)[:near]))
        if len(lengths) == 1:
            has = counted(near, "segments")
        elif lengths == [*range(lengths[0], lengths[-1] + 1)]:
            has = f"{lengths[0]} to {lengths[-1]} segments"
        else:
            has = f"{', '.join(map(str, lengths[:5]))}{' or more' * (len(lengths) > 5)} segments"
        return f"{short(ref.text)}: {indefinite(ref.type)} has {has}, not {given}: write {ref.type}:{short(form)}"

    def root(self, text: str) -> Reference:
        """The reference of a root, from a text such as `metalake:ml` or `ml`. Raises InvalidReference."""
        ref = parse(text if ":" in text else f"{self.root_type}:{text}", self.names.one_segment)
        if ref.type != self.root_type:
            raise InvalidReference(
                f"{short(text)}: the root of the policy {self.name} is {indefinite(self.root_type)}: "
                f"write {self.root_type}:NAME"
            )
        if len(ref.segments) != 1:
            one = Reference(ref.type, (".".join(ref.segments),))
            raise InvalidReference(
                f"{short(text)}: the name of a root is one segment; if the dots are part of the name, write "
                f"{short(one.text)}"
            )
        return ref

    def chain(self, ref: Reference, root: Reference) -> tuple[tuple[str, Reference], ...]:
        """The reference and its ancestors up to the root, each with the name of its place."""
        return ((self.names.place(ref.type, len(ref.segments)), ref), *self._above(ref, root))

    def is_within(self, ref: Reference, object_: Reference, root: Reference) -> bool:
        """Whether a reference is that of an object, or of something below it."""
        return any(each == object_ for _, each in self.chain(ref, root))

    def _above(self, ref: Reference, root: Reference) -> tuple[tuple[str, Reference], ...]:
        """The ancestors. They are kept, because all objects inside them share them, and making them takes time."""
        if ref.type == root.type:
            return ()
        segments = ref.segments[:-1]
        type_ = self.names.types_up(ref.type, len(ref.segments))[1]
        if type_ == root.type:
            return ((type_, root),)
        key = (type_, segments, root.text)
        above = self._chains.get(key)
        if above is None:
            if len(self._chains) >= MANY_CHAINS:
                self._chains.clear()
            above = self.chain(Reference(type_, segments, type_ in self.names.one_segment), root)
            self._chains[key] = above
        return above

    def parent(self, ref: Reference, root: Reference) -> Reference:
        """The parent of a reference. Raises Invalid for the root."""
        chain = self.chain(ref, root)
        if len(chain) == 1:
            raise Invalid(f"{ref} is the root; it has no parent")
        return chain[1][1]

    def place_of(self, type_: str, ref: Reference, root: Reference) -> Reference | None:
        """The object of a type that is the reference or above it, if there is one; the nearest of several."""
        return next((each for _, each in self.chain(ref, root) if each.type == type_), None)

    def require_same_place(
        self, key: str, entry: WithEntry, object_: Reference, second: Reference, root: Reference
    ) -> None:
        """Raises Invalid if a second object must be in the same place as the object, by `inside`, and is not."""
        if entry.inside and self.place_of(entry.inside, object_, root) != self.place_of(entry.inside, second, root):
            raise Invalid(
                f"{key}={second} is in another {entry.inside} than {object_}; name one in the same {entry.inside}"
            )

    # ---- questions -------------------------------------------------------------------------------------------
    def question(
        self, name: str, type_: str, with_: frozenset[str] = frozenset(), lengths: Lengths = ONE_LENGTH
    ) -> Requirement:
        """The requirement of a privilege or operation on a type, with these second objects. Raises UnknownName;
        Invalid if the condition is too large; InvalidPolicy if an older version stored a policy that is refused now."""
        if not isinstance(name, str):
            raise UnknownName(f"{short(repr(name))} is not a string; write a PRIVILEGE or an operation")
        key = (name, type_, with_, lengths)
        known = self._questions.get(key)
        if known is None:
            if len(self._questions) >= MANY_CHAINS:
                self._questions.clear()
            try:
                known = self._ask_privilege(*key) if is_privilege(name) else self._ask_operation(*key)
            except PolicyProblem as problem:
                raise _stored(problem) from None
            self._questions[key] = known
        return known

    def lengths(self, object_: Reference | None, second_objects: Mapping[str, Reference]) -> Lengths:
        """The numbers of segments on which the condition of a question depends. `object_` is None for `which`."""
        if not self.names.vary:
            return ONE_LENGTH
        seconds = (
            (key, len(ref.segments)) for key, ref in sorted(second_objects.items()) if self.names.varies(ref.type)
        )
        varies = object_ is not None and self.names.varies(object_.type)
        return Lengths(len(object_.segments) if object_ and varies else None, tuple(seconds))

    def _ask_privilege(self, name: str, type_: str, with_: frozenset[str], lengths: Lengths) -> Requirement:
        entry = self.names.privilege(name)
        if with_:
            raise UnknownName(f"{name} is a privilege and takes no second object; omit `with`")
        places = set(entry.on) | set(entry.effective or [])
        if type_ not in places and self.file.ask.elsewhere == "error":
            where = ", ".join(self.names.effective(self.names.canonical(name)))
            raise UnknownName(
                f"{name} is never in effect on {indefinite(type_)}, only on {where}; ask about one of these, or add "
                f"{type_} to `on` or `effective` of {name} in the policy"
            )
        try:
            clauses = self._expander.privilege(name, type_, lengths)
        except (TooManyClauses, RecursionError):  # `validate` does not try every number of segments
            raise _too_large(name, type_, with_) from None
        return self._requirement(name, type_, with_, lengths, clauses, self.active_roles, {})

    def _ask_operation(self, name: str, type_: str, with_: frozenset[str], lengths: Lengths) -> Requirement:
        entry = self.names.operation(name, type_)
        self._check_with(name, entry, with_)
        try:
            clauses = self._expander.operation(name, type_, with_, lengths)
        except (TooManyClauses, RecursionError):
            # `validate` tries few numbers of segments, and two sets of second objects: the required ones, and all
            raise _too_large(name, type_, with_) from None
        one_role = self.active_roles and not entry.all_roles
        return self._requirement(name, type_, with_, lengths, clauses, one_role, entry.with_)

    def _requirement(
        self,
        name: str,
        type_: str,
        with_: frozenset[str],
        lengths: Lengths,
        clauses: Clauses,
        one_role: bool,
        entries: Mapping[str, WithEntry],
    ) -> Requirement:
        up = self.names.places_up(type_, lengths.object or self.names.lengths(type_)[0])
        found = Requirement(name, type_, clauses, one_role, entries, self.grants_on_missing, up)
        if not self.names.varies(type_):
            return found

        def of_length(length: int) -> Requirement:
            return self.question(name, type_, with_, Lengths(length, lengths.seconds))

        examples = tuple(each.object or 0 for each in self.names.examples(type_))
        return replace(found, of_length=of_length, lengths=examples)

    @staticmethod
    def _check_with(name: str, entry: ConditionEntry, with_: frozenset[str]) -> None:
        for key in sorted(with_ - entry.with_.keys(), key=str):
            known = ", ".join(entry.with_) or "none"
            raise UnknownName(f"{name} takes no second object {short(str(key))!r} (it takes {known}); omit it")
        for key, second in entry.with_.items():
            if key not in with_ and not second.optional:
                raise UnknownName(
                    f"{name} needs a second object: add `with {key}={second.type}:NAME` "
                    f"(on the command line `--with {key}=...`)"
                )

    def check_names(self, names: Iterable[str]) -> None:
        """Raises UnknownName, which lists each of these names that is not a privilege, operation or type of the policy.

        A service calls it when it starts, with all names that it uses in questions.
        """
        known = [*self.names.privileges, *self.names.operation_types, *self.file.aliases, *self.names.types]
        if isinstance(names, str):
            raise InvalidInput(f"{short(repr(names))} is not a list of names; wrap a single one in a list")
        wrong = [str(name) for name in names if name not in known]
        if wrong:
            each = ", ".join(f"{short(name)}{nearest(name, known)}" for name in wrong)
            raise UnknownName(f"the policy {self.name} has no privilege, operation or type with this name: {each}")

    def names_on(self, type_: str) -> list[str]:
        """All privileges and operations that can be asked on a type, in the policy's order."""
        privileges = [
            name for name, entry in self.names.privileges.items() if type_ in {*entry.on, *(entry.effective or [])}
        ]
        return privileges + [name for (name, on) in self.names.operations if on == type_]

    def types_with(self, name: str) -> list[str]:
        """The types on which a privilege or an operation can be asked, in the policy's order. Raises UnknownName if
        there is none."""
        operation = self.file.aliases.get(name, name)
        known = self.names.operation_types.get(operation, ())
        if name in self.names.privileges:
            known = self.names.effective(self.names.canonical(name))
        if not known:
            self.names.operation(name, self.names.root)  # raises UnknownName, with the names that are similar
        return [type_ for type_ in self.names.types if type_ in known]

    def operator(self, text: str, root: Reference) -> str:
        """The reference of an operator: a user or a service principal. Raises InvalidReference, Unknown, Invalid."""
        ref = self.reference(text, root)
        if ref.type not in self.user_types:
            raise Invalid(f"{ref} cannot be the operator; name a {' or '.join(self.user_types)}")
        return ref.text

    # ---- changes ---------------------------------------------------------------------------------------------
    def change(
        self,
        kind: str,
        type_: str,
        grantee: str | None,
        with_: frozenset[str],
        new_grantee: bool = False,
        lengths: Lengths = ONE_LENGTH,
    ) -> Clauses:
        """The condition for the actor. `grantee` is the type of the subject that gains or loses something;
        `new_grantee`: the actor added it earlier in the same batch. Raises Invalid if the condition is too large with
        these second objects; InvalidPolicy as `question`."""
        key = (kind, type_, grantee, with_, new_grantee, lengths)
        known = self._changes.get(key)
        if known is None:
            if len(self._changes) >= MANY_CHAINS:
                self._changes.clear()
            try:
                known = self._expander.change(*key)
            except (TooManyClauses, RecursionError):  # as in `_ask_operation`
                raise _too_large(kind, type_, with_) from None
            except PolicyProblem as problem:
                raise _stored(problem) from None
            self._changes[key] = known
        return known


def _stored(problem: PolicyProblem) -> InvalidPolicy:
    """The error for a policy that `load` would refuse: an older version stored it with its root."""
    key = ".".join(map(str, problem.key))
    return InvalidPolicy(
        f"the policy stored with the root is invalid: {key}: {problem}; correct its file, then upgrade the root "
        "(`grantpath policy upgrade`)"
    )


def _too_large(name: str, type_: str, with_: frozenset[str]) -> Invalid:
    asked = f"{name} on {indefinite(type_)} with {', '.join(sorted(with_)) or 'no second object'}"
    return Invalid(f"{asked}: the condition is too large when expanded; simplify it in the policy")


def load(name: str, beside: Path | None = None) -> Policy:
    """Loads a built-in policy by name, or a file by path. Raises InvalidPolicy with file, line, key and remedy.

    A built-in policy is compiled once in a process: its file belongs to the program and does not change.
    """
    path = find(name, beside)
    return _built_in(path) if path.parent == BUILT_IN else _compiled(path)


@cache
def _built_in(path: Path) -> Policy:
    return _compiled(path)


def _compiled(path: Path) -> Policy:
    file, document = read(path)
    try:
        policy = Policy(file)
        policy._expander.check_everything()
    except PolicyProblem as problem:
        key = ".".join(str(part) for part in problem.key)
        raise InvalidPolicy(f"{document.place(problem.key)}: {key}: {problem}") from None
    return policy


def warnings(name: str, beside: Path | None = None) -> list[str]:
    """Warnings about a valid policy, with file, line and key (`author_warnings.py`). Raises as `load`."""
    path = find(name, beside)
    file, document = read(path)
    found = author_warnings.warnings(Expander(file, PolicyIndex(file)))
    return [f"{document.place(tuple(key))}: {'.'.join(map(str, key))}: {text}" for key, text in found]


def is_digest(digest: str, source: str) -> bool:
    """Whether a digest is that of the source of a policy, whole or short."""
    whole = _digest(source)
    return digest in (whole, whole[:SHORT])


def _digest(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()


def from_source(source: str) -> Policy:
    """The inverse of `Policy.source`. Raises InvalidPolicy, also if the facts beside it have a newer format."""
    try:
        return Policy(PolicyFile.model_validate_json(source), source)
    except (ValueError, PolicyProblem) as error:
        raise InvalidPolicy(f"the policy stored with the root cannot be read: {error}") from None
