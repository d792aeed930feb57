"""Random tenants and changes, reproducible by their seed, to compare engine and oracle."""

import random
from itertools import pairwise

from ..oracle import Oracle, oracle
from ..oracle.notation import Ref, read_reference
from .random_names import random_name
from .random_proposals import NOWHERE, Proposals

ROOT_NAME = "main"

Attempt = tuple[str, str | None, str | None]  # statement, by, as_role
Check = tuple[str, str, str, dict[str, str], str | None]  # subject, name, object, with_, as_role

# one subject with many rights, so that not all changes are refused
STRONG = {
    "gravitino": ["owner user:strong of metalake:main", "member user:ops of role:service_admin"],
    "lakehouse": [
        "owner group:strong of metalake:main",
        "member user:strong of group:strong",
        "member user:ops of role:service_admin",
    ],
    "deltastream": [
        "member user:strong of role:ORGADMIN",
        "member user:sid of role:SYSADMIN",
        "member user:sec of role:SECURITYADMIN",
        "member user:una of role:USERADMIN",
        "member user:pat of role:PUBLIC",
    ],
    "onehouse": ["allow ACCOUNT_ADMIN on account:main to user:strong"],
    "cdap": ["allow ADMIN on instance:main to user:strong"],
    "cdap_design": [f"allow {privilege} on instance:main to user:strong" for privilege in ("ADMIN", "WRITE")],
}


def random_world(policy: str, rng: random.Random, size: int, tags: bool = True) -> list[str]:
    """About `size` facts, each valid after those before it in an empty tenant called ROOT_NAME. Without `tags`, no
    object has one.

    Every size includes an object of every type, a chain and a diamond of groups and of
    roles if the policy nests them, and a user, a group and a role with the same name.
    """
    builder = _Builder(policy, rng, tags)
    for statement in STRONG[policy]:
        builder.say(statement)
    builder.subjects(max(2, size // 30))
    builder.hierarchies()
    builder.objects(max(4, size // 4))
    builder.tagged(size // 15)
    while len(builder.accepted) < size:
        if rng.random() < 0.25:
            builder.bundle()
        else:
            builder.any_fact()
    return builder.accepted


class _Builder:
    """Gives facts to an oracle, and collects the accepted ones."""

    def __init__(self, policy: str, rng: random.Random, tags: bool) -> None:
        self.rng, self.tags = rng, tags
        self.world = oracle(policy, ROOT_NAME)
        self.proposals = Proposals(self.world, rng)
        self.accepted: list[str] = []

    def say(self, statement: str | None) -> None:
        if statement is not None and self.world.given(statement) == "done":
            self.accepted.append(statement)

    def subjects(self, count: int) -> None:
        kinds = [each for each in ("user", "group", "role", "service_principal") if each in self.world.types]
        for kind in kinds:
            self.say(f"add {Ref(kind, ('twin',))}")
            for _ in range(count * 2 if kind == "user" else count):
                self.say(f"add {Ref(kind, (random_name(self.rng),))}")

    def hierarchies(self) -> None:
        """A chain of six, and a diamond: left and right are both in top, and bottom is in both."""
        for kind in ("group", "role"):
            if (kind, kind) not in self.world.memberships:
                continue
            chain = [Ref(kind, (f"chain{depth}",)) for depth in range(6)]
            top, left, right, bottom = (Ref(kind, (each,)) for each in ("top", "left", "right", "bottom"))
            for ref in (*chain, top, left, right, bottom):
                self.say(f"add {ref}")
            links = [*pairwise(chain), (bottom, left), (bottom, right)]
            for lower, upper in [*links, (left, top), (right, top)]:
                self.say(f"member {lower} of {upper}")
            for end in (chain[0], bottom):
                self.say(f"member {Ref('user', (f'at {end.segments[0]}',))} of {end}")

    def objects(self, count: int) -> None:
        types = [each for each in self.world.types if each not in (self.world.root_type, "user", "group")]
        for type_ in types:
            self.say(self.proposals.add(type_))
        for _ in range(count):
            self.say(self.proposals.add(self.rng.choice(types)))

    def tagged(self, count: int) -> None:
        """Tags objects, at most `count` times; nothing in a policy without tags."""
        for _ in range(count if self.tags and self.world.taggable else 0):
            self.say(self.proposals.tag())

    def bundle(self) -> None:
        """Many grants that an operation may require, on its objects and the places above and below, for one grantee.

        Single random grants would hardly ever satisfy a condition with several terms.
        """
        grantee, user = self.proposals.one(*self.world.grantees), self.proposals.one("user")
        type_, keys = self.rng.choice(
            [(type_, keys) for type_ in self.world.types for keys in self._second_objects_on(type_)]
        )
        types = [type_, *keys.values()]
        bottoms = [found for type_ in types if (found := self.proposals.one(type_)) is not None]
        share = self.rng.choice([0.4, 0.8, 1.0])
        self.say(f"member {user} of {grantee}")
        if self.rng.random() < 0.4:
            owner = next((each for each in (grantee, user) if each and each.type in self.world.owner_types), None)
            self.say(f"owner {owner} of {bottoms[0] if bottoms else self.world.root}")
        places = [place for bottom in bottoms for place in self.world.upward(bottom)]
        if bottoms and bottoms[0] != self.world.root:
            places += sorted(self.world.existing_inside(bottoms[0]))
        for place in places:
            for privilege, grantable in self.world.privileges.items():
                if place.type in grantable and self.rng.random() < share:
                    self.say(f"allow {privilege} on {place} to {grantee}")

    def _second_objects_on(self, type_: str) -> list[dict[str, str]]:
        """The different sets of second objects of the names on that type."""
        different: list[dict[str, str]] = []
        for _, keys in self.world.names_on(type_):
            if keys not in different:
                different.append(keys)
        return different

    def any_fact(self) -> None:
        make = self.rng.choices(
            [
                self.proposals.grant,
                self.proposals.member,
                self.proposals.owner,
                self.proposals.add_any,
                self.proposals.revoke,
                self.proposals.remove,
                self.proposals.drop,
                self.proposals.tag,
            ],
            weights=[45, 25, 12, 10, 3, 3, 2, 8 if self.tags and self.world.taggable else 0],
        )[0]
        self.say(make())


def random_checks(oracle: Oracle, rng: random.Random, n: int) -> list[Check]:
    """`n` valid checks on this tenant, spread evenly over all names.

    Half of them are chosen to give yes, if a few tries find one, because random checks nearly always give no.
    """
    proposals = Proposals(oracle, rng)
    asked = [(type_, name, keys) for type_ in oracle.types for name, keys in oracle.names_on(type_)]
    checks: list[Check] = []
    while len(checks) < n:
        type_, name, keys = rng.choice(asked)
        wanted = rng.random() < 0.5
        check: Check | None = None
        for _ in range(12):
            check = proposals.check(type_, name, keys) or check
            if check is not None and oracle.check(*check) == wanted:
                break
        if check is not None:
            checks.append(check)
    return checks


def random_statements(policy: str, oracle: Oracle, rng: random.Random, n: int) -> list[Attempt]:
    """`n` changes to try one after the other on a tenant like this oracle's; the oracle is not changed.

    About half are accepted, a third is refused and the rest is invalid, if the world allows.
    """
    if oracle.policy != policy:
        raise ValueError(f"this oracle is of {oracle.policy}, not of {policy}")
    world = oracle.clone()
    proposals = Proposals(world, rng)
    attempts: list[Attempt] = []
    while len(attempts) < n:
        wanted = rng.choices(["done", "refused", "invalid"], weights=[45, 35, 20])[0]
        attempt = _attempt(world, proposals, rng, wanted)
        if attempt is not None:
            world.do(*attempt)
            attempts.append(attempt)
    return attempts


def _attempt(world: Oracle, proposals: Proposals, rng: random.Random, wanted: str) -> Attempt | None:
    """A change with that outcome, else the last one tried; None if no change is possible."""
    attempt = None
    for _ in range(10):
        statement = proposals.broken() if wanted == "invalid" else proposals.change()
        if statement is None:
            continue
        for actor in _actors(world, rng):
            role = None if actor is None else proposals.active_role(read_reference(actor))
            attempt = (statement, actor, role)
            if role is not None and wanted == "invalid" and rng.random() < 0.3:  # a valid change by an unknown actor
                attempt = (proposals.change() or statement, actor, f"role:{NOWHERE}")
            if world.clone().do(*attempt) == wanted:
                return attempt
    return attempt


def _actors(world: Oracle, rng: random.Random) -> list[str | None]:
    """Some actors, an unknown one, and sometimes None."""
    people = sorted(str(each) for each in world.existing if each.type in world.people)
    some: list[str | None] = [*rng.sample(people, min(6, len(people)))]
    if "user:strong" in people:
        some.insert(rng.randrange(3), "user:strong")
    if rng.random() < 0.1:
        some.insert(0, "user:not-there")
    if rng.random() < 0.1:
        some.insert(0, None)
    return some
