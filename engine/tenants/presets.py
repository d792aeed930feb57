"""The facts that come with a policy: the built-in subjects of every root, and the roles that all subjects of a type
hold."""

from dataclasses import dataclass
from typing import Any

from grantpath.engine.policy.policy import Policy
from grantpath.graph.reference import name_of, type_of


@dataclass(frozen=True)
class Preset:
    """A relationship of a built-in subject: MEMBER, OWNS, or `ALLOW` with a privilege."""

    kind: str
    subject: str
    object: str


def presets(policy: Policy, root: str) -> set[Preset]:
    """The relationships of the built-in subjects of a root; `root` is the reference of the root object."""
    found: set[Preset] = set()
    for ref, entry in policy.builtins.items():
        found.update(Preset("MEMBER", ref, held) for held in entry.holds)
        found.update(Preset(f"ALLOW {policy.names.canonical(name)}", ref, root) for name in entry.allow)
        found.update(Preset("OWNS", ref, root) for _ in entry.owns)
    return found


def roles_of_every(policy: Policy) -> list[tuple[str, str]]:
    """The roles that every subject of a type holds from its creation, each with that type."""
    return [(ref, entry.held_by_every) for ref, entry in policy.builtins.items() if entry.held_by_every]


def roles_of(policy: Policy, ref: str) -> list[str]:
    """The roles that a subject holds from its creation, because every subject of its type does."""
    return [role for role, type_ in roles_of_every(policy) if type_ == type_of(ref) and role != ref]


def builtins(policy: Policy) -> list[dict[str, Any]]:
    """The built-in subjects of a policy as parameters, with their memberships, grants and ownership."""
    return [
        {
            "ref": ref,
            "type": type_of(ref),
            "name": name_of(ref),
            "labels": policy.labels(type_of(ref)),
            "securable": policy.is_securable(type_of(ref)),
            "allow": [policy.names.canonical(name) for name in entry.allow],
            "owns": bool(entry.owns),
            "holds": [*entry.holds, *roles_of(policy, ref)],
        }
        for ref, entry in policy.builtins.items()
    ]
