"""Opening a root creates it, or starts a server, only on request."""

import asyncio
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from grantpath.engine import (
    AsyncAuthorizer,
    Authorizer,
    GrantpathError,
    Inconsistent,
    Invalid,
    InvalidInput,
    Refused,
    ServerError,
    Unknown,
)
from grantpath.engine.change import founding
from grantpath.engine.change.change_step import Actor
from grantpath.engine.policy import policy as policies
from grantpath.engine.tenants import opening, registry
from grantpath.engine.tenants.opening import other_policy
from grantpath.graph.client.connection import Connection
from grantpath.graph.embedded import server as servers
from grantpath.graph.embedded.connect import connection
from grantpath.graph.embedded.server import up
from grantpath.graph.guard.store import Store

from ...support.command_line import Run, run

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
    for policy in ("lakehouse", "onehouse"):
        other = run(*words, "--root", name, "--policy", policy)
        assert (other.code, f"uses the policy gravitino, not {policy}: omit the policy" in other.err) == (2, True)


def test_command_says_which_policy_a_root_gets_by_default(
    run: Run, store: Store, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("change", "add user:ann", "--root", name, "--create").err.endswith(
        f"created the root {name} with the policy lakehouse (the default; --policy names another)\n"
    )
    registry.remove(store, name)
    monkeypatch.setenv("GRANTPATH_POLICY", "gravitino")
    named = run("change", "add user:ann", "--root", name, "--create").err
    assert named.endswith(f"created the root {name} with the policy gravitino\n")


@pytest.mark.parametrize("words", [["change", "add user:ann"], ["load", "."]])
def test_dry_run_of_a_new_root_leaves_none(
    run: Run, store: Store, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    (tmp_path / "subjects.csv").write_text("ref\nuser:ann\n")
    monkeypatch.chdir(tmp_path)
    where = ["--root", name, "--policy", "gravitino", "--create", "--dry-run"]
    ran = run(*words, *where)
    assert (ran.code, "would" in ran.out, "user:ann" in ran.out, "created" in ran.err) == (0, True, True, False)
    assert not exists(store, name)
    (tmp_path / "subjects.csv").write_text("ref\nteam:ann\n")
    bad = run(*(["change", "add team:ann"] if words[0] == "change" else words), *where)
    assert (bad.code, "team" in bad.err, "~" in bad.err) == (2, True, False)
    assert not exists(store, name)
    assert not store.read("MATCH (n) WHERE n.root STARTS WITH $root RETURN n.root", {"root": name})


# ---- a root that a user creates ----
@pytest.fixture
def admin(store: Store) -> Iterator[str]:
    """A service admin: a user in the list of another root."""
    other, admin = f"metalake:admins_{uuid.uuid4().hex[:8]}", f"user:ops_{uuid.uuid4().hex[:8]}"
    with Authorizer.open(other, "gravitino", store.uri, create=True) as auth:
        auth.change_all([f"add {admin}", f"member {admin} of role:service_admin"])
    yield admin
    registry.remove(store, other)


def test_service_admins_are_listed_for_the_operator(run: Run, store: Store, name: str, admin: str) -> None:
    registry.create(store, name, policies.load("lakehouse"), policies.load("lakehouse").root(name))
    answer = run("roots", "--admins", "--json").json["answer"]
    [other] = [each["root"] for each in answer if each["members"] == [admin]]
    assert {"root": other, "role": "role:service_admin", "members": [admin]} in answer
    assert {"root": name, "role": "role:service_admin", "members": []} in answer
    told = run("roots", "list", "--admins").out.splitlines()
    assert {f"{other}  role:service_admin: {admin}", f"{name}  role:service_admin: nobody"} <= {*told}
    run("change", f"drop {admin}", "--root", other)  # the list keeps the name
    assert f"{other}  role:service_admin: {admin}" in run("roots", "--admins").out
    assert run("roots", "--admins", "--dropped").code == 2


def test_service_admin_creates_a_metalake_and_owns_it(store: Store, name: str, admin: str) -> None:
    with Authorizer.open(name, "gravitino", store.uri, create=True, by=admin) as auth:
        assert auth.check(admin, "load_metalake", name)
        auth.change("add user:staff", by=admin)
        assert [(each.actor, each.statement) for each in auth.log()] == [
            (admin, f"add {admin}"),
            (admin, f"owner {admin} of {name}"),
            (admin, "add user:staff"),
        ]
        assert auth.verify_log()
        with pytest.raises(Invalid, match="must keep an owner"):
            auth.change(f"drop {admin}")
    with Authorizer.open(name, "gravitino", store.uri, create=True, by="user:nobody") as auth:  # it exists
        assert not auth.check("user:nobody", "load_metalake", name)


@pytest.mark.parametrize("policy", ["gravitino", "lakehouse", "deltastream"])
def test_other_users_create_no_root(store: Store, name: str, admin: str, policy: str) -> None:
    root = name if policy != "deltastream" else name.replace("metalake", "organization")
    for actor in ("user:staff", "role:service_admin", *([admin] if policy == "deltastream" else [])):
        with pytest.raises((Refused, Invalid)):
            Authorizer.open(root, policy, store.uri, create=True, by=actor)
        assert not exists(store, root)


def test_dropped_service_admin_creates_no_root_until_added_again(store: Store, name: str, admin: str) -> None:
    [other] = [key for key in registry.names(store) if registry.exists(store.read, key, admin)]
    with Authorizer.open(other, uri=store.uri) as auth:
        auth.change(f"drop {admin}")
        with pytest.raises(Refused, match="no root of this database allows"):
            Authorizer.open(name, "gravitino", store.uri, create=True, by=admin)
        auth.change(f"add {admin}")
    Authorizer.open(name, "gravitino", store.uri, create=True, by=admin).close()


def test_roots_that_are_being_upgraded_are_asked_last(
    store: Store, name: str, admin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first two answers of each root are refused, as if it were given another policy meanwhile."""
    asked, may_create = Counter[str](), founding._may_create

    def often(store: Store, root: str, actor: Actor, type_: str) -> bool:
        asked[root] += 1
        if asked[root] <= 2:
            raise other_policy(root)
        return may_create(store, root, actor, type_)

    monkeypatch.setattr(founding, "_may_create", often)
    with pytest.raises(Refused, match="no root of this database allows"):
        Authorizer.open(name, "gravitino", store.uri, create=True, by="user:staff")
    assert min(asked.values()) >= 3  # a root of another test may be written meanwhile, and is asked more often
    asked.clear()
    Authorizer.open(name, "gravitino", store.uri, create=True, by=admin).close()

    def never(_: Store, root: str, *__: object) -> bool:
        raise other_policy(root)

    monkeypatch.setattr(founding, "_may_create", never)
    monkeypatch.setattr(Store, "timeout", 0.1)
    with pytest.raises(Inconsistent, match="was given another policy"):
        Authorizer.open(f"{name}2", "gravitino", store.uri, create=True, by=admin)


def test_creator_needs_create(store: Store, name: str) -> None:
    with pytest.raises(InvalidInput, match="pass create=True, too"):
        Authorizer.open(name, "gravitino", store.uri, by="user:ann")


def test_command_creates_a_root_as_a_service_admin(run: Run, store: Store, name: str, admin: str) -> None:
    words = ("change", "add user:staff", "--root", name, "--policy", "gravitino", "--create", "--by")
    assert run(*words, "user:staff").code == 1
    assert not exists(store, name)
    assert run(*words, "user:staff", "--dry-run").code == 1
    assert run(*words, admin, "--dry-run").code == 0
    assert not exists(store, name)
    assert run(*words, admin).code == 0
    assert run("check", admin, "alter_metalake", name, "--root", name).code == 0


def test_service_admin_creates_a_metalake_on_an_event_loop(store: Store, name: str, admin: str) -> None:
    async def create() -> bool:
        async with AsyncAuthorizer.open(name, "gravitino", store.uri, create=True, by=admin) as auth:
            return bool(await auth.check(admin, "alter_metalake", name))

    assert asyncio.run(create())


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
