"""Random tenants and random changes to them, the same for the same seed, for comparing engine and oracle."""

import random
from itertools import pairwise

from ..oracle import Oracle, oracle
from ..oracle.notation import Ref, read_reference
from .random_names import random_name
from .random_proposals import NOWHERE, Proposals

ROOT_NAME = "main"

Attempt = tuple[str, str | None, str | None]  # statement, by, as_role
Check = tuple[str, str, str, dict[str, str], str | None]  # subject, name, object, with_, as_role

# one subject each who may do much, so that changes by actors are not refused throughout
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


def random_world(policy: str, rng: random.Random, size: int) -> list[str]:
    """About `size` facts, each valid after those before it in an empty tenant called ROOT_NAME.

    However small the size, there is an object of every type, a chain and a diamond of groups and of
    roles where the policy nests them, and a user, a group and a role of one name.
    """
    builder = _Builder(policy, rng)
    for statement in STRONG[policy]:
        builder.say(statement)
    builder.subjects(max(2, size // 30))
    builder.hierarchies()
    builder.objects(max(4, size // 4))
    while len(builder.said) < size:
        if rng.random() < 0.25:
            builder.bundle()
        else:
            builder.any_fact()
    return builder.said


class _Builder:
    """Says facts to an oracle and keeps those that it accepts."""

    def __init__(self, policy: str, rng: random.Random) -> None:
        self.rng = rng
        self.world = oracle(policy, ROOT_NAME)
        self.proposals = Proposals(self.world, rng)
        self.said: list[str] = []

    def say(self, statement: str | None) -> None:
        if statement is not None and self.world.given(statement) == "done":
            self.said.append(statement)

    def subjects(self, count: int) -> None:
        kinds = [each for each in ("user", "group", "role", "service_principal") if each in self.world.types]
        for kind in kinds:
            self.say(f"add {Ref(kind, ('twin',))}")
            for _ in range(count * 2 if kind == "user" else count):
                self.say(f"add {Ref(kind, (random_name(self.rng),))}")

    def hierarchies(self) -> None:
        """A chain six deep, and a diamond: left and right both under top and above bottom."""
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

    def bundle(self) -> None:
        """Much of what some operation may need, on its objects, above and below them, all for one grantee.

        Conditions that ask for several things at once would hardly ever be met by single random grants.
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
        """The different sets of second objects with which something is asked on that type."""
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
            ],
            weights=[45, 25, 12, 10, 3, 3, 2],
        )[0]
        self.say(make())


def random_checks(oracle: Oracle, rng: random.Random, n: int) -> list[Check]:
    """`n` proper checks on this tenant, spread evenly over all that can be asked.

    Half of them look for a yes, as far as a few tries find one: a check of random things nearly always says no.
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
    """`n` changes to try one after the other on a tenant like this oracle's, which stays as it is.

    Something like half are done, a third refused and the rest invalid, as far as the world allows.
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
    """A change with that outcome, or the last one tried; none if there was nothing to propose."""
    attempt = None
    for _ in range(10):
        statement = proposals.broken() if wanted == "invalid" else proposals.change()
        if statement is None:
            continue
        for actor in _actors(world, rng):
            role = None if actor is None else proposals.active_role(read_reference(actor))
            attempt = (statement, actor, role)
            if role is not None and wanted == "invalid" and rng.random() < 0.3:  # a good one, but as nobody
                attempt = (proposals.change() or statement, actor, f"role:{NOWHERE}")
            if world.clone().do(*attempt) == wanted:
                return attempt
    return attempt


def _actors(world: Oracle, rng: random.Random) -> list[str | None]:
    """Some people, one who does not exist, now and then nobody at all."""
    people = sorted(str(each) for each in world.existing if each.type in world.people)
    some: list[str | None] = [*rng.sample(people, min(6, len(people)))]
    if "user:strong" in people:
        some.insert(rng.randrange(3), "user:strong")
    if rng.random() < 0.1:
        some.insert(0, "user:not-there")
    if rng.random() < 0.1:
        some.insert(0, None)
    return some
