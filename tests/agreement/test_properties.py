"""Properties of every graph: a new DENY or a lost ALLOW never allows more; order and repetition do not matter.

Each example is a small world, with names of its own, in one real tenant a policy. GRANTPATH_SEED chooses other worlds.
"""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, note, seed, settings
from hypothesis import strategies as st

from grantpath.engine import Authorizer

from ..conftest import Tenants
from ..support.twin import SEED

OBJECTS = ["catalog:c", "schema:c.s", "table:c.s.t", "table:c.s.u"]
PLACES = ["metalake:ml", *OBJECTS]
GRANTABLE = {
    "USE_CATALOG": PLACES[:2],
    "USE_SCHEMA": PLACES[:3],
    "CREATE_TABLE": PLACES[:3],
    "SELECT_TABLE": PLACES,
    "MODIFY_TABLE": PLACES,
}
# by which a user can read from the start, so that an ALLOW can be removed
PATH = [
    "allow USE_CATALOG on metalake:ml to role:r",
    "allow USE_SCHEMA on catalog:c to role:r",
    "allow SELECT_TABLE on schema:c.s to role:r",
    "member user:a of role:r",
]
ASKED = {
    "catalog:c": ["USE_CATALOG", "load_catalog", "create_schema"],
    "schema:c.s": ["USE_SCHEMA", "CREATE_TABLE", "load_schema", "create_table", "drop_schema"],
    "table:c.s.t": ["SELECT_TABLE", "MODIFY_TABLE", "load_table", "alter_table", "drop_table"],
    "table:c.s.u": ["SELECT_TABLE", "load_table", "alter_table"],
}


@dataclass(frozen=True)
class Kind:
    """The entities, privileges and places that facts of a policy use. Memberships cannot form a cycle."""

    members: list[str]
    grantees: list[str]
    owners: list[str]


KINDS = {
    "gravitino": Kind(
        members=[
            "user:a of group:g",
            "group:g of role:q",
            "user:b of role:q",
            "group:g of role:r",
            "user:b of group:g",
        ],
        grantees=["role:r", "role:q"],
        owners=["user:a", "user:b"],
    ),
    "lakehouse": Kind(
        members=[
            "user:a of group:g",
            "group:g of group:h",
            "group:h of role:q",
            "role:q of role:r",
            "user:b of group:h",
        ],
        grantees=["role:r", "role:q", "group:g", "group:h", "user:a", "user:b"],
        owners=["user:a", "group:h", "role:q", "role:r"],
    ),
}
EVERY_POLICY = pytest.mark.parametrize("policy", KINDS)
few = settings(
    max_examples=20,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)


def grants(policy: str, effect: str) -> st.SearchStrategy[str]:
    """A random grant with this effect."""
    possible = [
        f"{effect} {privilege} on {place} to {grantee}"
        for privilege, places in GRANTABLE.items()
        for place in places
        for grantee in KINDS[policy].grantees
    ]
    return st.sampled_from(possible)


def worlds(policy: str) -> st.SearchStrategy[list[str]]:
    """The path, with more memberships, grants and owners, without duplicates."""
    owner = st.builds("owner {} of {}".format, st.sampled_from(KINDS[policy].owners), st.sampled_from(OBJECTS))
    return st.builds(
        lambda *parts: list(dict.fromkeys([*PATH, *(fact for part in parts for fact in part)])),
        st.lists(st.sampled_from([f"member {each}" for each in KINDS[policy].members]), max_size=4),
        st.lists(grants(policy, "allow"), max_size=4),
        st.lists(grants(policy, "deny"), max_size=2),
        st.lists(owner, max_size=2, unique_by=lambda fact: fact.split()[-1]),
    )


@dataclass
class Worlds:
    """Small worlds in one tenant, and the numbers of questions and answers."""

    tenant: Authorizer
    made: int = 0
    decided: int = 0
    allowed: int = 0
    changed: int = 0

    def make(self, facts: list[str]) -> int:
        """Creates a world with these facts; returns its number."""
        self.made += 1
        roles = [f"add role:{name}" for name in ("r", "q")]
        self.say(self.made, [f"add {object_}" for object_ in OBJECTS] + roles + ["add user:a", "add user:b", *facts])
        return self.made

    def say(self, world: int, facts: list[str]) -> None:
        """Adds facts to a world."""
        assert self.tenant.given(own(world, fact) for fact in facts) == [None] * len(facts)

    def answers(self, world: int) -> dict[tuple[str, str, str], bool]:
        """All possible questions about a world, with their answers."""
        asked = [
            (subject, name, object_)
            for subject in ("user:a", "user:b")
            for object_, names in ASKED.items()
            for name in names
        ]
        decisions = self.tenant.check_many((own(world, s), name, own(world, o)) for s, name, o in asked)
        self.decided += len(asked)
        self.allowed += sum(map(bool, decisions))
        return {check: bool(decision) for check, decision in zip(asked, decisions, strict=True)}

    def only_closes(self, world: int, before: dict[tuple[str, str, str], bool], fact: str) -> None:
        """Writes the fact; every check that was refused before must still be refused."""
        self.say(world, [fact])
        after = self.answers(world)
        opened = [check for check, allowed in after.items() if allowed and not before[check]]
        assert not opened, f"{fact!r} allowed {opened}"
        self.changed += sum(before[check] != after[check] for check in before)
        before.update(after)


def own(world: int, fact: str) -> str:
    """A fact with the names of a world; all worlds share the root."""
    words = [
        word if word.startswith("metalake:") or ":" not in word else word.replace(":", f":w{world}-", 1)
        for word in fact.split(" ")
    ]
    return " ".join(words)


@pytest.fixture
def show(capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest) -> Callable[[Worlds], None]:
    """Prints the counts even if pytest captures output."""

    def shown(worlds: Worlds) -> None:
        with capsys.disabled():
            print(
                f"\n{request.node.name}: {worlds.made} worlds, {worlds.decided:,} decisions, {worlds.allowed:,} allowed"
                f", {worlds.changed} closed; GRANTPATH_SEED={SEED}"
            )

    return shown


@EVERY_POLICY
def test_adding_a_deny_never_allows_more(policy: str, tenant: Tenants, show: Callable[[Worlds], None]) -> None:
    these = Worlds(tenant(policy))

    @seed(SEED)
    @few
    @given(worlds(policy), st.lists(grants(policy, "deny"), min_size=1, max_size=3, unique=True))
    def attempt(facts: list[str], denies: list[str]) -> None:
        note(f"GRANTPATH_SEED={SEED}")
        world = these.make(facts)
        before = these.answers(world)
        for deny in denies:
            these.only_closes(world, before, deny)

    attempt()
    show(these)
    assert these.changed > 10
    assert these.allowed > 100


@EVERY_POLICY
def test_removing_an_allow_never_allows_more(policy: str, tenant: Tenants, show: Callable[[Worlds], None]) -> None:
    these = Worlds(tenant(policy))

    @seed(SEED)
    @few
    @given(worlds(policy), st.data())
    def attempt(facts: list[str], data: st.DataObject) -> None:
        note(f"GRANTPATH_SEED={SEED}")
        allows = [fact for fact in facts if fact.startswith("allow")]
        lost = data.draw(st.lists(st.sampled_from(allows), min_size=1, max_size=3, unique=True))
        world = these.make(facts)
        before = these.answers(world)
        for allow in lost:
            these.only_closes(world, before, f"revoke {allow}".replace(" to ", " from "))

    attempt()
    show(these)
    assert these.changed > 10
    assert these.allowed > 100


@EVERY_POLICY
def test_order_and_repetition_of_facts_do_not_matter(
    policy: str, tenant: Tenants, show: Callable[[Worlds], None]
) -> None:
    these = Worlds(tenant(policy))

    @seed(SEED)
    @few
    @given(worlds(policy), st.data())
    def attempt(facts: list[str], data: st.DataObject) -> None:
        note(f"GRANTPATH_SEED={SEED}")
        repeated = data.draw(st.lists(st.sampled_from(facts), max_size=5))
        shuffled = data.draw(st.permutations([*facts, *repeated]))
        one, other = these.make(facts), these.make(shuffled)
        assert these.answers(one) == these.answers(other)

    attempt()
    show(these)
    assert these.allowed > 100
