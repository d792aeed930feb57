"""The chain of hashes in the log detects every alteration; stored heads, and pruning."""

import random
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from grantpath.engine import Authorizer, InvalidInput
from grantpath.engine.change.log_chain import Tail, entry_hash, walk
from grantpath.engine.change.log_prune import prune
from grantpath.engine.policy import policy
from grantpath.engine.transfer import importer
from grantpath.engine.transfer.policy_upgrade import upgrade

from ...conftest import Tenants
from ...support.sizes import say, size

pytestmark = pytest.mark.trust

Rows = list[dict[str, Any]]
START = datetime(2026, 1, 31, 12, tzinfo=UTC)


def written(auth: Authorizer) -> Rows:
    """The entries with all their properties, as stored in the graph."""
    rows = auth.store.execute(
        "MATCH (c:Change {root: $root}) RETURN properties(c) AS entry ORDER BY c.revision", {"root": auth.tenant}
    )
    return [dict(row["entry"]) for row in rows]


def edit(auth: Authorizer, text: str, **given: Any) -> None:
    """Alters the log without grantpath."""
    auth.store.execute(f"MATCH (c:Change {{root: $root}}) {text}", {"root": auth.tenant, **given})


@pytest.fixture
def auth(tenant: Tenants) -> Authorizer:
    """Entries of facts, a change, and a batch."""
    made = tenant(given=["add catalog:hr", "add role:r", "add user:ann", "owner user:ann of metalake:ml"])
    made.change("add user:bob", by="user:ann", id="mine")
    made.change_all(["add user:cas", "add user:cas2", "member user:cas of role:r"], by="user:ann", id="batch")
    return made


# ---- the chain -----------------------------------------------------------------------------------------------------
def test_every_kind_of_entry_is_chained_and_returns_its_hash(auth: Authorizer, tmp_path: Path) -> None:
    (tmp_path / "subjects.csv").write_text("ref\nuser:ann\nuser:dan\n")
    (tmp_path / "owners.csv").write_text("object,owner\nmetalake:ml,user:ann\n")
    loaded = importer.load(auth, tmp_path, by="user:ann")
    replaced = importer.load(auth, tmp_path, replace=True, consent=True)
    edited = policy.load("gravitino").file.model_copy(update={"title": "Edited"})
    upgraded = upgrade(auth, policy.Policy(edited), by="user:op")
    entries = written(auth)
    assert [entry["hash"] for entry in entries[-3:]] == [loaded.hash, replaced.hash, upgraded.hash]
    assert [entry.get("actor") for entry in entries[-3:]] == ["user:ann", None, "user:op"]
    assert all(entry["previous"] == before["hash"] for before, entry in pairwise(entries))
    assert (entries[0]["previous"], entries[0]["unchained"]) == ("", 0)
    assert [each.hash for each in auth.log()] == [entry["hash"] for entry in entries]
    reopened = Authorizer(auth.store, auth.tenant, policy.Policy(edited), auth.root)
    assert reopened.verify_log(upgraded.hash).proven == upgraded.revision


def test_repeated_change_returns_its_hash(auth: Authorizer) -> None:
    by_id = {entry["id"]: entry["hash"] for entry in written(auth)}
    assert auth.change("add user:bob", by="user:ann", id="mine").hash == by_id["mine"]
    batch = auth.change_all(["add user:cas", "add user:cas2", "member user:cas of role:r"], by="user:ann", id="batch")
    assert [each.hash for each in batch] == [by_id[f"batch.{at}"] for at in range(3)]
    unnamed = auth.change("add user:eve")
    assert auth.change("add user:eve", id=unnamed.id).hash == unnamed.hash == written(auth)[-1]["hash"]
    assert auth.change("remove user:eve from role:r").hash is None  # it changed nothing
    assert auth.change("add user:dry", dry_run=True).hash is None


def test_head_proves_its_entry_and_all_before(auth: Authorizer) -> None:
    kept = auth.change("add user:eve")
    later = auth.change("add user:fay")
    found = auth.verify_log(kept.hash)
    assert (found.intact, bool(found), found.proven, found.revision) == (True, True, kept.revision, later.revision)
    assert (found.head, found.unseen, found.unchained, found.begins) == (later.hash, [], 0, 1)
    without = auth.verify_log()
    assert without and without.proven is None and "newest entries were removed" in without.unseen[0]
    assert "was rebuilt" in without.unseen[1]
    for wrong in ("", "x" * 64, "A" * 64, 5):
        with pytest.raises(InvalidInput, match="is not a hash"):
            auth.verify_log(wrong)  # type: ignore[arg-type]


def test_verification_reads_the_log_in_pages(auth: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = auth.verify_log()
    read: list[int] = []
    monkeypatch.setattr("grantpath.engine.change.log_verify.PAGE", 3)
    edit(auth, "WITH c WHERE c.revision = 3 SET c.revision = 4")  # two entries with one revision, on two pages
    assert len(auth.verify_log(progress=read.append).problems) >= 1
    assert read == [3, 6, 8]
    edit(auth, "WITH c WHERE c.statement = 'add user:ann' SET c.revision = 3")
    assert auth.verify_log() == whole


def test_entries_older_than_the_chain_are_counted_but_not_proven(auth: Authorizer) -> None:
    edit(auth, "REMOVE c.hash, c.previous, c.unchained")
    old = len(written(auth))
    assert (auth.verify_log().entries, auth.verify_log().unchained) == (0, old)
    with pytest.raises(InvalidInput, match="has no hash"):
        prune(auth, 3)
    head = auth.change("add user:eve").hash
    found = auth.verify_log(head)
    assert (found.intact, found.unchained, found.entries, found.begins) == (True, old, 1, old + 1)
    with pytest.raises(InvalidInput, match=f"prune before revision {old + 2} or a later one"):
        prune(auth, 3)
    edit(auth, "WITH c WHERE c.revision = 2 DELETE c")
    assert f"which recorded {old}" in auth.verify_log(head).problems[0]


# ---- tampering -----------------------------------------------------------------------------------------------------
def chained(chain: str, length: int, start: int = 0) -> Rows:
    """A log in memory."""
    tail, rows = Tail(chain, None, 0, START), []
    for at in range(start + 1, start + length + 1):
        tail.at = START + timedelta(seconds=at)
        entry = {"revision": at, "id": f"i{at}", "actor": f"user:u{at % 7}", "statement": f"add user:x{at}"}
        rows.append(tail.link({**entry, "object": f"user:x{at}", "subject": None, "added": [f"add user:x{at}"]}))
    return rows


def change_a_field(rows: Rows, some: random.Random, other: Rows) -> None:
    entry = some.choice(rows)
    name = some.choice([name for name, value in entry.items() if value is not None])
    value = entry[name]
    match value:
        case int():
            entry[name] = value + some.choice([-1, 1])
        case datetime():
            entry[name] = value + timedelta(microseconds=some.choice([-1, 1]))
        case list():
            entry[name] = some.choice([[], [*value, "drop user:x"], [f"{value[0]}1"]])
        case _:
            entry[name] = some.choice([f"{value}1", value[:-1] or "x", None])


def add_a_field(rows: Rows, some: random.Random, other: Rows) -> None:
    some.choice(rows)[some.choice(["reason", "removed", "pruned_hash"])] = some.choice(["", "x", 0])


def remove_entries(rows: Rows, some: random.Random, other: Rows) -> None:
    start = some.randrange(len(rows) - 1)
    del rows[start : start + some.choice([1, 1, 2, len(rows) // 2])]


def insert_an_entry(rows: Rows, some: random.Random, other: Rows) -> None:
    entry = dict(some.choice(rows))
    entry.update(some.choice([{}, {"id": "new"}, {"hash": None}, {"statement": "add user:evil"}]))
    rows.insert(some.randrange(len(rows) + 1), entry)


def swap_entries(rows: Rows, some: random.Random, other: Rows) -> None:
    one, two = some.sample(range(len(rows)), 2)
    rows[one], rows[two] = rows[two], rows[one]
    if some.random() < 0.5:
        rows[one]["revision"], rows[two]["revision"] = rows[two]["revision"], rows[one]["revision"]


def cut_the_tail(rows: Rows, some: random.Random, other: Rows) -> None:
    del rows[some.randrange(len(rows)) :]


def rebuild_the_chain(rows: Rows, some: random.Random, other: Rows) -> None:
    at = some.randrange(len(rows))
    rows[at] |= {"statement": "add user:evil"}
    tail = Tail("metalake:ml 1", rows[at - 1]["hash"] if at else None, 0, START)
    for place in range(at, len(rows)):
        tail.at = rows[place]["at"]
        rows[place] = tail.link({k: v for k, v in rows[place].items() if k not in ("hash", "previous", "unchained")})


def move_in_from_another_root(rows: Rows, some: random.Random, other: Rows) -> None:
    at = some.randrange(len(rows))
    rows[at:] = [dict(entry) for entry in other[at:]] if some.random() < 0.5 else [dict(other[at]), *rows[at + 1 :]]


TAMPERINGS: list[Callable[[Rows, random.Random, Rows], None]] = [
    change_a_field,
    add_a_field,
    remove_entries,
    insert_an_entry,
    swap_entries,
    cut_the_tail,
    rebuild_the_chain,
    move_in_from_another_root,
]


def test_every_alteration_is_found_with_a_head(capsys: pytest.CaptureFixture[str]) -> None:
    some = random.Random(7)
    rows, other = chained("metalake:ml 1", 40), chained("metalake:ml 2", 40)
    assert not walk("metalake:ml 1", rows, rows[-1]["hash"]).problems  # the control
    tries = {tampering.__name__: [0, 0, 0] for tampering in TAMPERINGS}
    for number in range(size(10_000, 400)):
        tampering = TAMPERINGS[number % len(TAMPERINGS)]
        altered = [dict(entry) for entry in rows]
        tampering(altered, some, other)
        counts = tries[tampering.__name__]
        counts[0] += 1
        counts[1] += bool(walk("metalake:ml 1", altered, rows[-1]["hash"]).problems)
        counts[2] += bool(walk("metalake:ml 1", altered).problems)
    for name, (tried, found, without) in tries.items():
        say(capsys, f"{name}: {found} of {tried} found with a head, {without} without")
    assert [(name, tried - found) for name, (tried, found, _) in tries.items() if tried != found] == []
    assert tries["cut_the_tail"][2] == tries["rebuild_the_chain"][2] == 0  # listed in `unseen`
    assert all(found == tried for name, (tried, _, found) in tries.items() if name[:3] in ("cha", "add", "ins"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("WITH c WHERE c.revision = 5 SET c.statement = 'add user:eve'", "revision 5 .* does not match its hash"),
        ("WITH c WHERE c.revision = 5 SET c.actor = null", "revision 5 .* does not match its hash"),
        ("WITH c WHERE c.revision = 5 SET c.at = c.at + duration('PT0.000000001S')", "revision 5 .* does not match"),
        ("WITH c WHERE c.revision = 5 SET c.more = ['x']", "revision 5 .* does not match its hash"),
        ("WITH c WHERE c.revision = 5 DELETE c", "revision 6 .* does not follow"),
        (
            "WITH c WHERE c.revision < 4 DELETE c",
            "revision 4 .* is the first entry, but has the hash of an earlier one",
        ),
        ("WITH c WHERE c.revision > 6 DELETE c", "no entry has the hash"),
        ("WITH count(c) AS n CREATE (:Change {root: $root, revision: 5, id: 'x'})", "has no hash"),
        ("WITH c WHERE c.revision IN [3, 4] SET c.revision = 7 - c.revision", "revision 3 .* does not follow"),
        ("DELETE c", "no entry has the hash"),
    ],
)
def test_alteration_of_the_database_is_found(auth: Authorizer, text: str, expected: str) -> None:
    head = auth.change("add user:eve").hash
    edit(auth, text)
    found = auth.verify_log(head)
    assert not found
    assert any(re.search(expected, problem) for problem in found.problems), found.problems


def test_log_that_was_moved_to_another_root_is_found(auth: Authorizer, tenant: Tenants) -> None:
    other = tenant()
    head = auth.log()[-1].hash
    edit(auth, "SET c.root = $other", other=other.tenant)
    assert "belongs to another root" in other.verify_log(head).problems[0]
    assert entry_hash("a", {"x": 1}) != entry_hash("b", {"x": 1})


# ---- pruning -------------------------------------------------------------------------------------------------------
def test_pruned_log_can_be_verified(auth: Authorizer) -> None:
    kept = auth.change("add user:eve").hash
    would = prune(auth, 4, by="user:ann", dry_run=True)
    assert (would.entries, would.up_to, len(auth.log())) == (3, 3, 9)
    done = prune(auth, 4, by="user:ann")
    entry = auth.log()[-1]
    assert (entry.statement, entry.actor) == ("prune log before revision 4: 3 entries", "user:ann")
    assert [each.revision for each in auth.log()] == list(range(4, done.revision + 1))
    for head in (kept, done.hash):
        found = auth.verify_log(head)
        assert found and found.pruned and (found.begins, found.pruned.up_to, found.pruned.by) == (4, 3, "user:ann")
    assert prune(auth, 4).entries == 0
    again = prune(auth, datetime.now(UTC) + timedelta(days=1))
    assert [each.revision for each in auth.log()] == [again.revision]
    assert auth.verify_log(again.hash) and not auth.verify_log(kept)
    edit(auth, "SET c.pruned_revision = 2")
    assert not auth.verify_log(again.hash)


def test_alteration_after_a_pruning_is_found(auth: Authorizer) -> None:
    head = prune(auth, 4).hash
    edit(auth, "WITH c WHERE c.revision = 4 DELETE c")
    assert "entries between them were removed" in auth.verify_log(head).problems[0]


def test_interrupted_pruning_leaves_a_valid_chain(auth: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("grantpath.engine.change.log_prune._remove", lambda *_: None)
        head = prune(auth, 6).hash
    edit(auth, "WITH c WHERE c.revision < 3 DELETE c")
    assert auth.verify_log(head).begins == 3
    assert prune(auth, 6).entries == 3
    assert auth.verify_log(head).begins == 6


def test_a_bound_that_the_root_has_not_reached_is_no_revision(auth: Authorizer) -> None:
    """Such as a date without hyphens: it must not remove the whole log."""
    before = [*auth.log(limit=100)]
    for bound in (20260131, auth.revision_now() + 2):
        with pytest.raises(InvalidInput, match=rf"before={bound}: .* is at revision .* or a time such as 2026-01-31"):
            prune(auth, bound)
    assert [*auth.log(limit=100)] == before


def test_ids_keep_working_when_their_entries_are_pruned(auth: Authorizer) -> None:
    prune(auth, auth.revision_now() + 1)
    again = auth.change("add user:bob", by="user:ann", id="mine")
    assert (again.already, again.revision, again.hash) == (True, 5, None)
    batch = auth.change_all(["add user:cas", "add user:cas2", "member user:cas of role:r"], by="user:ann", id="batch")
    assert [each.already for each in batch] == [True] * 3
