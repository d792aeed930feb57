"""A role that is asked about with another active role: only what the active role has counts, wherever it is asked.

Policy deltastream, rules 3 and 5: a role is asked about as a holder of it would be, and with `as role:X` the check is
done with X and what X inherits, and nothing else.
"""

from collections.abc import Iterator
from pathlib import Path

from grantpath.engine import Authorizer
from grantpath.engine.facts.snapshot.snapshot_questions import ask
from grantpath.graph.language.statement import Check

from ...conftest import Tenants
from ...oracle import oracle
from ...support.by_name import by_name
from ...support.plain_access import write_snapshot
from ...support.with_replica import with_replica

FACTS = [
    *(f"add role:{name}" for name in ("analyst", "lead", "other")),
    *(f"add database:{name}" for name in ("mine", "theirs", "owned")),
    "member role:lead of role:analyst",
    "allow USAGE on database:mine to role:lead",
    "allow USAGE on database:theirs to role:analyst",
    "owner role:lead of database:owned",
    "allow MANAGE_GRANTS on organization:ml to role:lead",
]
AS = "role:analyst"
HELD = ("role:lead", "USAGE", "database:theirs")
NOT_HELD = [
    ("role:lead", "USAGE", "database:mine"),
    ("role:lead", "USAGE", "database:owned"),
    ("role:lead", "drop_database", "database:owned"),
    ("role:lead", "grant_privileges", "database:mine"),
]


def modes(auth: Authorizer) -> Iterator[tuple[Authorizer, int | None]]:
    """The root by Cypher, from memory, and as it was at this revision."""
    yield auth, None
    yield with_replica(auth), None
    yield auth, auth.revision_now()


def test_only_the_active_role_counts_in_every_mode(tenant: Tenants) -> None:
    auth = tenant("deltastream", FACTS)
    checks = [Check(subject=who, name=name, object=on, as_role=AS) for who, name, on in [HELD, *NOT_HELD]]
    for asked, as_of in modes(auth):
        assert asked.check(*HELD, as_role=AS, as_of=as_of).because == [
            "role:lead acts as role:analyst",
            "role:analyst has ALLOW USAGE on database:theirs",
        ]
        assert asked.explain(*HELD, as_role=AS, as_of=as_of).paths == [
            "role:lead -HAS_ROLE-> role:analyst -ALLOW USAGE-> database:theirs"
        ]
        for each in NOT_HELD:
            assert not asked.check(*each, as_role=AS, as_of=as_of), each
            assert asked.check(*each, as_of=as_of) and asked.check(*each, as_role="role:lead", as_of=as_of), each
            assert not asked.check(HELD[0], *each[1:], as_role="role:other", as_of=as_of), each
        assert [each.allowed for each in asked.check_many(checks, as_of=as_of)] == [True, *[False] * len(NOT_HELD)]
        assert list(asked.which("database", "role:lead", "USAGE", as_role=AS, as_of=as_of)) == ["database:theirs"]
        assert list(asked.which("database", "role:lead", "USAGE", as_of=as_of)) == [
            "database:mine", "database:owned", "database:theirs",
        ]  # fmt: skip


def test_remedy_gives_to_the_active_role(tenant: Tenants) -> None:
    auth = tenant("deltastream", FACTS)
    for asked, as_of in modes(auth):
        explained = asked.explain(*NOT_HELD[0], as_role=AS, as_of=as_of)
        assert not explained.allowed
        assert explained.remedy == ["allow USAGE on database:mine to role:analyst"]
    auth.change(explained.remedy[0])
    assert auth.check(*NOT_HELD[0], as_role=AS)


def test_role_cannot_act_as_a_role_that_holds_it(tenant: Tenants) -> None:
    auth = tenant("deltastream", FACTS)
    for asked, as_of in modes(auth):
        explained = asked.explain("role:analyst", "USAGE", "database:mine", as_role="role:lead", as_of=as_of)
        assert explained.missing == [
            "no change allows it: role:lead holds role:analyst, so role:analyst cannot hold role:lead"
        ]
        assert (explained.allowed, explained.remedy) == (False, [])


def test_inspection_of_a_role_with_an_active_role(tenant: Tenants) -> None:
    auth = tenant("deltastream", FACTS)
    assert auth.revocation(*HELD, as_role=AS).statements in (
        ("revoke allow USAGE on database:theirs from role:analyst",),
        ("remove role:lead from role:analyst",),
    )
    assert "USAGE" not in auth.can("role:lead", "database:mine", as_role=AS).allowed
    assert "USAGE" in auth.can("role:lead", "database:mine").allowed
    assert auth.since(*HELD, as_role=AS).allowed
    assert not auth.since(*NOT_HELD[0], as_role=AS).allowed


def test_browser_and_snapshot_agree(tenant: Tenants, tmp_path: Path) -> None:
    auth, world = tenant("deltastream", FACTS), oracle("deltastream", "ml")
    assert [world.given(fact) for fact in FACTS] == ["done"] * len(FACTS)
    snapshot = write_snapshot(world, tmp_path / "snapshot")
    for who, name, on in [HELD, *NOT_HELD]:
        wanted = (who, name, on) == HELD
        assert world.check(who, name, on, {}, AS) is wanted
        assert by_name(auth, "check_by_name", who, name, on, {}, AS)["allowed"] is wanted
        assert ask(snapshot, f"{who} as {AS} can {name} on {on}").answer is wanted
        assert ask(snapshot, f"{who} can {name} on {on}").answer is True
    assert ask(snapshot, f"which database can role:lead as {AS} USAGE").answer == ["database:theirs"]
