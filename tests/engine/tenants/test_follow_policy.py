"""A service continues when its root gets another policy; policies are identified by the full digest."""

import hashlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from grantpath.engine import Authorizer, Inconsistent, Invalid, InvalidPolicy, UnknownName
from grantpath.engine.policy import policy
from grantpath.engine.policy.policy import Policy
from grantpath.engine.tenants import opening, registry
from grantpath.engine.tenants.open_tenant import OpenTenant
from grantpath.engine.transfer.policy_upgrade import upgrade
from grantpath.graph.client.connection import Connection
from grantpath.graph.guard.store import Store

from ...support.sizes import say, size

pytestmark = pytest.mark.trust

BOB = ("user:bob", "SELECT_TABLE", "table:c.s.t")
FACTS = [
    "add catalog:c",
    "add schema:c.s",
    "add table:c.s.t",
    "add user:bob",
    "allow SELECT_TABLE on table:c.s.t to user:bob",
]


@pytest.fixture
def root(server: Connection, store: Store, tmp_path: Path) -> Iterator[str]:
    name = f"metalake:follow-{tmp_path.name}"
    with Authorizer.open(name, "lakehouse", create=True, timeout=60) as auth:
        assert auth.given(FACTS) == [None] * len(FACTS)
    yield name
    registry.remove(store, name)


def titled(model: Policy, title: str) -> Policy:
    return Policy(model.file.model_copy(update={"title": title}))


def opened(tmp_path: Path) -> Policy:
    """lakehouse with another rule for loading a table (only SELECT_TABLE), and an additional operation."""
    file = tmp_path / "mine.yaml"
    table = "{peek: SELECT_TABLE, load_table: SELECT_TABLE}"
    file.write_text(f"policy: mine\nextends: lakehouse\noperations:\n  table: {table}\n")
    return policy.load(str(file))


def put(store: Store, root: str, new: Policy) -> None:
    key, old, reference = opening.open_root(store, root, None)
    upgrade(Authorizer(store, key, old, reference), new)


# ---- following -------------------------------------------------------------------------------------------------------
def test_authorizer_opened_without_a_policy_follows_its_root(root: str, store: Store, tmp_path: Path) -> None:
    with Authorizer.open(root, timeout=60) as auth, Authorizer.open(root, "lakehouse", timeout=60) as held:
        assert auth.check(*BOB).allowed and held.check(*BOB).allowed
        with pytest.raises(UnknownName):
            auth.check("user:bob", "peek", "table:c.s.t")
        put(store, root, opened(tmp_path))
        assert auth.check("user:bob", "peek", "table:c.s.t").allowed  # unknown in the policy that it was opened with
        assert auth.policy.name == "mine"
        assert auth.change("add user:cas").id and [each.statement for each in auth.log(limit=1)] == ["add user:cas"]
        for ask in (lambda: held.check(*BOB), lambda: held.change("add user:dan")):
            with pytest.raises(Inconsistent, match="open it again") as error:
                ask()
            assert error.value.code == "policy_changed"


def test_every_method_follows(root: str, store: Store) -> None:
    with Authorizer.open(root, "lakehouse", follow_policy=True, timeout=60) as auth:
        verbs: list[Callable[[], object]] = [
            lambda: auth.check_many([BOB])[0].allowed,
            lambda: auth.explain(*BOB).decision.allowed,
            lambda: auth.revocation(*BOB).allowed,
            lambda: list(auth.who(*BOB[1:])) == ["user:bob"],
            lambda: list(auth.which("table", *BOB[:2])) == ["table:c.s.t"],
            lambda: auth.change("add user:cas").id,
            lambda: auth.change_all(["add user:dan", "add user:eve"])[1].id,
            lambda: auth.given(["add user:fay"]) == [None],
            auth.revision_now,
        ]
        for number, verb in enumerate(verbs):
            put(store, root, titled(policy.load("lakehouse"), f"Number {number}"))
            assert verb()
            assert auth.policy.file.title == f"Number {number}"


def test_a_policy_that_was_replaced_and_put_back_is_no_error(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between an answer and the look at the root's policy, others may have made two upgrades."""
    with Authorizer.open(root, timeout=60) as auth:
        errors = iter([opening.other_policy(auth.tenant), Inconsistent("it is under way", code="write_under_way")])
        ask = OpenTenant.ask

        def disturbed(self: OpenTenant, *given: Any, **named: Any) -> Any:
            if error := next(errors, None):
                raise error
            return ask(self, *given, **named)

        monkeypatch.setattr(OpenTenant, "ask", disturbed)
        assert auth.check(*BOB).allowed
        assert next(errors, None) is None


def test_service_gets_right_answers_during_upgrades(
    root: str, store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One policy says yes, the other says no: each answer must agree with the policy of its revision."""
    question = ("user:bob", "load_table", "table:c.s.t")
    policies = [policy.load("lakehouse"), opened(tmp_path)]
    stop, errors, asked = threading.Event(), list[BaseException](), list[tuple[int, bool]]()

    def serve(auth: Authorizer) -> None:
        while not stop.is_set():
            try:
                decision = auth.check(*question)
                asked.append((decision.revision, decision.allowed))
            except BaseException as error:
                errors.append(error)

    with Authorizer.open(root, timeout=60) as auth:
        start = auth.revision_now()
        threads = [threading.Thread(target=serve, args=(auth,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for number in range(1, size(30, 5)):
            put(store, root, policies[number % 2])
            while not errors and asked[-1:] != [(start + number, number % 2 == 1)]:
                stop.wait(0.01)
        stop.set()
        for thread in threads:
            thread.join()
    assert errors == []
    assert [each for each in asked if each[1] != ((each[0] - start) % 2 == 1)] == []
    say(capsys, f"upgrades: {len({at for at, _ in asked}) - 1}, {len(asked)} answers meanwhile, 0 errors, 0 wrong")


# ---- digests ---------------------------------------------------------------------------------------------------------
def test_digest_is_the_full_sha256(root: str, store: Store) -> None:
    kept = registry.find(store, root)
    assert kept and kept["digest"] == hashlib.sha256(kept["source"].encode()).hexdigest()


def shorten(store: Store, root: str, digest: str | None = None) -> None:
    """Stores the digest in the form of older versions."""
    store.execute(
        "MATCH (m:Revision {root: $root}) SET m.digest = coalesce($digest, left(m.digest, 16))",
        {"root": root, "digest": digest},
    )


@pytest.mark.parametrize("named", [None, "lakehouse"])
def test_short_digest_is_replaced_when_the_root_opens(root: str, store: Store, named: str | None) -> None:
    shorten(store, root)
    with Authorizer.open(root, named, timeout=60) as auth:
        assert auth.check(*BOB).allowed
        assert auth.change("add user:cas").id
    kept = registry.find(store, root)
    assert kept and len(kept["digest"]) == 64


def test_policies_with_the_same_short_digest_are_different(root: str, store: Store) -> None:
    other = titled(policy.load("lakehouse"), "Other")
    for digest in (other.digest[:16], other.digest):
        shorten(store, root, digest)  # as if both had the same short digest
        with pytest.raises(InvalidPolicy, match="does not match its digest"):
            Authorizer.open(root, timeout=60)
    store.execute(
        "MATCH (m:Revision {root: $root}) SET m.source = $source, m.digest = left($digest, 16)",
        {"root": root, "source": other.source, "digest": other.digest},
    )
    with pytest.raises(Invalid, match="in another version") as error:
        Authorizer.open(root, "lakehouse", timeout=60)
    assert error.value.code == "policy_differs"


def test_source_written_by_another_version_is_the_same_policy(root: str, store: Store) -> None:
    kept = registry.find(store, root)
    assert kept
    source = kept["source"].replace('"title": ', '"title":  ')  # equal JSON, different bytes
    digest = hashlib.sha256(source.encode()).hexdigest()
    store.execute(
        "MATCH (m:Revision {root: $root}) SET m.source = $source, m.digest = $digest",
        {"root": root, "source": source, "digest": digest},
    )
    for named in ("lakehouse", None):
        with Authorizer.open(root, named, timeout=60) as auth:
            assert auth.policy.digest == digest and auth.check(*BOB).allowed
