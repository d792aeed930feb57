"""Conditions about a second object: lists contain exactly what checks allow, whichever way is asked."""

from pathlib import Path

import pytest

from grantpath import cypher
from grantpath.engine import Authorizer
from grantpath.engine.facts.snapshot.snapshot_questions import ask
from grantpath.graph.client.connection import Connection
from grantpath.spark_sync.mirroring.mirror import mirror_tenant

from ..conftest import Tenants
from ..support.by_name import by_name, object_words
from ..support.with_replica import with_replica

POLICY = """
policy: about_second_objects
types:
  root: {}
  folder: {in: root}
  file: {in: folder}
  user: {in: root, kind: user}
  group: {in: root, kind: group}
members: {group: user}
grants: {to: "user, group"}
privileges:
  READ: {on: "folder, file"}
operations:
  file:
    move_to_all_read: {if: "every(READ in file below with.to)", with: {to: folder}}
    move_to_some_read: {if: "some(READ in file below with.to)", with: {to: folder}}
    move_to_read: {if: "READ(with.to)", with: {to: folder}}
    move_to_new: {if: "every(READ in file below with.to)", with: {to: {type: folder, new: true}}}
    claim: {if: "self(with.who)", with: {who: user}}
    share: {if: "holds(with.team) and exists(with.team)", with: {team: group}}
    hand_over: {if: "self(with.who) and every(READ in file below with.to)", with: {who: user, to: folder}}
"""
FILES, USERS = ["file:f.a", "file:f.b", "file:g.c"], ["user:ann", "user:bob"]
FACTS = [
    *("add folder:f", "add folder:g", "add folder:empty", *(f"add {each}" for each in (*FILES, *USERS))),
    *("add group:team", "member user:bob of group:team", "allow READ on file:f.a to user:ann"),
    *(
        "allow READ on file:f.b to user:ann",
        "allow READ on file:g.c to group:team",
        "allow READ on folder:g to user:ann",
    ),
]
FOLDERS = [{"to": f"folder:{name}"} for name in ("f", "g", "empty")]
ASKED = [
    *((name, to) for name in ("move_to_all_read", "move_to_some_read", "move_to_read") for to in FOLDERS),
    *(("claim", {"who": user}) for user in USERS),
    ("share", {"team": "group:team"}),
    *(("hand_over", {"who": user, **to}) for user in USERS for to in FOLDERS),
]


@pytest.fixture
def auth(tenant: Tenants, tmp_path: Path) -> Authorizer:
    (tmp_path / "policy.yaml").write_text(POLICY)
    return tenant(str(tmp_path / "policy.yaml"), FACTS)


def test_lists_contain_what_checks_allow(auth: Authorizer) -> None:
    allowed, past = 0, auth.past(auth.revision_now())
    for name, with_ in ASKED:
        yes = {(user, ref) for user in USERS for ref in FILES if auth.check(user, name, ref, with_=with_)}
        allowed += len(yes)
        for asking, as_of in ((auth, None), (with_replica(auth), None), (auth, past)):
            which = {
                (user, ref) for user in USERS for ref in asking.which("file", user, name, with_=with_, as_of=as_of)
            }
            who = {(user, ref) for ref in FILES for user in asking.who(name, ref, with_=with_, as_of=as_of)}
            assert which == who == yes, (name, with_, as_of)
    assert len(USERS) * len(FILES) * len(ASKED) > 2 * allowed > 40


def test_queries_by_name_decide_in_the_same_way(auth: Authorizer) -> None:
    for name, with_ in ASKED:
        for user in USERS:
            yes = [ref for ref in FILES if auth.check(user, name, ref, with_=with_)]
            words = {"subject": user, "operation": name, "type": object_words(auth, "file", with_)}
            [row] = cypher.load("which_by_name").run(auth.store.read, **words)
            assert row["answer"] == yes, (name, with_, user, row["reason"])
            assert [ref for ref in FILES if by_name(auth, "check_by_name", user, name, ref, with_)["allowed"]] == yes


def test_nothing_is_granted_on_everything_below_a_place_that_does_not_exist(
    auth: Authorizer, server: Connection, tmp_path: Path
) -> None:
    name, file, snapshot = "move_to_new", "file:f.a", tmp_path / "snapshot"
    mirror_tenant(server, auth.tenant, snapshot, lambda _: None)
    for to, allowed in (("folder:empty", USERS), ("folder:later", [])):
        with_ = {"to": to}
        for asking, as_of in ((auth, None), (with_replica(auth), None), (auth, auth.past(auth.revision_now()))):
            assert [each for each in USERS if asking.check(each, name, file, with_=with_, as_of=as_of)] == allowed
            assert [*asking.who(name, file, with_=with_, as_of=as_of)] == allowed
        assert ask(snapshot, f"who can {name} on {file} with to={to}").answer == allowed
        assert [each for each in USERS if by_name(auth, "check_by_name", each, name, file, with_)["allowed"]] == allowed
