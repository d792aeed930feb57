"""A policy that only has privileges, with random ladders and implications, evaluated by docs/writing-a-policy.md."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

TYPES = ("site", "folder", "page")  # each type is inside the one before
ABOVE = {
    "page:a.x": "folder:a",
    "page:a.y": "folder:a",
    "folder:a": "site:ml",
    "page:b.x": "folder:b",
    "folder:b": "site:ml",
}
PLACES = ("site:ml", *ABOVE)
MEMBERS = {"user:ann": ("group:in",), "user:bob": ("group:in", "group:out"), "user:cy": (), "group:in": ("group:out",)}
PEOPLE = ("user:ann", "user:bob", "user:cy")
HOLDERS = (*PEOPLE, "group:in", "group:out")

Grant = tuple[str, str, str, str]  # effect, privilege, place, holder


@dataclass
class Rungs:
    """The direct implications and types of each privilege, whether a DENY cascades, and the grants."""

    deny: str
    ladders: list[list[str]]
    implies: dict[str, list[str]]
    on: dict[str, list[str]]
    inherited: dict[str, bool]
    grants: list[Grant] = field(default_factory=list)

    def policy(self) -> str:
        """The policy file; an operation `do_x` of each type requires the privilege X."""
        lines = ["policy: rungs", f"grants: {{to: 'user, group', deny: {self.deny}}}", "types:", "  site: {}"]
        lines += ["  folder: {in: site}", "  page: {in: folder}"]
        lines += [
            "  user: {in: site, kind: user}",
            "  group: {in: site, kind: group}",
            "members:",
            "  group: user, group",
        ]
        lines += ["privileges:"]
        for name, types in self.on.items():
            implies = f", implies: [{', '.join(self.implies[name])}]" if self.implies[name] else ""
            inherit = "" if self.inherited[name] else ", inherit: false"
            lines.append(f"  {name}: {{on: [{', '.join(types)}]{implies}{inherit}}}")
        lines += ["ladders:", *(f"  - [{', '.join(ladder)}]" for ladder in self.ladders)] if self.ladders else []
        lines += ["operations:"]
        for type_ in TYPES:
            able = [name for name, types in self.on.items() if type_ in types]
            lines += [f"  {type_}:", "    look: everyone", *(f"    do_{name.lower()}: {name}" for name in able)]
        lines += ["changes:", "  grant: {'site, folder, page': everyone}", "  revoke: {'site, folder, page': everyone}"]
        return "\n".join(lines) + "\n"

    def below(self, name: str) -> set[str]:
        """Everything that a privilege implies, directly or indirectly."""
        found: set[str] = set()
        waiting = [name]
        while waiting:
            each = waiting.pop()
            lower = {low for ladder in self.ladders if each in ladder for low in ladder[: ladder.index(each)]}
            fresh = {*self.implies[each], *lower} - found
            found |= fresh
            waiting += fresh
        return found

    def may(self, user: str, name: str, place: str) -> bool:
        """Is the privilege granted, and not denied?"""
        reaching = [each for each in self.grants if self._reaches(each, user, place)]
        allowed = any(effect == "allow" and name in {by, *self.below(by)} for effect, by, _, _ in reaching)
        deniers = {name, *self.below(name)} if self.deny == "cascades" else {name}
        return allowed and not any(effect == "deny" and by in deniers for effect, by, _, _ in reaching)

    def denied(self, user: str, name: str, place: str) -> bool:
        """Does a DENY of exactly this privilege reach the user there?"""
        found = [each for each in self.grants if each[:2] == ("deny", name)]
        return any(self._reaches(each, user, place) for each in found)

    def _reaches(self, grant: Grant, user: str, place: str) -> bool:
        _, name, on, holder = grant
        here = on in self._upward(place) if self.inherited[name] else on == place
        return here and holder in self._holders(user)

    def _upward(self, place: str) -> list[str]:
        return [place, *(self._upward(ABOVE[place]) if place in ABOVE else [])]

    def _holders(self, subject: str) -> set[str]:
        return {subject}.union(*(self._holders(group) for group in MEMBERS.get(subject, ())))


def given(world: Rungs) -> Iterator[str]:
    """The facts of a tenant."""
    for ref in (*HOLDERS, *sorted(ABOVE)):
        yield f"add {ref}"
    for member, groups in MEMBERS.items():
        yield from (f"member {member} of {group}" for group in groups)
    yield from (f"{effect} {name} on {on} to {holder}" for effect, name, on, holder in world.grants)


def random_rungs(rng: random.Random, deny: str, grants: int) -> Rungs:
    """Six privileges on one or two ladders that may share rungs, with further implications and random grants."""
    names = [f"P{at}" for at in range(6)]
    ladders = [sorted(rng.sample(names, rng.randint(2, 4))) for _ in range(rng.randint(0, 2))]
    implies = {
        name: sorted({rng.choice(names[:at]) for _ in range(2) if rng.random() < 0.3})
        for at, name in enumerate(names)
        if at
    }
    on = {name: list(TYPES) for name in names}
    free = [name for name in names if not any(name in ladder for ladder in ladders)]
    for name in free:
        on[name] = sorted(rng.sample(TYPES, rng.randint(1, 3)))
    inherited = {name: rng.random() < 0.85 for name in names}
    world = Rungs(deny, ladders, {"P0": [], **implies}, on, inherited)
    while len(world.grants) < grants:
        name, place = rng.choice(names), rng.choice(PLACES)
        effect = rng.choice(["allow", "allow", "deny"])
        holder = rng.choice(HOLDERS)
        if place.partition(":")[0] in on[name] and (effect, name, place, holder) not in world.grants:
            world.grants.append((effect, name, place, holder))
    return world
