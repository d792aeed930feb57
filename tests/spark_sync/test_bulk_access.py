"""Snapshots and bulk answers agree with the oracle: reach, exposure, intervals, questions, differences."""

import errno
import json
import random
import shutil
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grantpath.engine.facts.snapshot.snapshot_questions import ask
from grantpath.graph.errors import GrantpathError, Inconsistent, InvalidInput, Unknown, UnknownName
from grantpath.spark_sync.bulk import access_in_process, bulk_access
from grantpath.spark_sync.bulk.bulk_access import access
from grantpath.spark_sync.bulk.bulk_questions import ALL_USERS
from grantpath.spark_sync.bulk.difference import diff
from grantpath.spark_sync.bulk.verification import exposed, verify, widest
from grantpath.spark_sync.job import main
from grantpath.spark_sync.session import spark_session
from grantpath.spark_sync.session.snapshot import Snapshot
from grantpath.spark_sync.session.spark_session import SparkEngine
from grantpath.spark_sync.versions.snapshot_folders import building

from ..oracle import Oracle, oracle
from ..support.plain_access import write_snapshot
from ..support.random_world import ROOT_NAME, random_world
from ..support.table_sums import table_sums
from ..support.tiers import others_slow

pytestmark = pytest.mark.spark
SEED = 77


@pytest.fixture(scope="module")
def engine() -> SparkEngine:
    return spark_session.engine(print)


@cache
def world(policy: str) -> Oracle:
    made = oracle(policy, ROOT_NAME)
    for fact in random_world(policy, random.Random(SEED), 120):
        assert made.given(fact) == "done"
    return made


def snapshot(made: Oracle, out: Path, engine: SparkEngine, revision: int = 5) -> Path:
    return write_snapshot(made, out, revision, lambda: engine)


@pytest.fixture(scope="module")
def gravitino(engine: SparkEngine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return snapshot(world("gravitino"), tmp_path_factory.mktemp("spark") / "gravitino", engine)


def rows(folder: Path, *columns: str) -> Iterator[tuple[Any, ...]]:
    table = pq.read_table(folder)
    return zip(*(table[column].to_pylist() for column in columns), strict=True)


@pytest.mark.parametrize("policy", others_slow(["gravitino", "deltastream", "onehouse", "cdap", "lakehouse"]))
def test_bulk_answers_agree_with_the_oracle(
    policy: str, engine: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = world(policy)
    out = snapshot(made, tmp_path / "snapshot", engine)
    expand = sorted({name for type_ in made.types for name, keys in made.names_on(type_) if not keys})[::5]
    expand = [name for name in expand if name not in made.aliases and made.same_privilege(name) == name]
    monkeypatch.setattr(bulk_access, "ROWS", 10)  # read in several pieces even here
    monkeypatch.setattr(bulk_access, "BLOCK", 3)
    access(out, None, expand, print, broadcast_mib=0, in_process_limit=0)
    joined = table_sums(out)
    by_spark = access(out, None, expand, print, in_process_limit=0)
    assert table_sums(out) == joined
    monkeypatch.setattr(access_in_process, "ROWS", 7)
    report = access(out, None, expand)  # in this process
    assert table_sums(out) == joined
    assert replace(report, seconds=0) == replace(by_spark, seconds=0)
    refs = Snapshot(out).numbering.refs
    people = [str(each) for each in made.existing if each.type in made.people]
    reach = {
        (name, type_, who): many
        for who, name, type_, many in rows(out / "access/reach", "subject", "name", "type", "objects")
    }
    exposure = {(name, refs[at]): many for at, name, many in rows(out / "access/exposure", "position", "name", "users")}
    intervals: dict[tuple[str, str, int], set[str]] = {}
    for who, name, type_, start, last in rows(out / "access/expand", "subject", "name", "type", "start", "last"):
        inside = {ref for ref in refs[start : last + 1] if ref in made.objects(type_)}
        intervals.setdefault((name, type_, who), set()).update(inside)
    assert len(reach) == report.reach_rows
    compared = 0
    some = random.Random(SEED).sample(report.names, 25)  # the oracle tries everything: slow
    for name, type_, _ in some:
        may: dict[str, set[str]] = {who: made.which(type_, who, name) for who in people}
        for who in people:
            key = name, type_, refs.index(who)
            all_users = name, type_, ALL_USERS
            assert reach.get(key, reach.get(all_users, 0)) == len(may[who]), (who, name, type_)
            if name in expand:
                assert intervals.get(key, intervals.get(all_users, set())) == may[who], (who, name, type_)
        for ref in made.objects(type_):
            assert exposure.get((name, ref), 0) == sum(ref in each for each in may.values()), (name, ref)
            compared += len(people)
        assert report.accessible[name, type_] == sum(map(len, may.values()))
    assert compared > 500


def test_ask_answers_from_the_snapshot_alone(gravitino: Path) -> None:
    made = world("gravitino")
    rng = random.Random(SEED)
    tables, people = made.objects("table"), [ref for ref in made.subjects() if ref.startswith("user:")]
    for _ in range(6):
        name, table, user = rng.choice(["load_table", "SELECT_TABLE"]), rng.choice(tables), rng.choice(people)
        who = ask(gravitino, f"who can {name} on {table}")
        assert (who.answer, who.complete, who.revision) == (sorted(made.who(name, table), key=str.encode), True, 5)
        assert ask(gravitino, f"which table can {user} {name}").answer == sorted(made.which("table", user, name))
        assert ask(gravitino, f"{user} can {name} on {table}").answer is made.check(user, name, table)
        assert ask(gravitino, f"{user} cannot {name} on {table}").answer is not made.check(user, name, table)
    with pytest.raises(Unknown, match="does not exist"):
        ask(gravitino, "who can load_table on table:no.such.table")
    with pytest.raises(UnknownName, match="load_table"):
        ask(gravitino, f"who can lode_table on {tables[0]}")


def test_chosen_names_have_widest_users_and_most_exposed_objects(gravitino: Path) -> None:
    made = world("gravitino")
    report = access(gravitino, ["load_table", "list_tables"], [], print, in_process_limit=0)
    assert {(name, type_) for name, type_, _ in report.names} == {("load_table", "table"), ("list_tables", "schema")}
    people = [ref for ref in made.subjects() if ref.startswith("user:")]
    many = {who: len(made.which("table", who, "load_table")) for who in people}
    expected = sorted(((who, count) for who, count in many.items() if count), key=lambda pair: (-pair[1], pair[0]))
    assert widest(gravitino, "load_table", "table", 5) == expected[:5]
    top = exposed(gravitino, "load_table", "table", 3)
    assert top and top == sorted(
        ((ref, len(made.who("load_table", ref))) for ref, _ in top), key=lambda p: (-p[1], p[0])
    )
    with pytest.raises(InvalidInput, match="no bulk answers for SELECT_TABLE"):
        widest(gravitino, "SELECT_TABLE", "table")
    with pytest.raises(UnknownName, match="load_table"):
        access(gravitino, ["load_tabel"], [], print, in_process_limit=0)


def test_job_computes_access_and_reports_failures(gravitino: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["access", str(gravitino), "--names", "drop_table, USE_SCHEMA", "--expand", "drop_table"]) == 0
    names = set(rows(gravitino / "access/names", "name"))
    assert names == {("drop_table",), ("USE_SCHEMA",)}
    assert (gravitino / "access/expand").is_dir()
    capsys.readouterr()
    assert main(["access", str(gravitino), "--names", "drop_tabel"]) == 2
    assert "did you mean drop_table" in capsys.readouterr().err


class Decision:
    def __init__(self, allowed: bool, revision: int) -> None:
        self.allowed, self.revision = allowed, revision

    def __bool__(self) -> bool:
        return self.allowed


@pytest.mark.slow
def test_relative_snapshot_path_follows_the_working_folder(
    gravitino: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark's workers keep the working folder in which the session started."""
    shutil.copytree(gravitino, tmp_path / "here")
    monkeypatch.chdir(tmp_path)
    report = access(Path("here"), ["SELECT_TABLE"], [], print, in_process_limit=0)
    assert report.snapshot == Path("here") and sum(report.accessible.values()) > 0


def test_verify_finds_a_difference(gravitino: Path) -> None:
    made = world("gravitino")
    asked: list[tuple[str, str, str]] = []

    def truthful(triples: list[tuple[str, str, str]]) -> list[Decision]:
        asked.extend(triples)
        return [Decision(made.check(*triple), 5) for triple in triples]

    result = verify(gravitino, truthful, 120, seed=3)
    assert (result.compared, result.different) == (len(asked), [])
    assert result.compared >= 100 and result.compared / 4 < result.allowed < result.compared
    liar = verify(gravitino, lambda triples: [Decision(True, 5) for _ in triples], 120, seed=3)
    assert len(liar.different) == liar.compared - liar.allowed
    with pytest.raises(Inconsistent, match="revision 6"):
        verify(gravitino, lambda triples: [Decision(True, 6) for _ in triples], 20, seed=3)


def test_diff_lists_access_gained_and_lost(gravitino: Path, engine: SparkEngine, tmp_path: Path) -> None:
    before, after = world("gravitino"), world("gravitino").clone()
    tables = after.objects("table")
    said = [f"drop {tables[0]}", "add catalog:`new one`", "add user:newcomer", "owner user:newcomer of metalake:main"]
    said += ["add schema:`new one`.s", "add table:`new one`.s.t", f"drop {after.objects('role')[0]}"]
    for statement in said:
        assert after.given(statement) == "done", statement
    changed = snapshot(after, tmp_path / "after", engine, revision=9)
    found = diff(gravitino, changed, ["load_table", "USE_CATALOG"])
    assert set(found.added) == set(after.objects()) - set(before.objects())
    assert set(found.dropped) == set(before.objects()) - set(after.objects())
    assert "owner user:newcomer of metalake:main" in found.facts_added
    for change in found.access:
        expected: dict[str, tuple[int, int]] = {}
        for who in {*before.subjects(), *after.subjects()}:
            if who.startswith("user:"):
                was, now = (made.which(change.type, who, change.name) for made in (before, after))
                if was != now:
                    expected[who] = len(now - was), len(was - now)
        assert change.by_user == expected, change.name
        assert change.gained == sum(gained for gained, _ in expected.values())
        assert change.lost == sum(lost for _, lost in expected.values())
    assert any(change.gained for change in found.access) and any(change.lost for change in found.access)
    same = diff(changed, changed, ["load_table"])
    assert (same.added, same.facts_removed, same.access[0].by_user) == ([], [], {})


def test_diff_of_two_policy_versions_refuses_names(gravitino: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(gravitino, other)
    source, meta = (json.loads((other / name).read_text()) for name in ("policy.json", "meta.json"))

    def store(source: object) -> None:
        text = json.dumps(source, indent=1)
        digest = sha256(text.encode()).hexdigest()
        (other / "policy.json").write_text(text)
        (other / "meta.json").write_text(json.dumps({**meta, "policy_digest": digest}))

    store(source)
    [same] = diff(gravitino, other, ["load_table"]).access  # the same policy, as another version stores it
    assert (same.gained, same.lost) == (0, 0)
    del source["operations"]["catalog"]["create_schema"]
    store(source)
    with pytest.raises(InvalidInput, match="different versions of the policy gravitino"):
        diff(gravitino, other, ["load_table"])
    assert diff(gravitino, other).facts_added == []


@pytest.mark.slow
def test_snapshot_that_is_half_written_has_no_access_and_then_one(gravitino: Path, tmp_path: Path) -> None:
    """What the driver finds at once, what a task finds in a file, and a memory limit."""
    half, odd = tmp_path / "half", tmp_path / "odd"
    for out, damage in ((half, shutil.rmtree), (odd, swap_last)):
        shutil.copytree(gravitino, out, ignore=shutil.ignore_patterns("access"))
        damage(out / "intervals")
    for out, message in (
        (half, "intervals: contains no Parquet file"),
        (odd, "'start' names positions that are not in `objects`"),
    ):
        with pytest.raises(InvalidInput, match=message) as error:
            access(out, ["load_table"], [], print, in_process_limit=0)
        assert len(str(error.value).splitlines()) == 1
        assert not (out / "access").exists() and not [*out.glob(".access*")]
        shutil.rmtree(out)
        shutil.copytree(gravitino, out, ignore=shutil.ignore_patterns("access"))
        assert access(out, ["load_table"], [], print, in_process_limit=0).reach_rows
    with (
        pytest.raises(GrantpathError, match=r"ran out of memory .*GRANTPATH_SPARK_MEMORY"),
        spark_session.clear_errors(),
    ):
        raise RuntimeError("java.lang.OutOfMemoryError: Java heap space")


def swap_last(table: Path) -> None:
    """Makes the last row of `intervals` name an object that does not exist."""
    file = next(table.glob("*.parquet"))
    rows = pq.read_table(file)
    start = [*rows["start"].to_pylist()[:-1], 10**6]
    pq.write_table(rows.set_column(rows.column_names.index("start"), "start", pa.array(start)), file)


def test_snapshot_is_complete_or_absent(gravitino: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="already exists"), building(gravitino):
        pass
    out = tmp_path / "full"
    with pytest.raises(GrantpathError, match="the disk is full"), building(out) as folder:
        (folder / "half").write_text("x")
        raise OSError(errno.ENOSPC, "No space left on device")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InvalidInput, match="not a snapshot"):
        ask(tmp_path, "who can load_table on table:a.b.c")
