"""Warnings about valid policies that may not do what their author means; `grantpath policy validate` prints them."""

from collections.abc import Iterator
from itertools import product

from grantpath.engine.policy.compiler import Expander
from grantpath.engine.policy.extend import split
from grantpath.engine.policy.index import Lengths, PolicyIndex, YamlPath
from grantpath.engine.policy.schema import ConditionEntry
from grantpath.engine.policy.scope import PLACES
from grantpath.graph.messages import indefinite


def warnings(expander: Expander) -> Iterator[tuple[YamlPath, str]]:
    """The warnings about a valid policy, each with the key of the policy file that it is about."""
    if expander.file.grants.deny is True:
        yield from _denied_rungs(expander.names)
    yield from _named_like_places(expander.names)
    yield from _unasked(expander.names)
    yield from _uncounted(expander)
    yield from _impossible(expander)
    yield from _unused(expander)


def _denied_rungs(names: PolicyIndex) -> Iterator[tuple[YamlPath, str]]:
    """Privileges that imply others: a DENY of an implied privilege leaves the privileges that imply it in effect."""
    remedy = "to deny those, too, write `deny: cascades` under `grants`"
    for at, ladder in enumerate(names.file.ladders):
        if len(ladder) > 1:
            low, *high = ladder
            yield (
                ("ladders", at),
                f"with `deny: true` a DENY of {low} does not deny {', '.join(high)}; {remedy}",
            )
    for name, entry in names.privileges.items():
        if entry.implies:
            yield (
                ("privileges", name, "implies"),
                f"with `deny: true` a DENY of {' or '.join(entry.implies)} does not deny {name}; {remedy}",
            )


def _named_like_places(names: PolicyIndex) -> Iterator[tuple[YamlPath, str]]:
    """Types with the name of a place, which conditions do not read as the type."""
    for type_ in names.types:
        if type_ in PLACES and not type_ == names.root == "root":
            yield (
                ("types", type_),
                f"in conditions, {type_} is a place ({PLACES[type_]}), not this type; choose another name for the type",
            )


def _unasked(names: PolicyIndex) -> Iterator[tuple[YamlPath, str]]:
    """Types that `who` and bulk answers list, and about which no check can be asked."""
    for type_, entry in names.types.items():
        if entry.kind in ("user", "service_principal") and type_ not in names.file.ask.subjects:
            yield (
                ("types", type_),
                f"`who` and bulk answers list {indefinite(type_)}, but checks about one are refused; add {type_} to "
                "`subjects` under `ask`",
            )


def _uncounted(expander: Expander) -> Iterator[tuple[YamlPath, str]]:
    """Conditions under which a privilege is in effect that do not read whether it is granted, although it can be."""
    told = set()
    for name, entry in expander.names.privileges.items():
        for type_ in expander.names.effective(name) if entry.on and not entry.alias_of else ():
            key, text = expander.condition(name, type_)
            if key not in told and "granted" not in expander.words(text):
                told.add(key)
                yield (
                    key,
                    f"a grant of {name} never counts on {type_}, because the condition does not contain `granted`; "
                    "write `... and granted` for a gate, or `... or granted`",
                )


def _impossible(expander: Expander) -> Iterator[tuple[YamlPath, str]]:
    """Operations and rules of `changes` whose condition requires what never holds: the owner of a type that cannot have
    one, or in `changes` a privilege where it is never in effect."""
    names = expander.names
    for types, entries in expander.file.operations.items():
        for written, rule in entries.items():
            for type_, name in product(split(types), split(written)):
                for lengths in _examples(names, type_, rule):
                    expander.operation(name, type_, list(rule.with_), lengths)
            yield from _told(expander, ("operations", types, written))
    for kind in names.change_kinds:
        for types, rule in names.rules(kind).items():
            for type_ in split(types):
                for lengths, grantee in product(_examples(names, type_, rule), names.grantees(kind, type_)):
                    expander.change(kind, type_, grantee, list(rule.with_), lengths=lengths)
            yield from _told(expander, ("changes", kind, types))


def _examples(names: PolicyIndex, type_: str, rule: ConditionEntry) -> list[Lengths]:
    return list(names.examples(type_, {key: each.type for key, each in rule.with_.items()}))


def _told(expander: Expander, at: YamlPath) -> Iterator[tuple[YamlPath, str]]:
    """A warning for each part of the conditions which were expanded last that never holds."""
    for key, text in dict.fromkeys(expander.never_holds):
        yield key if key[0] == "define" else at, text
    expander.never_holds.clear()


def _unused(expander: Expander) -> Iterator[tuple[YamlPath, str]]:
    """Definitions that no condition names, and second objects that no condition restricts."""
    file = expander.file
    texts = [*file.in_effect.values(), *(entry.in_effect for entry in file.privileges.values() if entry.in_effect)]
    for definition in file.define.values():
        texts += [definition] if isinstance(definition, str) else definition.values()
    for _, rule in _rules(expander.names):
        texts += [rule.if_, *rule.if_new.values(), *(second.if_ for second in rule.with_.values() if second.if_)]
    words = {word for text in texts for word in expander.words(text)}
    for name in file.define:
        if name not in words:
            yield ("define", name), "no condition names this definition; remove it"
    for key, rule in _rules(expander.names):
        for with_, second in rule.with_.items():
            own = [rule.if_, *filter(None, (each.if_ for each in rule.with_.values()))]
            if not second.inside and not any(expander.names_place(text, f"with.{with_}") for text in own):
                yield (
                    (*key, "with", with_),
                    f"no condition names with.{with_}, so any {second.type} is accepted; name it in `if`, or remove it",
                )


def _rules(names: PolicyIndex) -> Iterator[tuple[YamlPath, ConditionEntry]]:
    """Every operation and every rule for a change, with its key."""
    for types, entries in names.file.operations.items():
        for written, rule in entries.items():
            yield ("operations", types, written), rule
    for kind in names.change_kinds:
        for types, rule in names.rules(kind).items():
            yield ("changes", kind, types), rule
