"""Many membership paths do not slow any verb: ladders with 2^40 paths, cycles, fans 10,000 wide."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from grantpath import cypher
from grantpath.engine import Authorizer, Invalid, Refused
from grantpath.engine.transfer.importer import load

from ...conftest import Closing, Tenants
from ...support import closing_lines
from ...support.many_paths import CYCLE, LOST, LOW, MANY, TABLE, WIDE, build, fan, ladder, rungs, write

pytestmark = pytest.mark.trust

SLOWEST = 20.0  # seconds, on a slow machine; with one more rung a query that follows every path takes twice as long
GROUPS, ROLES = rungs("group"), rungs("role")
LISTED = sorted([LOW, MANY, "user:boss", *fan("user")])
BUILDING = 180.0
SHOWN = 51  # 50 of the many grants on the catalog, and the way to use it


@pytest.fixture(scope="module")
def auth(module_tenant: Tenants, tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Authorizer:
    made, began = module_tenant("lakehouse"), time.monotonic()
    build(made, tmp_path_factory.mktemp("tables"))
    took = time.monotonic() - began
    found = f"many ways: {3 * WIDE:,} subjects with ladders of {len(GROUPS)} rungs loaded in {took:.1f} s"
    closing_lines.lines(pytestconfig).append(found)
    assert took < BUILDING
    return made


def refused(work: Callable[[], object], error: type[Invalid | Refused], text: str) -> Callable[[], object]:
    def tried() -> bool:
        with pytest.raises(error, match=text):
            work()
        return True

    return tried


def ask(auth: Authorizer, query: str, **parameters: Any) -> dict[str, Any]:
    [row] = cypher.load(query).run(auth.store.read, root=auth.tenant, **parameters)
    return dict(row)


def questions(auth: Authorizer) -> dict[str, Callable[[], object]]:
    """The questions, by verb; each is truthy if its answer is right."""
    asked = {"object": TABLE, "privileges": ["SELECT_TABLE"], "places": ["table", "schema", "catalog", "metalake"]}
    top = {"object": GROUPS[-1][0], "subject": GROUPS[0][0], "edge": "MEMBER", "privilege": None, "index": 0}
    return {
        "check yes": lambda: auth.check(LOW, "load_table", TABLE),
        "check no": lambda: not auth.check(LOST, "load_table", TABLE),
        "check of one in many groups": lambda: auth.check(MANY, "create_schema", "catalog:c"),
        "check_many of 100": lambda: all(
            auth.check_many([(user, "load_table", TABLE) for user in [LOW, *fan("user")[:99]]])
        ),
        "one privilege": lambda: ask(auth, "privilege", subject=LOW, **asked)["allowed"],
        "one privilege of one in many groups": lambda: ask(auth, "privilege", subject=MANY, **asked)["allowed"],
        "who": lambda: list(auth.who("load_table", TABLE)) == LISTED,
        "who with many grants": lambda: list(auth.who("create_schema", "catalog:c")) == ["user:boss", MANY],
        "which": lambda: list(auth.which("table", LOW, "load_table")) == [TABLE],
        "which of one in many groups": lambda: list(auth.which("table", MANY, "load_table")) == [TABLE],
        "which roles": lambda: list(auth.which("role", LOW, "get_role")),
        "explain yes": lambda: auth.explain(LOW, "load_table", TABLE).paths,
        "explain to one in many groups": lambda: len(auth.explain(MANY, "create_schema", "catalog:c").paths) == SHOWN,
        "revocation": lambda: auth.revocation(LOW, "load_table", TABLE).statements,
        "revocation of one in many groups": lambda: auth.revocation(MANY, "create_schema", "catalog:c").statements,
        "explain no, with a remedy": lambda: auth.explain(LOST, "load_table", TABLE).remedy,
        "held": lambda: len(ask(auth, "effective_principals", subjects=[LOW])["held"]) > 4 * len(GROUPS),
        "states": lambda: (
            ask(auth, "preconditions", refs=[], top="metalake:ml", joining=[GROUPS[0][0]], changes=[top])["states"][0][
                "above"
            ]
            == []
        ),
        "log": lambda: auth.log(limit=5),
    }


def changes(auth: Authorizer, folder: Path) -> dict[str, Callable[[], object]]:
    """The changes, in an order in which each is valid."""
    low, high = GROUPS[0][0], GROUPS[-1][1]
    boss: dict[str, Any] = {"by": "user:boss"}
    return {
        "member of a ladder": lambda: auth.change(f"member {LOST} of {low}", **boss),
        "member, a ladder below another": lambda: auth.change(f"member {ROLES[-1][0]} of {ROLES[-1][1]}", **boss),
        "member that closes a cycle": refused(
            lambda: auth.change(f"member {high} of {low}", **boss), Invalid, "would close a cycle"
        ),
        "member of a cycle": lambda: auth.change(f"member group:wide of {CYCLE[1]}", **boss),
        "change by one at the foot": refused(lambda: auth.change(f"add {LOST}-2", by=LOW), Refused, "is refused"),
        "change by one in many groups": refused(lambda: auth.change(f"add {LOST}-2", by=MANY), Refused, "is refused"),
        "remove": lambda: auth.change(f"remove {LOST} from {low}", **boss),
        "allow": lambda: auth.change(f"allow MODIFY_TABLE on {TABLE} to {GROUPS[5][0]}", **boss),
        "deny": lambda: auth.change(f"deny MODIFY_TABLE on {TABLE} to {GROUPS[6][0]}", **boss),
        "revoke": lambda: auth.change(f"revoke deny MODIFY_TABLE on {TABLE} from {GROUPS[6][0]}", **boss),
        "owner": lambda: auth.change(f"owner {GROUPS[-1][0]} of metalake:ml", **boss),
        "change by an owner above": lambda: auth.change("add schema:c.new", by=LOW),
        "change_all of 100 by an owner above": lambda: auth.change_all(
            [f"member {user} of {GROUPS[7][0]}" for user in fan("user")[:100]], by=LOW
        ),
        "change_all that joins 100 groups": lambda: auth.change_all(
            [f"member {group} of {GROUPS[20][0]}" for group in fan("group")[:100]], by=LOW
        ),
        "drop of a rung": lambda: auth.change(f"drop {GROUPS[0][1]}", by=LOW),
        "drop of a wide group": lambda: auth.change("drop group:wide", by=LOW),
        "load": lambda: load(auth, write(folder, members=[(LOST, low), (low, "group:round-1")])),
        "load that closes a cycle": refused(
            lambda: load(auth, write(folder, members=[(GROUPS[-1][0], low)])), Invalid, "closes a cycle"
        ),
    }


def timed(verbs: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The duration of each; for questions without the first run of a query, which plans it."""
    took = {}
    for name, work in verbs.items():
        began = time.monotonic()
        assert work(), name
        took[name] = time.monotonic() - began
    return took


def said(took: dict[str, float]) -> str:
    slowest = sorted(took.items(), key=lambda each: -each[1])[:6]
    return ", ".join(f"{name} {seconds:.2f} s" for name, seconds in slowest)


def test_many_membership_paths_do_not_slow_questions(auth: Authorizer, closing: Closing) -> None:
    timed(questions(auth))
    took = timed(questions(auth))
    closing(f"many ways, {len(took)} questions, the slowest: {said(took)}")
    assert max(took.values()) < SLOWEST, said(took)


@pytest.mark.slow
def test_many_membership_paths_do_not_slow_changes(auth: Authorizer, closing: Closing, tmp_path: Path) -> None:
    took = timed(changes(auth, tmp_path / "tables"))
    closing(f"many ways, {len(took)} changes, the slowest: {said(took)}")
    assert max(took.values()) < SLOWEST, said(took)


@pytest.mark.slow
def test_one_role_questions_are_as_fast(tenant: Tenants, closing: Closing, tmp_path: Path) -> None:
    auth, roles = tenant("deltastream"), fan("role")[:1000]
    subjects = [
        (ref,) for ref in [LOW, MANY, "role:top", *roles, *ROLES[0], *(role for rung in ROLES[1:] for role in rung)]
    ]
    members = [*ladder("role"), *((role, "role:top") for role in ROLES[-1])]
    members += [(LOW, ROLES[0][0]), *((MANY, role) for role in roles), (roles[7], ROLES[0][1])]
    grants = [("allow", "USAGE", "database:d", "role:top")]
    load(auth, write(tmp_path / "in", subjects=subjects, members=members, objects=[("database:d",)], grants=grants))
    verbs: dict[str, Callable[[], object]] = {
        "check": lambda: auth.check(LOW, "USAGE", "database:d"),
        "check of one with 1,000 roles": lambda: auth.check(MANY, "USAGE", "database:d"),
        "who": lambda: list(auth.who("USAGE", "database:d")) == [LOW, MANY],
        "which": lambda: list(auth.which("database", MANY, "USAGE")) == ["database:d"],
        "explain": lambda: auth.explain(MANY, "USAGE", "database:d").paths,
        "revocation": lambda: auth.revocation(MANY, "USAGE", "database:d").statements,
    }
    timed(verbs)
    took = timed(verbs)
    closing(f"many ways, one role at a time: {said(took)}")
    assert max(took.values()) < SLOWEST, said(took)
