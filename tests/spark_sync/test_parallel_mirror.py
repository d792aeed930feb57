"""A large root is mirrored in Spark's tasks: the snapshot is the one that this process would write."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow.parquet as pq
import pytest

from grantpath.engine import Authorizer, GrantpathError
from grantpath.engine.change import delta_records, renaming
from grantpath.engine.change.delta_records import recorded
from grantpath.engine.facts.kernel import small_closure
from grantpath.engine.facts.kernel.small_closure import close_small
from grantpath.engine.facts.set import graph_ranges
from grantpath.engine.facts.snapshot.snapshot_reader import ints
from grantpath.engine.transfer.policy_upgrade import upgrade
from grantpath.graph.client.connection import Connection
from grantpath.graph.errors import Inconsistent, InvalidInput, Unavailable, Unknown
from grantpath.spark_sync.mirroring import mirror as mirroring
from grantpath.spark_sync.mirroring import parallel_mirror, parallel_order, parallel_reader
from grantpath.spark_sync.mirroring.mirror import mirror_tenant
from grantpath.spark_sync.mirroring.parallel_reader import RangeRead, Reading
from grantpath.spark_sync.session import spark_session
from grantpath.spark_sync.session.snapshot import write_table

from ..conftest import Tenants
from ..engine.change.test_deltas import statements_of
from ..engine.change.test_recorded_deltas import variant
from ..engine.tenants.test_policy_upgrades import reopened
from ..engine.tenants.test_recreated_tenants import make_again
from ..oracle import oracle
from ..support.random_world import ROOT_NAME, random_statements, random_world
from ..support.table_sums import snapshot_statements, table_sums
from ..support.tiers import others_slow
from ..support.twin import POLICIES

pytestmark = pytest.mark.spark
SEED = 15
ODD = ["add catalog:`a.b`", "add catalog:`a`", "add catalog:a-b", "add catalog:`ä`", "add schema:`a.b`.`c``d`"]


@pytest.fixture(autouse=True)
def tiny_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes each root a large one, with many ranges and partitions."""
    monkeypatch.setattr(mirroring, "SMALL", 0)
    monkeypatch.setattr(graph_ranges, "RANGE_ROWS", 60)
    monkeypatch.setattr(parallel_order, "PART_ROWS", 80)


@pytest.fixture
def plain(server: Connection, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Authorizer], Path]:
    """Mirrors a root in this process."""

    def mirrored(auth: Authorizer) -> Path:
        with monkeypatch.context() as patch:
            patch.setattr(mirroring, "SMALL", 10**9)
            mirror_tenant(server, auth.tenant, tmp_path / "plain", print)
        return tmp_path / "plain"

    return mirrored


@pytest.fixture
def closure_by_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spares Spark the closure of memberships in tests that do not ask about it: it is a third of a mirror's time."""

    def write_closure(folder: Path, *_: object) -> str:
        [subjects], [source, target] = (
            [ints(pq.read_table(folder / table), column) for column in columns]
            for table, columns in (("subjects", ["position"]), ("members", ["source", "target"]))
        )
        closed = close_small(subjects, source, target)
        assert closed is not None
        write_table(folder, "closure", dict(zip(("subject", "holder"), closed, strict=True)))
        return small_closure.NAME

    monkeypatch.setattr(parallel_mirror, "write_closure", write_closure)


Between = Callable[[Reading], object]


@pytest.fixture
def between(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Between]]:
    """Functions to call after each reading of ranges, in order."""
    read, calls = parallel_reader.read_ranges, list[Between]()

    def reading(spark: Any, given: Reading, out: Path) -> list[RangeRead]:
        found = read(spark, given, out)
        if calls:
            calls.pop(0)(given)
        return found

    monkeypatch.setattr(parallel_mirror, "read_ranges", reading)
    yield calls
    assert not calls


def filled(tenant: Tenants, policy: str, size: int = 100) -> Authorizer:
    return tenant(policy, random_world(policy, random.Random(SEED), size), root=ROOT_NAME)


@pytest.mark.parametrize("policy", others_slow(POLICIES))
def test_tasks_write_the_rows_of_this_process_in_its_order(
    server: Connection, tenant: Tenants, plain: Callable[[Authorizer], Path], policy: str, tmp_path: Path
) -> None:
    auth = filled(tenant, policy)
    if policy == "gravitino":
        assert not [problem for problem in auth.given(ODD) if problem]
    meta = mirror_tenant(server, auth.tenant, tmp_path / "out", print)
    assert table_sums(tmp_path / "out") == table_sums(plain(auth))
    assert meta.revision == auth.revision_now() and meta.policy_digest == auth.policy.digest
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        *("objects", "subjects", "members", "intervals", "closure", "policy.json", "meta.json")
    }


@pytest.mark.usefixtures("closure_by_python")
@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
def test_changes_after_the_read_are_applied(
    server: Connection,
    tenant: Tenants,
    plain: Callable[[Authorizer], Path],
    between: list[Between],
    policy: str,
    tmp_path: Path,
) -> None:
    auth, rng = filled(tenant, policy), random.Random(SEED)
    world = oracle(policy, ROOT_NAME)
    for fact in random_world(policy, random.Random(SEED), 100):
        world.given(fact)
    before = auth.revision_now()

    def change(_: Reading) -> None:
        for statement, by, as_role in random_statements(policy, world, rng, 150):
            with suppress(GrantpathError):
                auth.change(statement, by=by, as_role=as_role)

    between.append(change)
    lines: list[str] = []
    meta = mirror_tenant(server, auth.tenant, tmp_path / "out", lines.append)
    assert policy == "lakehouse" or not any("again" in line for line in lines)  # after changes of tags, too
    assert meta.revision == auth.revision_now() > before + 20
    assert table_sums(tmp_path / "out") == table_sums(plain(auth))


@pytest.mark.slow
def test_a_writer_is_not_kept_out_and_the_snapshot_is_of_one_revision(
    server: Connection, tenant: Tenants, tmp_path: Path
) -> None:
    """A writer changes the graph several times a second while the tasks read it, and waits for none of them."""
    auth = filled(tenant, "lakehouse", 150)
    facts, begin, done = statements_of(auth), auth.revision_now(), threading.Event()
    slowest = 0.0  # seconds

    def write() -> None:
        nonlocal slowest
        at = 0
        while not done.wait(0.05):
            for change in (f"add user:u{at}", f"member user:u{at} of group:strong", f"drop user:u{at - 3}"):
                began = time.monotonic()
                with suppress(GrantpathError):
                    auth.change(change)
                slowest = max(slowest, time.monotonic() - began)
            at += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        while auth.revision_now() == begin:
            time.sleep(0.05)
        mirroring = time.monotonic()
        meta = mirror_tenant(server, auth.tenant, tmp_path / "out", print)
        took = time.monotonic() - mirroring
    finally:
        done.set()
        writer.join()
    assert begin + 5 < meta.revision <= auth.revision_now()
    assert slowest < took / 2, "a change waited for the mirror"
    for delta in recorded(auth.ask, begin, auth.root):
        if delta.revision <= meta.revision:
            facts = facts - set(delta.removed) | set(delta.added)
    assert snapshot_statements(tmp_path / "out") == facts


# ---- what the log does not describe
@pytest.mark.usefixtures("closure_by_python")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "limit", "statement"),
    [(delta_records, "BULK", "add user:in_bulk"), (renaming, "LISTED", "rename CATALOG to zz")],
    ids=["change in bulk", "large rename"],
)
def test_ranges_are_read_again_after_what_the_log_does_not_list(
    server: Connection,
    tenant: Tenants,
    plain: Callable[[Authorizer], Path],
    between: list[Between],
    monkeypatch: pytest.MonkeyPatch,
    module: ModuleType,
    limit: str,
    statement: str,
    tmp_path: Path,
) -> None:
    auth = filled(tenant, "gravitino")
    statement = statement.replace("CATALOG", next(iter(auth.list("catalog"))))
    lines: list[str] = []

    def change(reading: Reading) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(module, limit, 0)
            auth.change(statement)
        auth.change("add user:later")

    between.append(change)
    mirror_tenant(server, auth.tenant, tmp_path / "out", lines.append)
    told = f"a load, an upgrade or a large rename changed {auth.tenant} while it was read; reading"
    assert any(told in line for line in lines)
    assert table_sums(tmp_path / "out") == table_sums(plain(auth))


@pytest.mark.usefixtures("closure_by_python")
@pytest.mark.slow
def test_ranges_are_read_again_after_an_upgrade(
    server: Connection,
    tenant: Tenants,
    plain: Callable[[Authorizer], Path],
    between: list[Between],
    tmp_path: Path,
) -> None:
    auth = filled(tenant, "gravitino")
    between.append(lambda _: upgrade(auth, variant("gravitino", tmp_path)))
    meta = mirror_tenant(server, auth.tenant, tmp_path / "out", print)
    again = reopened(auth)
    assert meta.policy_digest == again.policy.digest != auth.policy.digest
    assert table_sums(tmp_path / "out") == table_sums(plain(again))


@pytest.mark.usefixtures("closure_by_python")
@pytest.mark.slow
def test_two_roots_of_one_name_are_not_mixed(
    server: Connection, tenant: Tenants, between: list[Between], tmp_path: Path
) -> None:
    auth = tenant("gravitino", ["add role:r", "add user:a", "member user:a of role:r"])
    between.append(lambda _: make_again(auth, ["c", "d"]))
    mirror_tenant(server, auth.tenant, tmp_path / "out", print)
    found = {text for text in snapshot_statements(tmp_path / "out") if "user:" in text}
    assert found == {"add user:c", "add user:d", "member user:c of role:r", "member user:d of role:r"}


@pytest.mark.slow
def test_root_that_is_loaded_again_and_again_is_an_error(
    server: Connection, tenant: Tenants, between: list[Between], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    auth = tenant("gravitino")
    monkeypatch.setattr(delta_records, "BULK", 0)
    between.extend(lambda _, name=f"user:u{at}": auth.change(f"add {name}") for at in range(5))  # type: ignore[misc]
    with pytest.raises(Inconsistent, match=r"a load, an upgrade or a large rename changed .* in each of 5 tries"):
        mirror_tenant(server, auth.tenant, tmp_path / "out", print)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_root_that_is_dropped_meanwhile_is_an_error(
    server: Connection, tenant: Tenants, between: list[Between], tmp_path: Path
) -> None:
    auth = tenant("gravitino", ["add user:a"])
    between.append(lambda _: auth.change(f"drop {auth.root}"))
    with pytest.raises(Unknown, match="was dropped, and only its history is left"):
        mirror_tenant(server, auth.tenant, tmp_path / "out", print)
    assert list(tmp_path.iterdir()) == []


# ---- tasks that fail
@pytest.mark.usefixtures("closure_by_python")
@pytest.mark.slow
def test_task_that_cannot_reach_the_database_is_one_message(
    server: Connection, tenant: Tenants, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    auth = tenant("gravitino", ["add user:a"])
    read = parallel_reader.read_ranges
    for connection, message in (
        (replace(server, uri="bolt://127.0.0.1:1"), "a task of Spark: bolt://127.0.0.1:1 cannot be reached"),
        (replace(server, password="wrong"), "a task of Spark: .* refuses the login"),
    ):
        with monkeypatch.context() as patch, pytest.raises(Unavailable, match=message) as error:
            patch.setattr(
                parallel_mirror,
                "read_ranges",
                lambda spark, given, out, other=connection: read(spark, replace(given, connection=other), out),
            )
            mirror_tenant(server, auth.tenant, tmp_path / "out", print)
        assert len(str(error.value).splitlines()) == 1
        assert list(tmp_path.iterdir()) == []
    assert mirror_tenant(server, auth.tenant, tmp_path / "out", print).counts["objects"] > 1


def test_login_that_cannot_be_sent_to_tasks_is_refused(server: Connection, tenant: Tenants, tmp_path: Path) -> None:
    auth, lock = tenant("gravitino", ["add user:a"]), threading.Lock()

    def login() -> tuple[str, str]:
        with lock:
            return server.user, server.password

    with pytest.raises(InvalidInput, match=r"cannot be sent to Spark's tasks .*; pass a user and a password"):
        mirror_tenant(replace(server, auth=login), auth.tenant, tmp_path / "out", print)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_password_is_in_no_plan_and_no_command_line(
    server: Connection, tenant: Tenants, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    auth, seen = tenant("gravitino", ["add user:a"]), list[str]()
    spark = spark_session.engine(print).spark
    frame = type(spark.range(1))
    run = frame.mapInArrow

    def noting(self: Any, *words: Any, **named: Any) -> Any:
        found = run(self, *words, **named)
        seen.append(found._jdf.queryExecution().toString())
        seen.extend(path.read_text(errors="replace") for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists())
        return found

    monkeypatch.setattr(frame, "mapInArrow", noting)
    mirror_tenant(server, auth.tenant, tmp_path / "out", seen.append)
    assert len(seen) > 3 and any("MapInArrow" in text for text in seen)
    assert not [text for text in seen if server.password in text]
