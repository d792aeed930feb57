"""What a policy may say, and its author may not mean: told by `grantpath policy validate`, and refused nowhere."""

from collections.abc import Iterator

from grantpath.engine.policy_names import Key, Names


def warnings(names: Names) -> Iterator[tuple[Key, str]]:
    """Each with the key of the policy file that it is about."""
    if names.file.grants.deny is True:
        yield from _denied_rungs(names)


def _denied_rungs(names: Names) -> Iterator[tuple[Key, str]]:
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
