"""Without the undocumented parts of the driver that a store uses, it still answers and writes, and warns once."""

import ast
import logging
from collections.abc import Collection
from pathlib import Path
from typing import Any, ClassVar

import pytest

from grantpath.engine import Authorizer
from grantpath.graph.client import connections, driver_internals
from grantpath.graph.client.connection import Connection
from grantpath.graph.guard.store import Store

from ..conftest import Tenants

HOUSE = Path(driver_internals.__file__).parents[2]
PACKAGES = [HOUSE / name for name in ("cypher", "engine", "graph", "spark_sync")]
PARTS = ["_pool", "_pipelined_begin", "_socket", "set_read_timeout", "fetch_message", "re_auth"]


NOTHING = object()
FACTS = [
    "add catalog:hr",
    "add schema:hr.public",
    "add table:hr.public.staff",
    "add user:ann",
    "add role:reader",
    "member user:ann of role:reader",
    "allow USE_CATALOG on catalog:hr to role:reader",
    "allow USE_SCHEMA on catalog:hr to role:reader",
    "allow SELECT_TABLE on catalog:hr to role:reader",
]
CHECKS = [("user:ann", "load_table", "table:hr.public.staff"), ("user:ann", "drop_table", "table:hr.public.staff")]


class Without:
    """A part of the driver that lacks some of its attributes, or has another object in their place."""

    def __init__(self, whole: Any, lacks: Collection[str], instead: object = NOTHING) -> None:
        self._whole, self._lacks, self._instead = whole, lacks, instead

    def __getattr__(self, name: str) -> Any:
        if name in self._lacks:
            if self._instead is NOTHING:
                raise AttributeError(name)
            return self._instead
        found = getattr(self._whole, name)
        return Without(found, self._lacks, self._instead) if name == "socket" else found

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("_whole", "_lacks", "_instead"):
            object.__setattr__(self, name, value)
        else:
            setattr(self._whole, name, value)


class Warned:
    """What was logged about the driver, and about nothing else."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self._caplog = caplog

    @property
    def messages(self) -> list[str]:
        return [each.getMessage() for each in self._caplog.records if each.name == "grantpath.driver"]


@pytest.fixture
def warned(caplog: pytest.LogCaptureFixture) -> Warned:
    driver_internals._warn.cache_clear()
    caplog.set_level(logging.WARNING, "grantpath.driver")
    return Warned(caplog)


def test_driver_that_is_installed_has_every_part(server: Connection, tenant: Tenants, warned: Warned) -> None:
    auth = tenant("gravitino", ["add user:ann"])
    store = Store(server, timeout=20)
    try:
        fresh = Authorizer(store, auth.tenant, auth.policy, auth.root)
        assert fresh.change("add user:bob").revision == 2
    finally:
        store.close()
    assert warned.messages == []


@pytest.mark.parametrize("instead", [NOTHING, object()], ids=["missing", "another"])
@pytest.mark.parametrize("parts", [*([part] for part in PARTS), PARTS], ids=lambda parts: ",".join(parts))
def test_store_works_without_a_part(
    server: Connection,
    tenant: Tenants,
    warned: Warned,
    monkeypatch: pytest.MonkeyPatch,
    parts: list[str],
    instead: object,
) -> None:
    auth = tenant("gravitino", FACTS)
    for name in ("wrap_opener", "limit_silence", "raw_socket", "wrap_messages", "begin_with_next_query"):
        whole = getattr(driver_internals, name)
        monkeypatch.setattr(
            driver_internals, name, lambda first, *rest, whole=whole: whole(Without(first, parts, instead), *rest)
        )
    store = Store(server, timeout=20)
    try:
        fresh = Authorizer(store, auth.tenant, auth.policy, auth.root)
        assert [bool(each) for each in fresh.check_many(CHECKS)] == [True, False]
        assert fresh.change("deny SELECT_TABLE on catalog:hr to role:reader").revision == len(FACTS) + 1
        assert [bool(fresh.check(*each)) for each in CHECKS] == [False, False]
        assert [*fresh.list("user")] and fresh.revision_now() == len(FACTS) + 1
        driver_internals.keep_password(Without(Silent(), parts, instead))
    finally:
        store.close()
    told = parts[:1] if len(parts) > 1 else parts  # without its pool, the driver shows no connection
    assert all(any(part in each for each in warned.messages) for part in told)
    assert len(warned.messages) == len({*warned.messages}), "each warning comes once"


class Silent:
    """A connection that was opened without a password."""

    auth_dict: ClassVar[dict[str, str]] = {}

    def re_auth(self) -> None: ...


@pytest.mark.parametrize(
    ("status", "found"),
    [
        ("Running", set()),
        ("Blocked by: [neo4j-transaction-12, my.db-transaction-7]", {"neo4j-transaction-12", "my.db-transaction-7"}),
        ("Blocked by another transaction", {"a", "b"}),
        ("blocked", {"a", "b"}),
    ],
)
def test_transaction_whose_status_names_no_other_may_wait_for_any(status: str, found: set[str]) -> None:
    assert driver_internals.blockers(status, ["a", "b"]) == found


@pytest.mark.parametrize("keep_plans", [False, True])
def test_store_that_keeps_plans_says_so_in_each_statement(server: Connection, keep_plans: bool) -> None:
    mine = "SHOW TRANSACTIONS YIELD currentQuery AS text WHERE text CONTAINS 'mine-and-no-other' RETURN text"
    store = Store(server, timeout=20, keep_plans=keep_plans)
    try:
        sent = [store.read(mine, {}), store.execute(mine), [*store.read_all(mine, {})]]
    finally:
        store.close()
    assert sent == [[{"text": f"{connections.KEEP_PLAN if keep_plans else ''}{mine}"}]] * 3


def test_driver_without_statements_to_wrap_is_used_as_it_is(warned: Warned) -> None:
    driver_internals.wrap_statements(object(), str.upper, "it is slower")
    assert len(warned.messages) == 1 and "it is slower" in warned.messages[0]


def test_no_other_file_reaches_into_the_driver() -> None:
    used = set()
    for path in (path for package in PACKAGES for path in package.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
            name = node.attr if isinstance(node, ast.Attribute) and not own else getattr(node, "value", None)
            if isinstance(name, str) and name in (*PARTS, "opener", "auth_dict"):
                used.add(path.name)
    assert used == {"driver_internals.py"}


def test_wrapped_step_returns_its_result() -> None:
    """The driver 6.0 reads the result of `fetch_message`."""
    assert connections._whole(object(), lambda: (1, 0))() == (1, 0)
