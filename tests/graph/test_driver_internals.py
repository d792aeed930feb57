"""Without the undocumented parts of the driver that a store uses, it still reads and writes, and warns once."""

import ast
import logging
from pathlib import Path
from typing import Any

import pytest

from grantpath.engine import Authorizer
from grantpath.graph.client import connections, driver_internals
from grantpath.graph.client.connection import Connection
from grantpath.graph.guard.store import Store

from ..conftest import Tenants

GRAPH = Path(driver_internals.__file__).parents[1]
PARTS = ["_pool", "_pipelined_begin", "_socket", "set_read_timeout", "fetch_message", "re_auth"]


class Without:
    """A part of the driver that lacks some of its attributes."""

    def __init__(self, whole: Any, lacks: str) -> None:
        self._whole, self._lacks = whole, lacks

    def __getattr__(self, name: str) -> Any:
        if name == self._lacks:
            raise AttributeError(name)
        found = getattr(self._whole, name)
        return Without(found, self._lacks) if name == "socket" else found

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("_whole", "_lacks"):
            object.__setattr__(self, name, value)
        else:
            setattr(self._whole, name, value)


@pytest.fixture
def warned(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    driver_internals._warn.cache_clear()
    caplog.set_level(logging.WARNING, "grantpath.driver")
    return caplog


def test_driver_that_is_installed_has_every_part(
    server: Connection, tenant: Tenants, warned: pytest.LogCaptureFixture
) -> None:
    auth = tenant("gravitino", ["add user:ann"])
    store = Store(server, timeout=20)
    try:
        fresh = Authorizer(store, auth.tenant, auth.policy, auth.root)
        assert fresh.change("add user:bob").revision == 2
    finally:
        store.close()
    assert warned.messages == []


@pytest.mark.parametrize("part", PARTS)
def test_store_works_without_a_part(
    server: Connection,
    tenant: Tenants,
    warned: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    part: str,
) -> None:
    auth = tenant("gravitino", ["add user:ann"])
    for name in ("wrap_opener", "limit_silence", "raw_socket", "wrap_messages", "begin_with_next_query"):
        whole = getattr(driver_internals, name)
        monkeypatch.setattr(
            driver_internals, name, lambda first, *rest, whole=whole: whole(Without(first, part), *rest)
        )
    store = Store(server, timeout=20)
    try:
        fresh = Authorizer(store, auth.tenant, auth.policy, auth.root)
        assert fresh.change("add user:bob").revision == 2
        assert [*fresh.list("user")] and fresh.revision_now() == 2
        driver_internals.keep_password(Without(object(), part))
    finally:
        store.close()
    assert any(part in each for each in warned.messages)
    assert len(warned.messages) == len({*warned.messages}), "each warning comes once"


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


def test_no_other_file_reaches_into_the_driver() -> None:
    used = set()
    for path in GRAPH.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
            name = node.attr if isinstance(node, ast.Attribute) and not own else getattr(node, "value", None)
            if isinstance(name, str) and name in (*PARTS, "opener", "auth_dict"):
                used.add(path.name)
    assert used == {"driver_internals.py"}


def test_wrapped_step_returns_its_result() -> None:
    """The driver 6.0 reads the result of `fetch_message`."""
    assert connections._whole(object(), lambda: (1, 0))() == (1, 0)
