"""Checks that a policy file is consistent: first its names, then its conditions, by expanding all of them."""

import re
from collections.abc import Callable, Iterable
from itertools import product
from typing import TYPE_CHECKING

from grantpath.engine.policy.clauses import Clauses, TooManyClauses
from grantpath.engine.policy.expression import WORDS
from grantpath.engine.policy.extend import split
from grantpath.engine.policy.index import OWN_LABELS, ROLE, PolicyIndex, PolicyProblem, YamlPath, label_of
from grantpath.engine.policy.schema import BuiltinEntry, ConditionEntry
from grantpath.graph.errors import InvalidReference
from grantpath.graph.language.near_names import nearest
from grantpath.graph.language.reference import ONE_SEGMENT, parse
from grantpath.graph.messages import indefinite

if TYPE_CHECKING:
    from grantpath.engine.policy.compiler import Expander

_LOWER = re.compile(r"[a-z][a-z0-9_]*\Z")
_UPPER = re.compile(r"[A-Z][A-Z0-9_]*\Z")


def check_names(names: PolicyIndex) -> None:
    """Raises PolicyProblem for the first name that is unknown, duplicate or not allowed."""
    _check_types(names)
    _check_members(names)
    _check_privileges(names)
    _check_tags(names)
    _check_ladders(names)
    _check_operations(names)
    _check_changes(names)
    _check_creating(names)
    for reference, entry in names.file.builtin.items():
        _check_builtin(names, reference, entry)


def _lower(name: str, key: YamlPath) -> None:
    if not _LOWER.match(name):
        raise PolicyProblem(key, f"{name!r} is not in lower_snake_case; rename it")


def _check_types(names: PolicyIndex) -> None:
    for type_, entry in names.types.items():
        _lower(type_, ("types", type_))
        label = label_of(type_)
        if label in OWN_LABELS or (label == ROLE and entry.kind != "role"):
            raise PolicyProblem(("types", type_), f"{type_!r} is a reserved label of the graph; choose another name")
        if entry.kind != "object" and entry.in_ != names.root:
            raise PolicyProblem(("types", type_, "in"), f"a {entry.kind} must be in the root; write `in: {names.root}`")
        if entry.kind == "object" and type_ in ONE_SEGMENT:
            raise PolicyProblem(
                ("types", type_),
                f"{type_!r} is the name of a subject type, whose names are one segment; give it a `kind`, or rename it",
            )
        for owner in entry.owned_by:
            _require_subject(names, owner, ("types", type_, "owned_by"))
    _each_type_once(names, ("in_effect",), names.file.in_effect)
    for name, definition in names.file.define.items():
        _lower(name, ("define", name))
        if name in WORDS:
            raise PolicyProblem(
                ("define", name), f"{name} is a word of conditions, and keeps its meaning there; choose another name"
            )
        if isinstance(definition, dict):
            _each_type_once(names, ("define", name), definition)


def _each_type_once(names: PolicyIndex, key: YamlPath, entries: Iterable[str]) -> None:
    """Checks that keys such as `table, topic` name known types, each of them once."""
    seen: set[str] = set()
    for types in entries:
        for type_ in split(types):
            names.require_type(type_, (*key, types))
            if type_ in seen:
                raise PolicyProblem((*key, types), f"{type_} is listed twice; keep one")
            seen.add(type_)


def _require_subject(names: PolicyIndex, type_: str, key: YamlPath) -> None:
    names.require_type(type_, key)
    if names.types[type_].kind == "object":
        raise PolicyProblem(
            key, f"{type_!r} is not a subject type; give it a `kind`, or name a user, group or role type"
        )


def _check_members(names: PolicyIndex) -> None:
    for container, members in names.file.members.items():
        for type_ in (container, *members):
            _require_subject(names, type_, ("members", container))
        if names.types[container].kind not in ("group", "role"):
            raise PolicyProblem(
                ("members", container), f"{container!r} has no members; name a type whose kind is group or role"
            )
    for section, key, types in (("grants", "to", names.file.grants.to), ("ask", "subjects", names.file.ask.subjects)):
        for type_ in types:
            _require_subject(names, type_, (section, key))
    if names.file.ask.one_role:
        _check_one_role(names)


def _check_one_role(names: PolicyIndex) -> None:
    """With `ask.one_role`, only roles have grants and own objects, and groups and roles are not members of each other:
    a role that acts alone would have what its groups have."""
    roles = {type_ for type_, entry in names.types.items() if entry.kind == "role"}
    if not roles:
        raise PolicyProblem(("ask", "one_role"), "no type has the kind role; add one, or remove one_role")
    owners = [(("types", type_, "owned_by"), entry.owned_by) for type_, entry in names.types.items()]
    for key, types in ((("grants", "to"), names.file.grants.to), *owners):
        for type_ in types:
            if type_ not in roles:
                raise PolicyProblem(
                    key,
                    f"with `ask.one_role` only roles can hold grants and own objects, not {indefinite(type_)}; "
                    "name a role type here",
                )
    for container in roles & names.file.members.keys():
        for type_ in names.file.members[container]:
            if names.types[type_].kind == "group":
                raise PolicyProblem(
                    ("members", container),
                    f"with `ask.one_role` only users and roles can hold a role, not {indefinite(type_)}; "
                    f"remove {type_}",
                )
    for container in names.file.members.keys() - roles:
        for type_ in roles.intersection(names.file.members[container]):
            raise PolicyProblem(
                ("members", container),
                f"with `ask.one_role` {indefinite(type_)} acts alone and cannot be in {indefinite(container)}; "
                f"remove {type_}",
            )


def _check_privileges(names: PolicyIndex) -> None:
    for name, entry in names.privileges.items():
        key = ("privileges", name)
        if "," in name:
            raise PolicyProblem(key, f"{name!r} names several privileges; write a line for each of {name}")
        if not _UPPER.match(name):
            raise PolicyProblem(key, f"{name!r} is not in UPPER_CASE; rename it (only operations are in lower case)")
        for part, types in (("on", entry.on), ("effective", entry.effective or [])):
            for type_ in types:
                names.require_type(type_, (*key, part))
        for other in entry.implies:
            names.require_own_name(other, (*key, "implies"))
        if entry.alias_of:
            _check_alias(names, entry.alias_of, (*key, "alias_of"))
        elif not entry.on and entry.effective is None:
            raise PolicyProblem(key, f"{name} cannot be granted on any type; add `on`")
        for type_ in entry.on if entry.membership else []:
            if type_ not in names.file.members:
                raise PolicyProblem(
                    (*key, "membership"), f"{type_} has no members; add it to `members`, or remove `membership`"
                )


def _check_alias(names: PolicyIndex, other: str, key: YamlPath) -> None:
    names.require_privilege(other, key)
    if names.privileges[other].alias_of:
        raise PolicyProblem(key, f"{other} is itself an alias; name the privilege that it stands for")


def _check_tags(names: PolicyIndex) -> None:
    for tag, entry in names.file.tags.items():
        key = ("tags", tag)
        for type_ in (tag, *entry.on):
            names.require_type(type_, key)
            if names.types[type_].kind != "object":
                raise PolicyProblem(key, f"{type_} is a subject type; tags and what is tagged are objects")
        if names.varies(tag):
            raise PolicyProblem(key, f"references of {tag} have different numbers of segments; use another type")
        if tag == names.root:
            raise PolicyProblem(key, f"{tag} is the root type, of which there is only one object; use another type")
        for other in entry.on:
            if other in names.file.tags:
                raise PolicyProblem(
                    (*key, "on"), f"{indefinite(other)} is itself a tag, and tags are not tagged; remove {other}"
                )
        for name, privilege in names.privileges.items():
            if privilege.membership and tag in privilege.on:
                raise PolicyProblem(
                    ("privileges", name, "on"), f"{name} is a membership, and tags have no members; remove {tag}"
                )


def _check_ladders(names: PolicyIndex) -> None:
    for at, ladder in enumerate(names.file.ladders):
        for name in ladder:
            names.require_own_name(name, ("ladders", at))
        if len(set(ladder)) != len(ladder):
            raise PolicyProblem(("ladders", at), "a privilege is listed twice; name each one once, from low to high")
        _check_rungs(names, at, ladder)
    names.check_implications()


def _check_rungs(names: PolicyIndex, at: int, ladder: list[str]) -> None:
    """Checks for gaps: a privilege that omits a type which both lower and higher ones of its ladder have."""
    for rung, name in enumerate(ladder):
        low = {type_ for other in ladder[:rung] for type_ in names.privileges[other].on}
        high = {type_ for other in ladder[rung + 1 :] for type_ in names.privileges[other].on}
        for type_ in sorted((low & high) - set(names.privileges[name].on)):
            raise PolicyProblem(
                ("ladders", at),
                f"the ladder has a gap: {name} is not granted on {type_}, but lower and higher privileges are; "
                f"add {type_} to the `on` of {name}",
            )


def _check_operations(names: PolicyIndex) -> None:
    for types, entries in names.file.operations.items():
        for written, entry in entries.items():
            key = ("operations", types, written)
            for name in split(written):
                _lower(name, key)
            _no_new_grantee(entry, key)
            for type_ in split(types):
                _check_second_objects(names, type_, entry, key)
    for alias, name in names.file.aliases.items():
        _lower(alias, ("aliases", alias))
        if name not in names.operation_types:
            raise PolicyProblem(
                ("aliases", alias),
                f"the operation {name!r} is unknown{nearest(name, names.operation_types)}; add it to `operations`",
            )
        if alias in names.operation_types:
            raise PolicyProblem(("aliases", alias), f"{alias} is also an operation; keep one of the two")


def _check_changes(names: PolicyIndex) -> None:
    for kind in names.change_kinds:
        _each_type_once(names, ("changes", kind), names.rules(kind))
        for types, entry in names.rules(kind).items():
            for type_ in split(types):
                _check_change(names, kind, type_, ("changes", kind, types))
                _check_second_objects(names, type_, entry, ("changes", kind, types))


def _no_new_grantee(entry: ConditionEntry, key: YamlPath) -> None:
    if entry.if_new:
        raise PolicyProblem((*key, "if_new"), "only rules in `changes.grant` have a grantee; remove it")


def _check_second_objects(names: PolicyIndex, type_: str, entry: ConditionEntry, key: YamlPath) -> None:
    for with_, second in entry.with_.items():
        second_key = (*key, "with", with_)
        _lower(with_, second_key)
        names.require_type(second.type, second_key)
        if second.inside and not all(
            second.inside == each or second.inside in names.above(each) for each in (type_, second.type)
        ):
            raise PolicyProblem(
                second_key, f"{second.inside!r} is not above both {type_} and {second.type}; name a type that is"
            )
        if second.inside in names.repeated:
            raise PolicyProblem(
                (*second_key, "inside"),
                f"an object can be in several of the type {second.inside!r}, one in another; name a type that is not "
                "in itself",
            )


def _check_change(names: PolicyIndex, kind: str, type_: str, key: YamlPath) -> None:
    if kind in ("member", "remove") and type_ not in names.file.members:
        raise PolicyProblem(key, f"{type_} has no members; add it to `members`, or remove the rule")
    if kind == "owner" and not names.types[type_].owned_by:
        raise PolicyProblem(key, f"{type_} has no owner; add `owned_by` to the type, or remove the rule")
    if kind == "tag":
        _check_tagging(names, type_, key)
    if kind in ("grant", "revoke") and type_ not in names.granted_types:
        raise PolicyProblem(key, f"{type_} has no grants; add it to a privilege's `on`, or remove the rule")


def _check_tagging(names: PolicyIndex, type_: str, key: YamlPath) -> None:
    """Each type of tags that an object of the type can have is a second object of the rule, and no other type is."""
    rule = names.change("tag", type_)
    tags = {tag for tag, entry in names.file.tags.items() if type_ in entry.on}
    given = {with_: second.type for with_, second in rule.with_.items()} if rule else {}
    if not tags:
        raise PolicyProblem(key, f"{indefinite(type_)} cannot be tagged; add {type_} to `tags`, or remove the rule")
    for with_, tag in given.items():
        if with_ != tag or tag not in tags:
            raise PolicyProblem(
                (*key, "with", with_),
                f"{indefinite(type_)} is tagged with {' or '.join(sorted(tags))}; write `with: {{TYPE: TYPE}}` with "
                "these types",
            )
    for with_, second in rule.with_.items() if rule else ():
        if not second.optional and len(given) > 1:
            raise PolicyProblem(
                (*key, "with", with_),
                "a statement has one tag, so that no one of several can be required; add `optional: true`",
            )


def _check_creating(names: PolicyIndex) -> None:
    creating = names.file.creating
    if creating == ["owner"]:
        return
    for name in creating:
        if name == "owner":
            raise PolicyProblem(
                ("creating",), "`owner` stands beside privileges; write `owner` alone, or only privileges"
            )
        if name not in names.privileges:
            raise PolicyProblem(
                ("creating",),
                f"{name!r} is neither `owner` nor a privilege{nearest(name, names.privileges)}; name one of these",
            )
        names.require_own_name(name, ("creating",))
        if names.privileges[name].membership:
            raise PolicyProblem(
                ("creating",), f"{name} is stored as a membership; name a privilege without `membership`"
            )


def _check_builtin(names: PolicyIndex, reference: str, entry: BuiltinEntry) -> None:
    key = ("builtin", reference)
    try:
        ref = parse(reference, names.one_segment)
    except InvalidReference as error:
        raise PolicyProblem(key, str(error)) from None
    if ref.text != reference:
        raise PolicyProblem(key, f"{reference} has unnecessary quotes; write {ref.text}")
    type_ = ref.type
    _require_subject(names, type_, key)
    if entry.members == [] and "members" in entry.model_fields_set:
        raise PolicyProblem((*key, "members"), "the list is empty; name the types that can hold it, or remove the key")
    for held in entry.holds:
        if held not in names.file.builtin:
            raise PolicyProblem(
                (*key, "holds"), f"{held} is not in `builtin`{nearest(held, names.file.builtin)}; add it there"
            )
    for owned in entry.owns:
        names.require_type(owned, (*key, "owns"))
        if owned != names.root or type_ not in names.types[owned].owned_by:
            raise PolicyProblem(
                (*key, "owns"), f"{reference} can own only a root that is `owned_by` {type_}; write {names.root}"
            )
    for privilege in entry.allow:
        names.require_own_name(privilege, (*key, "allow"))
        if names.root not in names.privileges[privilege].on:
            raise PolicyProblem(
                (*key, "allow"), f"{privilege} is not granted on {names.root}, the root; add {names.root} to its `on`"
            )
    for member in [*entry.members, *entry.held_by_every]:
        if member not in names.file.members.get(type_, []):
            raise PolicyProblem(
                key, f"{member} cannot be a member of {indefinite(type_)}; add it to `members`, or name another type"
            )


def check_conditions(expander: "Expander") -> None:
    """Expands every privilege, operation and rule. Raises PolicyProblem for the first invalid condition."""
    file, names = expander.file, expander.names
    _parse_all(expander)
    for name in names.privileges:
        for type_ in names.effective(name):
            for lengths in names.examples(type_):
                _guarded(("privileges", name), expander.privilege, name, type_, lengths)
    for types, entries in file.operations.items():
        for written, rule in entries.items():
            key = ("operations", types, written)
            for type_, name in product(split(types), split(written)):
                for with_ in _choices(rule):
                    for lengths in names.examples(type_, {each: rule.with_[each].type for each in with_}):
                        _guarded(key, expander.operation, name, type_, with_, lengths)
    for kind in names.change_kinds:
        for types, rule in names.rules(kind).items():
            for type_ in split(types):
                for grantee, with_ in product(names.grantees(kind, type_), _choices(rule)):
                    for lengths in names.examples(type_, {each: rule.with_[each].type for each in with_}):
                        changed = kind, type_, grantee, with_, False, lengths
                        _guarded(("changes", kind, types), expander.change, *changed)
                for grantee in rule.if_new:
                    new_key = ("changes", kind, types, "if_new", grantee)
                    if kind != "grant" or grantee not in names.grantees(kind, type_):
                        several = len(split(grantee)) > 1
                        remedy = "write a line for each of these types" if several else "remove the line"
                        raise PolicyProblem(new_key, f"no batch grants to a new {grantee} here; {remedy}")
                    for lengths in names.examples(type_):
                        _guarded(new_key, expander.change, kind, type_, grantee, [], True, lengths)


def _parse_all(expander: "Expander") -> None:
    """Parses all conditions in `define` and `in_effect`, including those that nothing refers to."""
    for types, text in expander.file.in_effect.items():
        expander.parse(text, ("in_effect", types))
    for name, definition in expander.file.define.items():
        if isinstance(definition, str):
            expander.parse(definition, ("define", name))
            continue
        for types, text in definition.items():
            expander.parse(text, ("define", name, types))


def _choices(entry: ConditionEntry) -> list[list[str]]:
    """The two sets of second objects to try: the required second objects, and all second objects."""
    needed = [key for key, second in entry.with_.items() if not second.optional]
    return [needed] if len(needed) == len(entry.with_) else [needed, list(entry.with_)]


def _guarded(key: YamlPath, expand: Callable[..., Clauses], *what: object) -> None:
    try:
        expand(*what)
    except PolicyProblem as problem:
        if problem.key[0] in ("define", "in_effect", "privileges"):
            raise
        raise PolicyProblem(key, str(problem)) from None
    except TooManyClauses:
        raise PolicyProblem(key, "the condition is too large when expanded; use fewer alternatives") from None
