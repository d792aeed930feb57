"""What a policy may say, and its author may not mean: told by `grantpath policy validate`, and refused nowhere."""

from collections.abc import Iterator
from itertools import product

from grantpath.engine.policy.compiler import Expander
from grantpath.engine.policy.extend import split
from grantpath.engine.policy.index import PolicyIndex, YamlPath


def warnings(expander: Expander) -> Iterator[tuple[YamlPath, str]]:
    """Each with the key of the policy file that it is about; the policy is one that can be used."""
    if expander.file.grants.deny is True:
        yield from _denied_rungs(expander.names)
    yield from _unowned(expander)


def _denied_rungs(names: PolicyIndex) -> Iterator[tuple[YamlPath, str]]:
    """Privileges that imply others, where a DENY of one leaves those that imply it."""
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
    """Operations that ask for the owner of something that has none."""
    for types, entries in expander.file.operations.items():
        for written, rule in entries.items():
            expander.unowned.clear()
            for type_, name in product(split(types), split(written)):
                expander.operation(name, type_, list(rule.with_))
            for key, owned in dict.fromkeys(expander.unowned):
                yield (
                    key if key[0] == "define" else ("operations", types, written),
                    f"owner({owned}) never holds: {owned} has no `owned_by`; add it to the type, or remove the owner",
                )
