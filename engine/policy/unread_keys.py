"""Refuses keys of a policy that would have no effect: each key is read, or its error says what it needs."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pydantic import BaseModel

from grantpath.engine.policy.clauses import NEVER
from grantpath.engine.policy.extend import split
from grantpath.engine.policy.index import PolicyIndex, PolicyProblem, YamlPath
from grantpath.engine.policy.schema import ConditionEntry
from grantpath.graph.language.reference import parse
from grantpath.graph.messages import indefinite

if TYPE_CHECKING:
    from grantpath.engine.policy.compiler import Expander


def check_read(expander: "Expander") -> None:
    """Raises PolicyProblem for the first key without an effect. The names of the policy are valid."""
    names = expander.names
    for check in (_types, _ask, _creating, _builtin, _declared, _ladders, _operations, _changes):
        for key, text in check(names):
            raise PolicyProblem(key, text)


def check_in_effect(expander: "Expander") -> None:
    """Raises PolicyProblem for a grant, an implication or a condition without an effect. All conditions are valid."""
    for key, text in _privileges(expander):
        raise PolicyProblem(key, text)
    names = expander.names
    for types in expander.file.in_effect:
        for type_ in split(types):
            if not any(
                type_ in names.effective(name) and not names.privileges[name].in_effect for name in names.privileges
            ):
                raise PolicyProblem(
                    ("in_effect", types),
                    f"no privilege is in effect on {indefinite(type_)} by this condition; remove {type_}",
                )


Found = Iterator[tuple[YamlPath, str]]


def _types(names: PolicyIndex) -> Found:
    owners = {owner for entry in names.types.values() for owner in entry.owned_by}
    for type_, entry in names.types.items():
        if entry.keep_while_owning:
            key = ("types", type_, "keep_while_owning")
            if type_ not in owners:
                yield key, f"{indefinite(type_)} owns nothing; add it to the `owned_by` of a type, or remove this key"
            if names.is_protected(type_):
                yield key, f"{indefinite(type_)} is protected and cannot be dropped anyway; remove this key"


def _ask(names: PolicyIndex) -> Found:
    if not names.file.ask.subjects:
        yield ("ask", "subjects"), "no type is named, so nothing could be asked; name one, e.g. user"
    if not names.file.grants.to and names.granted_types:
        yield ("grants", "to"), "no type is named, so no privilege could be granted; name one, e.g. user"


def _creating(names: PolicyIndex) -> Found:
    file = names.file
    kinds = ("role",) if file.ask.one_role else ("user", "service_principal")
    creators = [type_ for type_, entry in names.types.items() if entry.kind in kinds]
    added = [type_ for type_ in names.types if not names.is_protected(type_)]
    if file.creating == ["owner"]:
        if not any({*creators} & {*names.types[type_].owned_by} for type_ in added):
            yield (
                ("creating",),
                f"no type that can be added is `owned_by` a creator; add {' or '.join(creators)} to one",
            )
        return
    if file.creating and not {*creators} & {*file.grants.to}:
        yield ("creating",), f"a creator cannot hold a grant; add {' or '.join(creators)} to `grants.to`"
    for privilege in file.creating:
        if not {*added} & {*names.privileges[privilege].on}:
            yield ("creating",), f"{privilege} is not granted on a type that can be added; name another privilege"


def _builtin(names: PolicyIndex) -> Found:
    for reference, entry in names.file.builtin.items():
        type_ = parse(reference, names.one_segment).type
        if entry.allow and type_ not in names.file.grants.to:
            yield (
                ("builtin", reference, "allow"),
                f"{indefinite(type_)} cannot hold a grant; add {type_} to `grants.to`",
            )
        for held in entry.holds:
            container = parse(held, names.one_segment).type
            allowed = names.file.builtin[held].members or names.file.members.get(container, [])
            if type_ not in allowed:
                yield (
                    ("builtin", reference, "holds"),
                    f"{indefinite(type_)} cannot be a member of {held}; add {type_} to the `members` of {container}",
                )
        for every in entry.held_by_every:
            if entry.members and every not in entry.members:
                yield (
                    ("builtin", reference, "held_by_every"),
                    f"{indefinite(every)} is not in the `members` of {reference}; add it there, or remove it here",
                )


def _declared(names: PolicyIndex) -> Found:
    """Keys of a privilege that another of its keys excludes."""
    for name, entry in names.privileges.items():
        key = ("privileges", name)
        if entry.alias_of:
            for unread in sorted(_written(entry) - {"alias_of"}):
                yield (*key, unread), f"{name} is another name of {entry.alias_of}; remove this key, or write it there"
            continue
        if entry.effective == []:
            yield (*key, "effective"), f"no type is named, so {name} is never in effect; name one"
        if not entry.on:
            for unread in ("inherit", "membership"):
                if unread in _written(entry):
                    yield (*key, unread), f"{name} cannot be granted; add `on`, or remove this key"
        if entry.membership and names.file.grants.deny:
            yield (
                (*key, "membership"),
                "a DENY cannot end a membership; set `grants.deny: false`, or remove this key",
            )


def _ladders(names: PolicyIndex) -> Found:
    for at, ladder in enumerate(names.file.ladders):
        if len(ladder) < 2:
            yield ("ladders", at), "a ladder of one privilege implies nothing; name two or more, from low to high"


def _operations(names: PolicyIndex) -> Found:
    for types, entries in names.file.operations.items():
        for written, entry in entries.items():
            key = ("operations", types, written)
            if entry.new and not names.file.grants.on_missing:
                yield (
                    (*key, "new"),
                    "a question about an object that does not exist is an error in this policy; "
                    "set `grants.on_missing: true`, or remove `new`",
                )
            if entry.all_roles and not names.file.ask.one_role:
                yield (
                    (*key, "all_roles"),
                    "all held roles are always combined; set `ask.one_role: true`, or remove this key",
                )


def _changes(names: PolicyIndex) -> Found:
    for kind in names.change_kinds:
        for types, entry in names.rules(kind).items():
            key = ("changes", kind, types)
            yield from _change_keys(key, kind, entry)
            for type_ in split(types):
                yield from ((key, text) for text in _impossible(names, kind, type_))


def _change_keys(key: YamlPath, kind: str, entry: ConditionEntry) -> Found:
    for unread in ("new", "all_roles", "returns"):
        if unread in _written(entry):
            yield (*key, unread), f"only operations have `{unread}`; remove it from this rule"
    if entry.with_ and kind not in ("add", "tag"):
        yield (*key, "with"), f"only `add` and `tag` take second objects; remove `with` from this rule of `{kind}`"


def _impossible(names: PolicyIndex, kind: str, type_: str) -> Iterator[str]:
    """Why a rule for this change is never asked."""
    if kind in ("rename", "move") and type_ == names.root:
        yield f"the root keeps its name and its place, so no actor can {kind} it; remove the rule"
    elif kind in ("add", "drop", "rename", "move") and names.is_protected(type_):
        yield f"{indefinite(type_)} is protected, so no actor can {kind} it; set `protected: false`, or remove the rule"
    if kind == "move" and names.parents[type_] == (names.root,):
        yield f"{indefinite(type_)} is always directly in the root, so none can be moved; remove the rule"
    if kind in ("member", "remove") and not names.file.members[type_]:
        yield f"{indefinite(type_)} can have no members; add types to its `members`, or remove the rule"
    if kind == "owner" and any(type_ in entry.owns for entry in names.file.builtin.values()):
        yield f"{type_} has its owner by the policy, and it cannot be replaced; remove the rule"
    if kind in ("grant", "revoke"):
        granted = [entry for entry in names.privileges.values() if type_ in entry.on]
        if all(entry.membership for entry in granted):
            other = "member" if kind == "grant" else "remove"
            yield f"each privilege on {indefinite(type_)} is a membership; write the rule under `{other}`"


def _privileges(expander: "Expander") -> Found:
    names = expander.names
    for name, entry in names.privileges.items():
        key = ("privileges", name)
        if entry.alias_of:
            continue
        for type_ in () if entry.membership else entry.on:
            if not any(expander.reaches(name, type_, other) for other in names.effective(name)):
                yield (*key, "on"), f"a grant of {name} on {indefinite(type_)} is never in effect; remove {type_}"
        for type_ in names.effective(name):
            asked = (expander.privilege(name, type_, each) for each in expander.names.examples(type_))
            if all(clauses == NEVER for clauses in asked) and expander.condition(name, type_)[1] != "never":
                yield (
                    (*key, "effective"),
                    f"{name} is never in effect on {indefinite(type_)}: no grant reaches it; remove {type_}",
                )
        for other in entry.implies:
            if not _includes(expander, name, other):
                yield (
                    (*key, "implies"),
                    f"{name} is never in effect where {other} can be, so it cannot include it; remove {other}",
                )
    for at, ladder in enumerate(names.file.ladders):
        for rung, name in enumerate(ladder[1:]):
            if not any(_includes(expander, name, low) for low in ladder[: rung + 1]):
                yield (
                    ("ladders", at),
                    f"{name} is never in effect where {ladder[rung]} can be, so it cannot include it; remove one",
                )


def _includes(expander: "Expander", name: str, other: str) -> bool:
    """Whether there is a type on which a privilege can include another one."""
    return any(expander.includes(name, type_) for type_ in expander.names.effective(other))


def _written(entry: BaseModel) -> set[str]:
    """The keys with another value than the default: a policy that was stored has every key."""
    fields = type(entry).model_fields
    return {
        key
        for key in entry.model_fields_set
        if getattr(entry, key) != fields[key].get_default(call_default_factory=True)
    }
