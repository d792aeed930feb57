"""A root whose facts have a newer format: every question and every change is an error that says "upgrade grantpath"."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError, model_validator

from grantpath import cypher
from grantpath.engine import Authorizer, GrantpathError, Invalid, Refused
from grantpath.engine.policy.policy import from_source, load
from grantpath.engine.policy.schema import FACTS_FORMAT, UPGRADE, WITH_ENDS, WITH_TAGS, PolicyFile
from grantpath.engine.transfer import importer, policy_upgrade
from grantpath.engine.transfer.exporter import dump
from grantpath.graph.client.connection import Connection
from grantpath.graph.errors import InvalidPolicy
from grantpath.spark_sync.mirroring import mirror as mirroring

from ...conftest import Tenants
from ...support.small_estate import FACTS

QUESTION = ("user:bob", "SELECT_TABLE", "table:hr.s.t")
CALLS: dict[str, Callable[[Authorizer, Path], object]] = {
    "check": lambda auth, _: auth.check(*QUESTION),
    "check_many": lambda auth, _: auth.check_many([QUESTION]),
    "explain": lambda auth, _: auth.explain(*QUESTION),
    "who": lambda auth, _: list(auth.who(*QUESTION[1:])),
    "which": lambda auth, _: list(auth.which("table", *QUESTION[:2])),
    "can": lambda auth, _: auth.can("user:bob", "table:hr.s.t"),
    "since": lambda auth, _: auth.since(*QUESTION),
    "past": lambda auth, _: auth.check(*QUESTION, as_of=len(FACTS)),
    "change": lambda auth, _: auth.change("add user:new"),
    "dump": lambda auth, to: dump(auth, to / "dump"),
}


def newer(source: str) -> str:
    """The policy as a later version stores it."""
    return json.dumps({**json.loads(source), UPGRADE: FACTS_FORMAT + 1})


def raise_format(auth: Authorizer) -> None:
    """Makes the root one of a later version."""
    source = newer(auth.policy.source)
    digest = hashlib.sha256(source.encode()).hexdigest()
    cypher.load("set_policy").run(
        auth.store.execute, root=auth.tenant, policy=auth.policy.name, digest=digest, source=source
    )


@pytest.mark.parametrize("call", CALLS)
def test_open_client_gives_no_answer(tenant: Tenants, tmp_path: Path, call: str) -> None:
    auth = tenant(given=FACTS)
    auth.follow()
    CALLS[call](auth, tmp_path / "before")
    raise_format(auth)
    with pytest.raises(GrantpathError, match=UPGRADE):
        CALLS[call](auth, tmp_path / "after")


@pytest.mark.parametrize("policy", [None, "gravitino"])
@pytest.mark.parametrize("replica", [False, True])
def test_new_client_cannot_open_it(tenant: Tenants, server: Connection, policy: str | None, replica: bool) -> None:
    auth = tenant(given=FACTS)
    raise_format(auth)
    with pytest.raises(InvalidPolicy, match=f"format {FACTS_FORMAT + 1}, .* reads up to {FACTS_FORMAT}; {UPGRADE}"):
        Authorizer.open(
            uri=server.uri, auth=(server.user, server.password), root=auth.tenant, policy=policy, replica=replica
        )


def test_it_cannot_be_mirrored(tenant: Tenants, server: Connection) -> None:
    auth = tenant(given=FACTS)
    raise_format(auth)
    with pytest.raises(InvalidPolicy, match=UPGRADE):
        mirroring.read(server, auth.tenant, print)


def test_version_that_does_not_know_the_key_names_it() -> None:
    """The message of an older version about the unknown key contains the remedy."""

    class OlderFile(PolicyFile):
        @model_validator(mode="before")
        @classmethod
        def _without_format(cls, fields: Any) -> Any:
            return fields

    with pytest.raises(ValidationError, match=UPGRADE):
        OlderFile.model_validate_json(newer(load("gravitino").source))


def test_policy_of_a_root_can_be_edited_as_a_file(tmp_path: Path) -> None:
    source = json.loads(load("lakehouse").source)
    assert source[UPGRADE] == WITH_TAGS
    (tmp_path / "edited.yaml").write_text(yaml.safe_dump(source))
    assert load(str(tmp_path / "edited.yaml")).digest == load("lakehouse").digest
    for wrong in (FACTS_FORMAT + 1, 0, True, "2", None):
        (tmp_path / "edited.yaml").write_text(yaml.safe_dump(source | {UPGRADE: wrong}))
        with pytest.raises(InvalidPolicy, match=rf"edited.yaml:\d+: the facts have the format .*; {UPGRADE}"):
            load(str(tmp_path / "edited.yaml"))


def test_newer_policy_cannot_be_read() -> None:
    with pytest.raises(InvalidPolicy, match=UPGRADE):
        from_source(newer(load("gravitino").source))


# ---- the first fact that ends ------------------------------------------------------------------------------------
ENDING = "allow SELECT_TABLE on table:hr.s.t to role:analyst until 2100-01-01T00:00:00Z"


def stored_format(auth: Authorizer) -> int:
    [row] = cypher.load("tenant_policy").run(auth.store.read, root=auth.tenant)
    return int(json.loads(row["source"]).get(UPGRADE, 1))


@pytest.mark.parametrize("write", ["change", "change_all", "each", "given", "batch"])
def test_first_fact_that_ends_raises_the_format(tenant: Tenants, write: str) -> None:
    auth, other = tenant(given=FACTS), None
    other = Authorizer(auth.store, auth.tenant, auth.policy, auth.root)
    assert stored_format(auth) == WITH_TAGS
    before = auth.revision_now()
    match write:
        case "change":
            assert auth.change(ENDING).id
        case "change_all":
            assert auth.change_all(["add user:new", ENDING])[1].id
        case "each":
            assert not any(
                isinstance(each, GrantpathError) for each in auth.change_all([ENDING, "add user:z"], each=True)
            )
        case "given":
            assert auth.given([ENDING]) == [None]
        case "batch":
            with auth.batch() as batch:
                batch.change(ENDING)
    assert stored_format(auth) == WITH_ENDS
    assert [each.statement for each in auth.ending()] == [ENDING]
    assert other.check("user:bob", "SELECT_TABLE", "table:hr.s.t").revision == auth.revision_now()
    assert other.change("add user:later").id
    assert auth.log(after=before)[0].statement.startswith("prepare for facts that end (")
    assert auth.verify_log().intact


def test_wrong_refused_and_tried_changes_do_not_raise_the_format(tenant: Tenants) -> None:
    auth = tenant(given=FACTS)
    before = auth.revision_now()
    assert auth.change(ENDING, dry_run=True).added == [ENDING]
    with pytest.raises(Refused):
        auth.change(ENDING, by="user:bob")
    with pytest.raises(Invalid):
        auth.change(ENDING.replace("2100", "2000"))
    assert (stored_format(auth), auth.revision_now()) == (WITH_TAGS, before)


def test_older_version_gives_no_answer_after_it(tenant: Tenants, monkeypatch: pytest.MonkeyPatch) -> None:
    auth = tenant(given=FACTS)
    auth.follow()
    auth.change(ENDING)
    older = Authorizer(auth.store, auth.tenant, load("gravitino"), auth.root)
    older.follow()
    monkeypatch.setattr("grantpath.engine.policy.schema.FACTS_FORMAT", WITH_TAGS)
    with pytest.raises(GrantpathError, match=UPGRADE):
        older.check(*QUESTION)


def test_upgrade_of_the_policy_keeps_the_format(tenant: Tenants) -> None:
    auth = tenant(given=FACTS)
    auth.change(ENDING)
    policy_upgrade.upgrade(auth, load("gravitino"))
    assert stored_format(auth) == WITH_ENDS


@pytest.mark.parametrize("ends", ["", ",2100-01-01T00:00:00Z"])
def test_load_raises_the_format_if_a_row_ends(tenant: Tenants, tmp_path: Path, ends: str) -> None:
    auth = tenant(given=FACTS)
    (tmp_path / "members.csv").write_text(f"member,of{',until' * bool(ends)}\nuser:bob,role:analyst{ends}\n")
    importer.load(auth, tmp_path)
    assert stored_format(auth) == (WITH_ENDS if ends else WITH_TAGS)
