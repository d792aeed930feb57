"""Random policies whose questions and changes have several second objects of one type, and an oracle for them.

The oracle keeps facts as sets and evaluates conditions as trees. It does not import the product.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations, product
from typing import Any, NamedTuple

Condition = tuple[
    Any, ...
]  # ("all", ...), ("any", ...), (privilege, place), ("owner", place), ("every", privilege, key)
PRIVILEGES = ("READ", "WRITE", "SHARE")
KEYS = ("source", "grantee", "spare")  # a second object may have the name of a place of other changes
USERS = [f"user:u{number}" for number in range(4)]
TEAMS = ["team:t0", "team:t1"]
CRATES = ["crate:a", "crate:b"]
BOXES = ["box:a.a", "box:a.b", "box:b.a", "box:b.b"]
JARS = ["jar:a.a", "jar:a.b", "jar:b.a"]  # in shelves, whose names are those of crates
ROOT = "org:o"
PLACES = {"crate": CRATES, "box": BOXES, "shelf": ["shelf:a", "shelf:b"], "jar": JARS}
ADDED = {
    "pipe": [f"pipe:p{number}" for number in range(20)],
    "duct": [f"duct:{crate}.p{number}" for crate in "ab" for number in range(4)],
    "box": ["box:a.c", "box:b.c"],
}
MEMBERSHIPS = [*product(USERS, TEAMS), ("team:t0", "team:t1")]
GRANTABLE = [ROOT, *CRATES, *BOXES, *PLACES["shelf"], *JARS, *TEAMS, *USERS]


class Asked(NamedTuple):
    """A check."""

    subject: str
    name: str
    object: str
    with_: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Rule:
    """The condition of an operation or a change, and the types of its second objects.

    `spare`: the further condition if the second object of this name is given, which may be omitted.
    """

    condition: Condition
    with_: Mapping[str, str] = field(default_factory=dict)
    spare: Condition | None = None

    @property
    def entry(self) -> str:
        """The rule as YAML."""
        pairs = ", ".join(
            f'{key}: {{type: {type_}, optional: true, if: "{text_of(self.spare)}"}}'
            if key == "spare" and self.spare
            else f"{key}: {type_}"
            for key, type_ in self.with_.items()
        )
        return f'{{if: "{text_of(self.condition)}"' + (f", with: {{{pairs}}}}}" if pairs else "}")


def text_of(condition: Condition) -> str:
    """A condition as a policy has it."""
    match condition:
        case ("all" | "any" as word, *parts):
            return "(" + (" and " if word == "all" else " or ").join(map(text_of, parts)) + ")"
        case ("every", privilege, place):
            return f"every({privilege} in box below {place})"
        case (word, place):
            return f"{word}({place})"
    raise AssertionError(condition)


class RandomRules:
    """The rules of one random policy. With `deny`, it has DENY; otherwise, conditions about all boxes in a crate."""

    def __init__(self, rng: random.Random, deny: bool) -> None:
        self.deny, self._rng = deny, rng
        self.operations: dict[tuple[str, str], Rule] = {}
        for number in range(3):
            for type_ in ("crate", "box", "jar"):
                self.operations[f"use{number}", type_] = self._with_seconds("object")
        for type_ in ("crate", "box", "jar"):
            self.operations["see", type_] = Rule(self._tree(["object", "parent"]))
        self.changes: dict[tuple[str, str], Rule] = {}
        for type_ in ADDED:
            self.changes["add", type_] = self._with_seconds("parent")
            self.changes["drop", type_] = Rule(self._tree(["parent"]))
        for kind in ("grant", "revoke"):
            for type_ in ("crate", "box"):
                self.changes[kind, type_] = Rule(self._tree(["object", "grantee"]))
        for kind in ("member", "remove"):
            self.changes[kind, "team"] = Rule(self._tree(["object", "grantee"]))

    def _with_seconds(self, place: str) -> Rule:
        keys = KEYS[: self._rng.choice([2, 2, 3])]
        type_ = self._rng.choice(["box", "crate", "jar"] if self.deny else ["crate", "crate", "jar"])
        spare = (self._rng.choice(PRIVILEGES), "with.spare") if "spare" in keys and self._rng.random() < 0.7 else None
        needed = [f"with.{key}" for key in keys if not spare or key != "spare"]
        return Rule(self._tree(needed, place, type_), dict.fromkeys(keys, type_), spare)

    def _tree(self, places: Sequence[str], also: str | None = None, type_: str = "") -> Condition:
        """A condition that treats the places differently."""
        rng, parts = self._rng, list[Condition]()
        words = rng.sample(PRIVILEGES, len(places))
        for place, word in zip(places, words, strict=True):
            parts.append((word, place))
            if not self.deny and type_ == "crate" and rng.random() < 0.6:
                parts[-1] = ("every", word, place)
            elif place.startswith("with.") and type_ != "jar" and rng.random() < 0.2:
                parts[-1] = ("any", parts[-1], ("owner", place))
        if also is not None and rng.random() < 0.5:
            parts.append((rng.choice(PRIVILEGES), also))
        rng.shuffle(parts)
        return ("all" if rng.random() < 0.75 else "any", *parts)

    @property
    def policy(self) -> str:
        """The policy as YAML."""
        lines = ["policy: keys", "types:", "  org: {}", "  crate: {in: org, owned_by: user}"]
        lines += [
            "  box: {in: crate, owned_by: user}",
            "  pipe: {in: org}",
            "  duct: {in: crate}",
            "  shelf: {in: org}",
            "  jar: {in: shelf}",
        ]
        lines += ["  user: {in: org, kind: user}", "  team: {in: org, kind: group}", "members: {team: 'user, team'}"]
        lines += [f"grants: {{to: 'user, team', deny: {str(self.deny).lower()}}}", "privileges:"]
        lines += [f"  {name}: {{on: 'org, crate, box, shelf, jar, user, team'}}" for name in PRIVILEGES]
        for section, rules, inner in (("operations", self.operations, 1), ("changes", self.changes, 0)):
            lines.append(f"{section}:")
            outer = sorted({key[inner] for key in rules})
            for each in outer:
                lines.append(f"  {each}:")
                lines += [f"    {key[1 - inner]}: {rule.entry}" for key, rule in rules.items() if key[inner] == each]
        return "\n".join(lines) + "\n"


def above(ref: str) -> list[str]:
    """A reference with the places above it."""
    type_, _, name = ref.partition(":")
    within = {"box": "crate", "duct": "crate", "jar": "shelf"}
    parents = [f"{within[type_]}:{name.split('.')[0]}"] if type_ in within else []
    return [ref, *parents, *([ROOT] if ref != ROOT else [])]


class KeyWorld:
    """Facts, and what follows from them."""

    def __init__(self, rules: RandomRules, rng: random.Random) -> None:
        self.rules = rules
        self.existing = {ROOT, *USERS, *TEAMS, "pipe:p0", "duct:b.p0"}.union(*PLACES.values())
        self.grants = set[tuple[str, str, str, str]]()
        self.members = {each for each in MEMBERSHIPS if rng.random() < 0.3}
        self.owners = {ref: rng.choice(USERS) for ref in (*CRATES, *BOXES) if rng.random() < 0.3}
        for place, privilege, subject in product(GRANTABLE, PRIVILEGES, (*USERS, *TEAMS)):
            if rng.random() < (0.05 if place == ROOT else 0.25):
                deny = rules.deny and rng.random() < 0.2
                self.grants.add(("deny" if deny else "allow", privilege, place, subject))

    def copy(self) -> "KeyWorld":
        """The same facts, which can then be changed."""
        other = object.__new__(KeyWorld)
        other.rules, other.existing, other.grants = self.rules, {*self.existing}, {*self.grants}
        other.members, other.owners = {*self.members}, {**self.owners}
        return other

    def given(self) -> list[str]:
        """The facts as statements."""
        added = sorted(self.existing - {ROOT}, key=lambda ref: (len(above(ref)), ref))
        facts = [f"add {ref}" for ref in added] + [f"member {one} of {other}" for one, other in sorted(self.members)]
        facts += [f"owner {owner} of {ref}" for ref, owner in sorted(self.owners.items())]
        return facts + [f"{effect} {name} on {place} to {to}" for effect, name, place, to in sorted(self.grants)]

    # ---- decisions -----------------------------------------------------------------------------------------------
    def principals(self, user: str) -> set[str]:
        """A user with its teams."""
        found, size = {user}, 0
        while len(found) > size:
            size = len(found)
            found |= {container for member, container in self.members if member in found}
        return found

    def check(self, asked: Asked) -> bool:
        """The answer to a check."""
        rule = self.rules.operations[asked.name, asked.object.partition(":")[0]]
        places = {"object": asked.object, "parent": above(asked.object)[1], **self._named(asked.with_)}
        return self._meets(rule, asked.subject, places)

    def allows(self, kind: str, user: str, object_: str, with_: Mapping[str, str], grantee: str | None) -> bool:
        """Whether a user may make a change."""
        places = {"object": object_, "parent": above(object_)[1]}
        places |= self._named(tuple(with_.items())) | ({"grantee": grantee} if grantee else {})
        return self._meets(self.rules.changes[kind, object_.partition(":")[0]], user, places)

    @staticmethod
    def _named(with_: Sequence[tuple[str, str]]) -> dict[str, str]:
        return {f"with.{key}": ref for key, ref in with_}

    def _meets(self, rule: Rule, user: str, places: Mapping[str, str]) -> bool:
        spare = rule.spare is None or "with.spare" not in places or self._holds(rule.spare, user, places)
        return spare and self._holds(rule.condition, user, places)

    def _holds(self, condition: Condition, user: str, places: Mapping[str, str]) -> bool:
        match condition:
            case ("all", *parts):
                return all(self._holds(each, user, places) for each in parts)
            case ("any", *parts):
                return any(self._holds(each, user, places) for each in parts)
            case ("owner", place):
                return self.owners.get(places[place]) in self.principals(user)
            case ("every", privilege, place):
                inside = [ref for ref in self.existing if ref.startswith("box:") and places[place] in above(ref)]
                return all(self._granted("allow", privilege, [ref], user) for ref in inside)
            case (privilege, place):
                on = above(places[place])
                return self._granted("allow", privilege, on, user) and not self._granted("deny", privilege, on, user)
        raise AssertionError(condition)

    def _granted(self, effect: str, privilege: str, on: Sequence[str], user: str) -> bool:
        return any((effect, privilege, place, each) in self.grants for place in on for each in self.principals(user))

    # ---- changes -------------------------------------------------------------------------------------------------
    def do(self, statement: str, user: str | None) -> str:
        """Makes a change, if it is possible and the user may make it (None: a fact): done, refused or invalid."""
        words = statement.replace(",", "").split(" ")
        match words:
            case ["add" | "drop" as kind, ref, *rest]:
                if (ref in self.existing) == (kind == "add"):
                    return "invalid"
                with_ = dict(each.split("=") for each in rest[1:])
                if user and not self.allows(kind, user, ref, with_, None):
                    return "refused"
                (self.existing.add if kind == "add" else self.existing.discard)(ref)
            case ["member" | "remove" as kind, one, _, container]:
                if user and not self.allows(kind, user, container, {}, one):
                    return "refused"
                (self.members.add if kind == "member" else self.members.discard)((one, container))
            case [*revoke, effect, privilege, "on", place, _, to]:
                if user and not self.allows("revoke" if revoke else "grant", user, place, {}, to):
                    return "refused"
                (self.grants.discard if revoke else self.grants.add)((effect, privilege, place, to))
        return "done"


# ---- questions and statements ------------------------------------------------------------------------------------
def checks(world: KeyWorld, rng: random.Random, most: int) -> list[Asked]:
    """Checks in random order; of each, all orders of its second objects."""
    found: list[Asked] = []
    asked = list(world.rules.operations.items())
    while len(found) < most:
        (name, type_), rule = rng.choice(asked)
        user, object_ = rng.choice(USERS), rng.choice(PLACES[type_])
        pairs = [(key, rng.choice(PLACES[second])) for key, second in given(rule, rng)]
        found += [Asked(user, name, object_, order) for order in permutations(pairs)]
    rng.shuffle(found)
    return found[:most]


def given(rule: Rule, rng: random.Random) -> list[tuple[str, str]]:
    """The second objects to name, with their types: sometimes without the one that may be omitted."""
    omitted = "spare" if rule.spare and rng.random() < 0.5 else None
    return [(key, type_) for key, type_ in rule.with_.items() if key != omitted]


def statements(world: KeyWorld, rng: random.Random, most: int) -> list[str]:
    """Statements for one batch, about the same few entities; of each `add`, one order of its second objects."""
    return [_statement(world, rng) for _ in range(most)]


def _statement(world: KeyWorld, rng: random.Random) -> str:
    kind = rng.choices(["add", "drop", "grant", "revoke", "member", "remove"], weights=[50, 15, 15, 10, 5, 5])[0]
    if kind in ("add", "drop"):
        type_ = rng.choice([*ADDED])
        ref = rng.choice(ADDED[type_])
        if kind == "drop":
            return f"drop {ref}"
        seconds = given(world.rules.changes["add", type_], rng)
        pairs = [f"{key}={rng.choice(PLACES[second])}" for key, second in seconds]
        return f"add {ref} with {', '.join(rng.sample(pairs, len(pairs)))}"
    if kind in ("member", "remove"):
        one, container = rng.choice(MEMBERSHIPS)
        return f"{kind} {one} {'of' if kind == 'member' else 'from'} {container}"
    effect = "deny" if world.rules.deny and rng.random() < 0.3 else "allow"
    grant = f"{effect} {rng.choice(PRIVILEGES)} on {rng.choice([*CRATES, *BOXES])}"
    to = rng.choice([*USERS, *TEAMS])
    return f"{grant} to {to}" if kind == "grant" else f"revoke {grant} from {to}"
