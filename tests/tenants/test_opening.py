"""Opening a root creates it, or starts a server, only on request."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from grantpath.engine import Authorizer, GrantpathError, InvalidInput, ServerError, Unknown
from grantpath.engine.tenants import opening, registry
from grantpath.graph.connection import Connection
from grantpath.graph.embedded import server as servers
from grantpath.graph.embedded.connect import connection
from grantpath.graph.embedded.server import up
from grantpath.graph.store import Store

from ..support.command_line import Run, run

__all__ = ["run"]


@pytest.fixture
def name(store: Store) -> Iterator[str]:
    """The name of a missing root, which is removed after the test."""
    made = f"metalake:opening_{uuid.uuid4().hex[:8]}"
    yield made
    registry.remove(store, made)


def exists(store: Store, name: str) -> bool:
    """Has the key any marks, facts or history?"""
    found = store.read("MATCH (n:Entity|Revision|Change {root: $root}) RETURN count(n) AS many", {"root": name})
    return bool(found[0]["many"])


@pytest.mark.parametrize("policy", [None, "gravitino"])
def test_open_creates_a_root_only_on_request(server: Connection, store: Store, name: str, policy: str | None) -> None:
    with pytest.raises(Unknown, match=f"{name} does not exist.*create=True.*--create"):
        Authorizer.open(name, policy, server.uri)
    assert not exists(store, name)
    with Authorizer.open(name, policy, server.uri, create=True) as auth:
        assert auth.policy.name == policy or opening.DEFAULT_POLICY
    Authorizer.open(name, uri=server.uri).close()
    registry.remove(store, name)
    with pytest.raises(Unknown):  # opening a dropped root again must not create it empty
        Authorizer.open(name, policy, server.uri)
    assert not exists(store, name)


def test_mistyped_root_suggests_a_similar_name(server: Connection, store: Store, name: str) -> None:
    Authorizer.open(name, "gravitino", server.uri, create=True).close()
    for typed in (name.replace("opening", "openign"), name.partition(":")[2] + "x"):
        with pytest.raises(Unknown, match=f"does not exist .did you mean [^)]*{name}"):
            Authorizer.open(typed, "gravitino", server.uri)


@pytest.mark.parametrize("words", [["change", "add user:ann"], ["load", "."]])
def test_command_creates_a_root_only_with_create(
    run: Run, store: Store, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    (tmp_path / "subjects.csv").write_text("ref\nuser:ann\n")
    monkeypatch.chdir(tmp_path)
    where = ["--root", name, "--policy", "gravitino"]
    ran = run(*words, *where)
    assert (ran.code, ran.out) == (2, "")
    assert f"{name} does not exist" in ran.err and "--create" in ran.err
    assert not exists(store, name)
    ran = run(*words, *where, "--create")
    assert (ran.code, f"created the root {name} with the policy gravitino" in ran.err) == (0, True)
    assert run(*words, *where, "--create").code in (0, 2)  # the user exists already


@pytest.mark.parametrize("other", [["--by", "user:ann"], ["--dry-run"]])
def test_create_is_accepted_only_with_facts(run: Run, store: Store, name: str, other: list[str]) -> None:
    ran = run("change", "add user:bob", "--root", name, "--policy", "gravitino", "--create", *other)
    assert (ran.code, f"--create writes a new root; omit {other[0]}" in ran.err) == (2, True)
    assert not exists(store, name)


@pytest.fixture
def no_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Names no address, and makes every start of the embedded server fail."""

    def start(*_: object) -> None:
        raise AssertionError("the embedded server was started")

    for variable in ("NEO4J_URI", "NEO4J_USER", "NEO4J_USERNAME", "NEO4J_PASSWORD"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("GRANTPATH_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(servers, "_start", start)
    monkeypatch.setattr(servers, "_await_answer", start)


@pytest.mark.usefixtures("no_server")
def test_embedded_server_can_be_forbidden(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GRANTPATH_EMBEDDED", "never")
    for use in (connection, up, lambda: Authorizer.open("metalake:ml")):
        with pytest.raises(ServerError, match=r"GRANTPATH_EMBEDDED=never .* by --uri or NEO4J_URI"):
            use()
    for words in (
        ["up"],
        ["check", "user:a", "SELECT_TABLE", "table:a.b.c"],
        ["roots"],
        ["demo"],
        ["change", "add user:a"],
    ):
        ran = run(*words)
        assert (ran.code, ran.out) == (2, "")
        assert "GRANTPATH_EMBEDDED=never forbids the embedded server" in ran.err
    assert not (tmp_path / "home").exists()
    monkeypatch.setenv("NEO4J_PASSWORD", "x")
    assert connection("bolt://elsewhere:7687").uri == "bolt://elsewhere:7687"


@pytest.mark.usefixtures("no_server")
def test_switch_of_the_embedded_server_accepts_only_never(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRANTPATH_EMBEDDED", "no")
    with pytest.raises(InvalidInput, match="GRANTPATH_EMBEDDED=no is not a valid value; write never"):
        connection()
    monkeypatch.setenv("GRANTPATH_EMBEDDED", "")
    with pytest.raises(AssertionError, match="was started"):
        connection()


def test_named_server_needs_no_embedded_one(server: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRANTPATH_EMBEDDED", "never")
    try:
        Authorizer.open("metalake:opening_none", uri=server.uri).close()
    except GrantpathError as error:
        assert isinstance(error, Unknown)
