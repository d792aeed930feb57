"""Logs: one tree of loggers, nothing printed by default, names only at DEBUG, secrets never."""

import logging
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from neo4j.exceptions import SessionExpired

from grantpath.engine import Unavailable
from grantpath.engine.policy import policy
from grantpath.engine.transfer import policy_upgrade
from grantpath.engine.transfer.importer import load
from grantpath.graph.client import telemetry
from grantpath.graph.client.connection import Connection
from grantpath.graph.guard.store import Store

from ..conftest import Tenants

SILENT = """
from grantpath.engine import Authorizer, GrantpathError
with Authorizer.open("metalake:silent", "gravitino", create=True, {login}) as auth:
    auth.change("add user:bob")
    auth.check("user:bob", "USE_CATALOG", "metalake:silent")
    auth.change("drop user:bob")
for bad in (("no_such_user", "wrong-password"), lambda: 1 / 0):
    try:
        Authorizer.open("metalake:silent", uri={uri!r}, auth=bad)
    except GrantpathError:
        pass
"""


def texts(caplog: pytest.LogCaptureFixture, level: int) -> list[str]:
    """The messages of this level or above."""
    return [f"{each.name}: {each.getMessage()}" for each in caplog.records if each.levelno >= level]


def test_nothing_is_printed_by_default(server: Connection) -> None:
    """Including warnings, which Python prints for a logger without a handler."""
    program = SILENT.format(login=f"uri={server.uri!r}, auth={(server.user, server.password)!r}", uri=server.uri)
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_all_loggers_have_one_parent() -> None:
    import_module("grantpath.graph.client.login")  # otherwise loaded with the first connection
    names = [name for name in logging.root.manager.loggerDict if name.startswith("grantpath")]
    assert {"grantpath.store", "grantpath.change", "grantpath.server", "grantpath.login"} <= set(names)
    assert all(name == "grantpath" or name.startswith("grantpath.") for name in names)
    assert [type(each) for each in logging.getLogger("grantpath").handlers] == [logging.NullHandler]


def test_only_real_changes_are_logged(tenant: Tenants, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="grantpath.change")
    unchanged = "member user:bob of role:r"
    auth = tenant("gravitino", ["add user:bob", "add role:r", unchanged])
    caplog.clear()
    auth.change("add user:cas", dry_run=True)
    auth.change_all(["add user:cas", "add user:dan"], dry_run=True)
    auth.change(unchanged)
    assert texts(caplog, logging.DEBUG) == []
    auth.change_all([unchanged, "add user:cas"])
    assert texts(caplog, logging.DEBUG) == [f"grantpath.change: {auth.tenant}: changed by no actor: 1 of 2 statements"]


def test_names_appear_only_at_debug(tenant: Tenants, caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    caplog.set_level(logging.DEBUG, logger="grantpath")
    auth = tenant("gravitino", ["add catalog:secret_project"])
    auth.change("add user:bob")
    auth.check("user:bob", "USE_CATALOG", "catalog:secret_project")
    (tmp_path / "subjects.csv").write_text("ref\nuser:zoe\n")
    load(auth, tmp_path)
    policy_upgrade.upgrade(auth, policy.load("gravitino"))
    debug, info = texts(caplog, logging.DEBUG), texts(caplog, logging.INFO)
    assert f"grantpath.change: {auth.tenant}: changed by no actor: add user:bob" in debug
    assert f"grantpath.change: created the root {auth.tenant} with the policy gravitino" in info
    assert any(f"grantpath.change: loaded {auth.tenant}: 1 added, 0 removed, revision" in text for text in info)
    assert any("already has the policy gravitino" in text for text in info)
    assert not [text for text in info if "bob" in text or "zoe" in text or "secret_project" in text]
    assert texts(caplog, logging.WARNING) == []


def test_queries_are_logged_with_name_and_time(tenant: Tenants, caplog: pytest.LogCaptureFixture) -> None:
    auth = tenant("gravitino", ["add catalog:secret_project"])
    caplog.set_level(logging.DEBUG, logger="grantpath.store")
    auth.check("user:bob", "USE_CATALOG", "catalog:secret_project")
    [text] = texts(caplog, logging.DEBUG)
    assert text.startswith("grantpath.store: check took ") and text.endswith(" ms")


def test_question_that_writers_disturb_is_logged(
    tenant: Tenants, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    auth = tenant("gravitino", ["add catalog:hr"])
    monkeypatch.setattr("grantpath.graph.guard.store.is_consistent", lambda row: False)
    auth.check("user:bob", "USE_CATALOG", "catalog:hr")
    expected = f"grantpath.store: {auth.tenant}: writers disturb check; repeating it under the writer lock"
    assert texts(caplog, logging.WARNING) == [expected]


def test_repair_of_marks_is_logged(tenant: Tenants, caplog: pytest.LogCaptureFixture) -> None:
    auth = tenant("gravitino", ["add catalog:hr"])
    auth.store.execute("MATCH (m:Revision {root: $root}) SET m.begun = m.begun + 1", {"root": auth.tenant})
    auth.check("user:bob", "USE_CATALOG", "catalog:hr")
    expected = f"grantpath.change: {auth.tenant}: repaired the marks of a writer that is gone, at revision"
    assert [text for text in texts(caplog, logging.WARNING) if text.startswith(expected)]


def test_lost_connection_is_logged(
    tenant: Tenants, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    auth, errors, asked = tenant("gravitino", ["add catalog:hr"]), [SessionExpired("gone")], Store._ask_once

    def ask(store: Store, *given: Any) -> Any:
        if errors:
            raise errors.pop()
        return asked(store, *given)

    monkeypatch.setattr(Store, "_ask_once", ask)
    auth.check("user:bob", "USE_CATALOG", "catalog:hr")
    assert texts(caplog, logging.WARNING) == ["grantpath.store: check is sent again: SessionExpired"]


def test_wrong_login_is_logged_without_the_password(server: Connection, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(Unavailable):
        Store(Connection(server.uri, "", "", lambda: ("no_such_user", "wrong-password"))).read("RETURN 1 AS one", {})
    assert any(text.startswith(f"grantpath.login: {server.uri} refused") for text in texts(caplog, logging.WARNING))
    assert "wrong-password" not in caplog.text


# ---- docs/operating.md and docs/reference/configuration.md -------------------------------------------------
def test_operators_pages_name_every_variable_logger_and_metric() -> None:
    house = Path(__file__).parents[2]
    pages = [house / "docs" / name for name in ("operating.md", "reference/configuration.md")]
    page = "".join(each.read_text(encoding="utf-8") for each in pages)
    code = "".join(
        path.read_text(encoding="utf-8")
        for package in ("graph", "engine", "spark_sync")
        for path in sorted((house / package).rglob("*.py"))
    )
    variables = set(re.findall(r'"((?:GRANTPATH|NEO4J)_[A-Z0-9_]+)"', code))
    loggers = set(re.findall(r'getLogger\("(grantpath\.\w+)"\)', code))
    verbs = set(re.findall(r'(?:telemetry\.span|self\._about)\("(\w+)"', code))
    assert len(variables) > 15 and len(loggers) >= 5 and {"load", "change"} <= verbs
    named = set(re.findall(r"`([\w.]+)`", page))
    assert variables | loggers | {f"grantpath.{what}" for what in telemetry.COUNTS} <= named
    assert verbs <= named | {each.removeprefix("grantpath.") for each in named}
