"""The Flask service of docs/examples/service, with a root in memory: what it allows, and what it answers otherwise."""

import importlib.util
import logging
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from grantpath.engine import Authorizer, Unavailable, UnknownName, reference
from grantpath.engine.memory.memory_authorizer import authorizer

APP = Path(__file__).parents[3] / "docs" / "examples" / "service" / "flask_app.py"
ODD = 'a b.c, "d"'
FACTS = [
    *("add user:ann", "add user:bob", "add role:analyst", "owner user:ann of metalake:ml"),
    *("add catalog:hr", "add schema:hr.public", "add table:hr.public.staff", "add table:hr.public.pay"),
    *("member user:bob of role:analyst", "allow USE_CATALOG on metalake:ml to role:analyst"),
    *("allow USE_SCHEMA on catalog:hr to role:analyst", "allow SELECT_TABLE on table:hr.public.staff to role:analyst"),
    f"add {reference('user', ODD)}",
]
Get = Callable[..., Any]


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setenv("SERVICE_SECRET", "only-for-tests")
    spec = importlib.util.spec_from_file_location("flask_app", APP)
    assert spec and spec.loader
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@pytest.fixture
def auth() -> Authorizer:
    return authorizer("gravitino", FACTS, "ml")


@pytest.fixture
def ask(module: ModuleType, auth: Authorizer) -> Get:
    client = module.create_app(auth).test_client()

    def asked(path: str, login: str, method: str = "GET") -> Any:
        headers = {"Authorization": f"Bearer {login}:{module.signature(login)}"}
        return client.open(path, method=method, headers=headers)

    return asked


def test_callers_get_what_they_can_load(ask: Get) -> None:
    assert ask("/tables/hr/public/staff", "bob").json == {"table": "table:hr.public.staff"}
    assert ask("/tables", "bob").json["tables"] == ["table:hr.public.staff"]
    assert len(ask("/tables", "ann").json["tables"]) == 2


def test_a_refusal_and_a_missing_name_are_both_403(ask: Get) -> None:
    for path, login in (
        *(("/tables/hr/public/pay", "bob"), ("/tables/hr/public/nope", "bob"), ("/tables/hr/public/staff", "eve")),
        ("/tables/hr/public/staff", ODD),
    ):
        answer = ask(path, login)
        assert (answer.status_code, answer.data) == (403, ask("/tables/hr/public/pay", "bob").data), (path, login)
    assert ask("/tables/hr/public/staff", "x or user:ann").status_code == 403


def test_who_is_not_logged_in_gets_401(module: ModuleType, auth: Authorizer) -> None:
    client = module.create_app(auth).test_client()
    for header in ({}, {"Authorization": "Bearer bob:wrong"}, {"Authorization": "Basic bob"}, {"Authorization": "ä"}):
        assert client.get("/tables/hr/public/staff", headers=header).status_code == 401


def test_changes_are_made_as_the_caller(ask: Get, auth: Authorizer) -> None:
    path = f"/roles/analyst/members/{ODD}"
    assert ask(path, "bob", "PUT").status_code == 403
    assert ask(path, "ann", "PUT").status_code == 200
    assert auth.check(reference("user", ODD), "load_table", "table:hr.public.staff")
    assert ask("/roles/nope/members/bob", "ann", "PUT").status_code == 403
    assert ask("/roles//members/bob", "ann", "PUT").status_code == 404


def test_a_failure_is_503_and_logged_and_a_misspelled_operation_stops_the_start(
    ask: Get, auth: Authorizer, module: ModuleType, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def down(*given: Any, **named: Any) -> None:
        raise Unavailable("the database is down")

    monkeypatch.setattr(auth, "check", down)
    with caplog.at_level(logging.ERROR, "service"):
        answer = ask("/tables/hr/public/staff", "bob")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    assert "the database is down" in caplog.text and "down" not in answer.text
    monkeypatch.setattr(module, "OPERATIONS", ["veiw_table"])
    with pytest.raises(UnknownName, match="veiw_table"):
        module.create_app(auth)
