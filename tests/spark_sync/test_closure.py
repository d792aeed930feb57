"""The closure of memberships by GraphFrames and by plain joins: both return the same pairs, with cycles and chains."""

import random
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grantpath.engine.facts.kernel import small_closure
from grantpath.engine.facts.kernel.small_closure import close_small
from grantpath.graph.errors import InvalidInput
from grantpath.spark_sync.mirroring import snapshot_writer
from grantpath.spark_sync.mirroring.closure import Composition, Joins, Messages, close
from grantpath.spark_sync.session import spark_session
from grantpath.spark_sync.session.snapshot import write_table
from grantpath.spark_sync.session.spark_session import SparkEngine

from ..support.tiers import others_slow

pytestmark = pytest.mark.spark

Pairs = set[tuple[int, int]]


@pytest.fixture(scope="module")
def spark_engine() -> SparkEngine:
    return spark_session.engine(print)


def brute(size: int, edges: Pairs) -> Pairs:
    reached = {(at, at) for at in range(size)} | edges
    while True:
        further = reached | {(a, d) for a, b in reached for c, d in edges if b == c}
        if further == reached:
            return reached
        reached = further


def graphs() -> dict[str, tuple[int, Pairs]]:
    rng = random.Random(5)
    return {
        "nobody is in anything": (3, set()),
        "a chain of 11": (12, {(at, at + 1) for at in range(11)}),
        "a cycle with a tail": (6, {(0, 1), (1, 2), (2, 3), (3, 1), (4, 0)}),
        "in itself": (3, {(1, 1), (0, 1)}),
        "two cycles that touch": (7, {(0, 1), (1, 0), (1, 2), (2, 3), (3, 2), (5, 0)}),
        "random": (40, {(rng.randrange(40), rng.randrange(10, 40)) for _ in range(60)}),
    }


def compositions(engine: SparkEngine) -> list[Composition]:
    return [Joins(), Messages()] if engine.graphframes else [Joins()]


def test_the_default_stack_has_graphframes(spark_engine: SparkEngine) -> None:
    if spark_engine.spark.version.startswith("3."):
        assert spark_engine.graphframes


@pytest.mark.parametrize("name", others_slow(list(graphs())))
def test_closures_agree(name: str, spark_engine: SparkEngine, tmp_path: Path) -> None:
    size, edges = graphs()[name]
    pq.write_table(pa.table({"id": pa.array(range(size), pa.int64())}), tmp_path / "subjects.parquet")
    columns = {
        "source": pa.array([a for a, _ in edges] * 2, pa.int64()),
        "target": pa.array([b for _, b in edges] * 2, pa.int64()),
    }
    pq.write_table(pa.table(columns), tmp_path / "members.parquet")
    subjects = spark_engine.spark.read.parquet(str(tmp_path / "subjects.parquet"))
    members = spark_engine.spark.read.parquet(str(tmp_path / "members.parquet"))
    for by in compositions(spark_engine):
        rows = close(by, subjects, members).collect()
        assert len(rows) == len(set(rows)), by.name
        assert {(row.subject, row.holder) for row in rows} == brute(size, edges), by.name


@pytest.mark.slow
def test_closure_is_the_same_if_no_worker_has_that_of_all_groups(
    spark_engine: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size, edges = graphs()["random"]
    for way, pairs in (("whole", 10**6), ("joined", 0)):
        folder = tmp_path / way
        folder.mkdir()
        subjects = {"position": np.arange(size), "ref": ["r"] * size, "type": ["t"] * size}
        write_table(folder, "objects", subjects)
        write_table(folder, "subjects", subjects)
        source, target = np.array(sorted(edges)).T
        write_table(folder, "members", {"source": source, "target": target, "kind": ["MEMBER_OF"] * len(source)})
        monkeypatch.setattr(snapshot_writer, "CONTAINER_PAIRS", pairs)
        snapshot_writer.write_closure(folder, spark_engine, print)
        files = sorted((folder / "closure").glob("*.parquet"))
        rows = pa.concat_tables([pq.read_table(file) for file in files])
        assert [*zip(*(rows[name].to_pylist() for name in ("subject", "holder")), strict=True)] == sorted(
            brute(size, edges)
        )
        assert {path.name for path in folder.iterdir()} == {"objects", "subjects", "members", "closure"}


@pytest.mark.parametrize("name", graphs())
def test_closure_of_a_small_graph_is_the_same_without_spark(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    size, edges = graphs()[name]
    ends = np.array([*edges, *edges], np.int64).reshape(-1, 2)
    closed = close_small(np.arange(size), ends[:, 0], ends[:, 1])
    assert closed is not None
    assert list(zip(*map(np.ndarray.tolist, closed), strict=True)) == sorted(brute(size, edges))
    for steps in range(size + len(ends)):
        monkeypatch.setattr(small_closure, "MAX_STEPS", steps)
        assert close_small(np.arange(size), ends[:, 0], ends[:, 1]) is None


def test_closure_with_many_pairs_uses_spark() -> None:
    """A chain of 5,000 groups has 12.5 million pairs, a cycle of 2,000 has 4 million."""
    began = time.process_time()
    for size, edges in (
        (5_000, [(at, at + 1) for at in range(4_999)]),
        (2_000, [(at, (at + 1) % 2_000) for at in range(2_000)]),
    ):
        ends = np.array(edges)
        assert close_small(np.arange(size), ends[:, 0], ends[:, 1]) is None
    assert time.process_time() - began < 20


def test_chosen_closure_is_reported_and_used(spark_engine: SparkEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    monkeypatch.setenv("GRANTPATH_CLOSURE", "joins")
    assert not spark_session.engine(lines.append).graphframes
    assert lines == [
        f"Spark {spark_engine.spark.version}; the closure of memberships is computed by plain DataFrame joins"
    ]
    monkeypatch.setenv("GRANTPATH_CLOSURE", "magic")
    with pytest.raises(InvalidInput, match="graphframes or joins"):
        spark_session.engine(lines.append)
