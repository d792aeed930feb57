"""`follow` keeps a snapshot current, and `changes` says for each revision exactly what users gained and lost."""

import errno
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest

from grantpath.engine import Authorizer, GrantpathError
from grantpath.engine.change import delta_records
from grantpath.engine.change.delta_records import recorded
from grantpath.engine.facts.snapshot.snapshot_reader import CHANGES, SnapshotReader
from grantpath.engine.transfer.policy_upgrade import upgrade
from grantpath.graph.client.connection import Connection
from grantpath.graph.errors import Inconsistent, InvalidInput, Unavailable
from grantpath.spark_sync.following import follower
from grantpath.spark_sync.following.change_files import GAINED, LOST, REBUILT, change_files
from grantpath.spark_sync.following.follower import Followed, Follower, follow
from grantpath.spark_sync.following.snapshot_update import update
from grantpath.spark_sync.mirroring.mirror import mirror_tenant
from grantpath.spark_sync.session.snapshot import Snapshot

from ..conftest import Tenants
from ..engine.change.test_recorded_deltas import variant
from ..engine.tenants.test_policy_upgrades import reopened
from ..engine.tenants.test_recreated_tenants import make_again
from ..oracle import oracle
from ..support.random_world import ROOT_NAME, random_statements, random_world
from ..support.sizes import say, size
from ..support.snapshot_access import Pair, access_of
from ..support.table_sums import table_sums
from ..support.tiers import others_slow
from ..support.twin import POLICIES

pytestmark = pytest.mark.trust
CHANGED = size(full=10_000, short=150)  # in the first policy; a sixth in each of the others
KILLS = size(full=40, short=2)
FOLLOWING = """
import sys
from grantpath.graph.client.connection import Connection
from grantpath.spark_sync.following import follower
follower.PAGE, follower.PAUSE, follower.TABLES_SECONDS = 3, 0.01, 0.0
uri, user, password, root, out = sys.argv[1:]
print("following", flush=True)
follower.follow(Connection(uri, user, password), root, out, print)
"""
Row = tuple[int, str, str, str, str, str, bool]


@pytest.fixture
def caught_up(server: Connection) -> Callable[[Authorizer, Path], list[Followed]]:
    """Follows until there is nothing new."""

    def run(auth: Authorizer, out: Path) -> list[Followed]:
        steps: list[Followed] = []
        calls = iter(range(10_000))

        def stop() -> bool:
            return next(calls) > 0 and [each.last for each in change_files(out)][-1:] == [auth.revision_now()]

        follow(server, auth.tenant, out, lambda _: None, steps.append, stop)
        return steps

    return run


CatchUp = Callable[[Authorizer, Path], list[Followed]]


def rows_of(out: Path) -> list[Row]:
    return [tuple(row.values()) for row in SnapshotReader(out).table(CHANGES).to_pylist()]


def without_changes(sums: dict[str, str]) -> dict[str, str]:
    return {name: each for name, each in sums.items() if name != CHANGES}


def require_each_revision_once(out: Path, first: int, last: int) -> None:
    files = change_files(out)
    assert (files[0].first, files[-1].last) == (first, last)
    assert all(one.last + 1 == other.first for one, other in pairwise(files)), files


# ---- access before and after -----------------------------------------------------------------------------------------
def replayed(access: set[Pair], rows: list[Row], auth: Authorizer, objects: set[str], after: int) -> set[Pair]:
    """The access after the rows, each of which must fit. `objects` exist at the revision `after`."""
    by_revision: dict[int, list[Row]] = {}
    for row in rows:
        by_revision.setdefault(row[0], []).append(row)
    for delta in recorded(auth.ask, after, auth.root):
        named = {text.removeprefix("add ") for text in delta.added if text.startswith("add ")}
        gone = {text.removeprefix("add ") for text in delta.removed if text.startswith("add ")}
        later = (objects - gone) | named
        for _, effect, user, name, type_, object_, below in by_revision.get(delta.revision, ()):
            shown = later if effect == GAINED else objects
            for ref in inside(auth, shown, type_, object_) if below else [object_]:
                pair = user, name, type_, ref
                assert (pair in access) == (effect == LOST), (delta.revision, effect, pair)
                access ^= {pair}
        objects = later
    return access


def inside(auth: Authorizer, objects: set[str], type_: str, place: str) -> list[str]:
    """The objects of a type in the subtree of a place that lists do not hide."""
    found = [ref for ref in objects if ref.partition(":")[0] == type_ and ref not in auth.policy.hidden]
    chains = {ref: auth.policy.chain(auth.policy.reference(ref, auth.root), auth.root) for ref in found}
    return [ref for ref in found if any(each.text == place for _, each in chains[ref])]


def existing(folder: Path) -> set[str]:
    numbering = Snapshot(folder).numbering
    return {ref for ref, exists in zip(numbering.refs, numbering.exists, strict=True) if exists}


@pytest.mark.usefixtures("large_renames")
@pytest.mark.parametrize("policy", others_slow(POLICIES))
def test_tables_and_changes_are_those_of_new_mirrors(
    server: Connection,
    tenant: Tenants,
    caught_up: CatchUp,
    policy: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The tables are those of a new mirror, and `changes` leads from all access before to all access after."""
    rng, world = random.Random(f"follow {policy}"), oracle(policy, ROOT_NAME)
    facts = random_world(policy, rng, 60)
    auth = tenant(policy, facts, root=ROOT_NAME)
    for fact in facts:
        world.given(fact)
    out, before, after = (tmp_path / name for name in ("out", "before", "after"))
    mirror_tenant(server, auth.tenant, out, lambda _: None)
    mirror_tenant(server, auth.tenant, before, lambda _: None)
    begin = auth.revision_now()
    count = CHANGED if policy == POLICIES[0] else CHANGED // 6
    rows = 0
    while auth.revision_now() < begin + count:
        for statement, by, as_role in random_statements(policy, world, rng, max(20, count // 10)):
            with suppress(GrantpathError):
                auth.change(statement, by=by, as_role=as_role)
        auth.given(random_world(policy, rng, 10))
        known = len(rows_of(out)) if (out / CHANGES).exists() else 0
        assert not any(step.rebuilt for step in caught_up(auth, out))
        mirror_tenant(server, auth.tenant, after, lambda _: None)
        assert without_changes(table_sums(out)) == table_sums(after)
        new = rows_of(out)[known:]
        at = SnapshotReader(before).meta.revision
        assert replayed(access_of(before), new, auth, existing(before), at) == access_of(after)
        rows += len(new)
        shutil.rmtree(before)
        after.rename(before)
    require_each_revision_once(out, begin + 1, auth.revision_now())
    say(capsys, f"follow, {policy}: {auth.revision_now() - begin:,} revisions, {rows:,} rows of changes, 0 different")
    assert rows > count / 20


@pytest.fixture
def small(server: Connection, tenant: Tenants, tmp_path: Path) -> Authorizer:
    """A root that is mirrored to `out`."""
    grants = ("member user:a of role:r", "allow USE_CATALOG on metalake:ml to role:r")
    auth = tenant("gravitino", ["add user:a", "add user:b", "add role:r", "add catalog:c", *grants])
    mirror_tenant(server, auth.tenant, tmp_path / "out", print)
    return auth


def test_a_row_names_user_and_object_or_a_place(small: Authorizer, caught_up: CatchUp, tmp_path: Path) -> None:
    small.given(["add schema:c.s", "add table:c.s.t", "add table:c.s.u"])
    at = small.change("allow SELECT_TABLE on schema:c.s to role:r").revision
    caught_up(small, tmp_path / "out")
    gained = {row for row in rows_of(tmp_path / "out") if row[3] == "SELECT_TABLE"}
    assert gained == {
        (at, "gained", "user:a", "SELECT_TABLE", "schema", "schema:c.s", False),
        (at, "gained", "user:a", "SELECT_TABLE", "table", "schema:c.s", True),
    }
    at = small.change("drop table:c.s.t").revision
    caught_up(small, tmp_path / "out")
    lost = {row for row in rows_of(tmp_path / "out") if row[:4] == (at, "lost", "user:a", "SELECT_TABLE")}
    assert lost == {(at, "lost", "user:a", "SELECT_TABLE", "table", "table:c.s.t", False)}


def test_a_file_ends_when_it_has_many_rows(
    small: Authorizer, caught_up: CatchUp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, begin = tmp_path / "out", small.revision_now()
    monkeypatch.setattr(follower, "ROWS", 1)
    small.given(["member user:b of role:r", "add role:empty", "remove user:b from role:r", "add role:other"])
    caught_up(small, out)
    assert [(each.first - begin, each.last - begin) for each in change_files(out)] == [(1, 1), (2, 3), (4, 4)]


@pytest.mark.parametrize("failing", ["changed_access", "append"])
def test_after_an_error_the_next_follower_describes_each_revision_once(
    small: Authorizer, caught_up: CatchUp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    """The second of three changes cannot be compared, or its file cannot be written."""
    out, begin, calls = tmp_path / "out", small.revision_now(), iter(range(100))
    monkeypatch.setattr(follower, "ROWS", 1)
    works = getattr(follower, failing)

    def second_fails(*given: object) -> object:
        if next(calls) == 1:
            raise OSError(errno.ENOSPC, "the disk is full")
        return works(*given)

    small.given(["member user:b of role:r", "remove user:b from role:r", "member user:b of role:r"])
    with monkeypatch.context() as patch, pytest.raises(OSError, match="the disk is full"):
        patch.setattr(follower, failing, second_fails)
        caught_up(small, out)
    assert [(each.first - begin, each.last - begin) for each in change_files(out)] == [(1, 1)]
    caught_up(small, out)
    require_each_revision_once(out, begin + 1, begin + 3)
    assert {row[:2] for row in rows_of(out)} == {(begin + 1, GAINED), (begin + 2, LOST), (begin + 3, GAINED)}


def test_update_of_a_followed_snapshot_writes_its_changes_too(
    server: Connection, small: Authorizer, caught_up: CatchUp, tmp_path: Path
) -> None:
    out, begin = tmp_path / "out", small.revision_now()
    small.change("member user:b of role:r")
    caught_up(small, out)
    small.change("remove user:b from role:r")
    done = update(server, small.tenant, out, print)
    assert (done.before, done.meta.revision, done.rebuilt) == (begin + 1, begin + 2, None)
    require_each_revision_once(out, begin + 1, begin + 2)
    assert [row[1] for row in rows_of(out)].count(LOST) == [row[1] for row in rows_of(out)].count(GAINED) > 0


def test_what_the_log_does_not_describe_is_marked(
    server: Connection, small: Authorizer, caught_up: CatchUp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, begin = tmp_path / "out", small.revision_now()
    small.change("add user:before")
    with monkeypatch.context() as patch:
        patch.setattr(delta_records, "BULK", 0)
        small.change("add user:in_bulk")
    small.change("add user:later")
    steps = caught_up(small, out)
    reason = f"the log does not describe what revision {begin + 2} changed"
    assert [(step.first, step.last, step.rebuilt) for step in steps] == [
        (begin + 1, begin + 1, None),
        (begin + 2, begin + 3, reason),
    ]
    assert (begin + 3, REBUILT, "", "", "", "", False) in rows_of(out)
    upgrade(small, variant("gravitino", tmp_path))
    again = reopened(small)
    assert [step.rebuilt for step in caught_up(again, out)] == ["the policy was upgraded"]
    require_each_revision_once(out, begin + 1, again.revision_now())
    assert "user:in_bulk" in SnapshotReader(out).numbering.refs


def test_a_root_that_was_created_again_begins_anew(small: Authorizer, caught_up: CatchUp, tmp_path: Path) -> None:
    out = tmp_path / "out"
    small.change("add user:x")
    caught_up(small, out)
    make_again(small, ["u"])
    assert [step.rebuilt for step in caught_up(small, out)] == ["the root was created again"]
    assert [(file.number, file.first, file.last) for file in change_files(out)][-1] == (1, 0, small.revision_now())
    assert "user:x" not in SnapshotReader(out).numbering.refs


def test_missing_files_of_changes_are_an_error(small: Authorizer, caught_up: CatchUp, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for number in range(3):
        small.change(f"add user:u{number}")
        caught_up(small, out)
    change_files(out)[0].path.unlink()
    assert len(change_files(out)) == 2, "old files may be removed"
    small.change("add user:v")
    caught_up(small, out)
    change_files(out)[1].path.unlink()
    with pytest.raises(InvalidInput, match=r"changes: files are missing; remove only the oldest files"):
        caught_up(small, out)


def test_a_killed_follower_continues_where_it_was(
    server: Connection, small: Authorizer, caught_up: CatchUp, tmp_path: Path
) -> None:
    """It is killed at random moments while others change the root; the snapshot is complete after each."""
    out, begin, rng = tmp_path / "out", small.revision_now(), random.Random("kills")
    login = (server.uri, server.user, server.password, small.tenant, str(out))
    for turn in range(KILLS):
        run = subprocess.Popen([sys.executable, "-c", FOLLOWING, *login], stdout=subprocess.PIPE, text=True)
        assert run.stdout and run.stdout.readline() == "following\n"
        until = time.monotonic() + rng.uniform(0.3, 2.5)
        at = 0
        while time.monotonic() < until:
            small.change(f"add user:u{turn}_{at}")
            small.change(f"member user:u{turn}_{at} of role:r")
            at += 1
        run.send_signal(signal.SIGKILL)
        run.wait()
        source = SnapshotReader(out)
        assert source.fact_table and source.closure() and source.meta.counts["objects"] == len(source.numbering)
    caught_up(small, out)
    require_each_revision_once(out, begin + 1, small.revision_now())
    joined = [row for row in rows_of(out) if row[1:4] == (GAINED, row[2], "USE_CATALOG") and row[4] == "catalog"]
    assert len({row[2] for row in joined}) == len(joined) == small.revision_now() // 2 - begin // 2
    mirror_tenant(server, small.tenant, tmp_path / "after", print)
    assert without_changes(table_sums(out)) == table_sums(tmp_path / "after")


def test_follower_waits_while_the_database_does_not_answer(
    server: Connection, small: Authorizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step, failures, lines = Follower.step, iter([Unavailable("gone"), Inconsistent("a load is running")]), list[str]()

    def failing(self: Follower) -> bool:
        if error := next(failures, None):
            raise error
        return step(self)

    small.change("add user:x")
    monkeypatch.setattr(Follower, "step", failing)
    monkeypatch.setattr(follower, "RETRY_SECONDS", 0)
    out = tmp_path / "out"
    follow(server, small.tenant, out, lines.append, lambda _: lines.append("done"), lambda: "done" in lines)
    assert lines == ["waiting: gone", "waiting: a load is running", "done"]
