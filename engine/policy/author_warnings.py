"""Warnings about valid policies that may not do what their author means; `grantpath policy validate` prints them."""

from collections.abc import Iterator
from itertools import product

from grantpath.engine.policy.compiler import Expander
from grantpath.engine.policy.extend import split
from grantpath.engine.policy.index import PolicyIndex, YamlPath


def warnings(expander: Expander) -> Iterator[tuple[YamlPath, str]]:
    """The warnings about a valid policy, each with the key of the policy file that it is about."""
    if expander.file.grants.deny is True:
        yield from _denied_rungs(expander.names)
    yield from _unowned(expander)


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


def _unowned(expander: Expander) -> Iterator[tuple[YamlPath, str]]:
    """Operations whose condition requires the owner of a type that cannot have one."""
    for types, entries in expander.file.operations.items():
        for written, rule in entries.items():
            expander.unowned.clear()
            for type_, name in product(split(types), split(written)):
                expander.operation(name, type_, list(rule.with_))
            for key, owned in dict.fromkeys(expander.unowned):
                yield (
                    key if key[0] == "define" else ("operations", types, written),
                    f"owner({owned}) never holds: {owned} has no `owned_by`; add it to the type, or remove "
                    f"owner({owned})",
                )
