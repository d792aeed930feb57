"""`grantpath export`: a snapshot's tables as Delta and as Iceberg tables, complete or absent."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import StaticTable

from grantpath.engine.cli import main
from grantpath.engine.facts.snapshot.snapshot_reader import CHANGES, TABLES
from grantpath.graph.files import bounded_parquet
from grantpath.spark_sync.session.snapshot import Snapshot
from grantpath.spark_sync.tables import part_files
from grantpath.spark_sync.tables.snapshot_export import Format

from ..support.plain_access import write_access
from ..support.small_export import FORMATS, exported, mirrored

ODD = "a b é [x]*{y};'"
EXPORTED = [name for name in TABLES if name != CHANGES]
MIRRORED = [name for name in EXPORTED if "/" not in name]


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A snapshot with all tables. Its names have odd characters."""
    folder = write_access(mirrored(tmp_path_factory.mktemp("snapshots") / ODD), ["SELECT_TABLE", "load_table"])
    (folder / "access" / "expand").mkdir()
    rows = {"subject": [13, 14], "name": ["load_table"] * 2, "type": ["table"] * 2, "start": [3, 3], "last": [12, 5]}
    pq.write_table(pa.table(rows), folder / "access" / "expand" / "part-0.parquet")
    return folder


def read(path: Path, format: str) -> tuple[pa.Table, dict[str, str], dict[str, str]]:
    """The rows of an exported table, its properties, and those of its last commit."""
    if format == "delta":
        delta = DeltaTable(path)
        return delta.to_pyarrow_table(), delta.metadata().configuration, delta.history(1)[0]
    iceberg = StaticTable.from_metadata(str(path))
    commit = iceberg.current_snapshot()
    assert commit is not None and commit.summary is not None
    return iceberg.scan().to_arrow(), iceberg.properties, commit.summary.additional_properties


def stored(snapshot: Path, name: str) -> pa.Table:
    """The rows of a table of the snapshot, as the files have them."""
    path = snapshot / name
    found = pq.read_table(path if path.is_dir() else f"{path}.parquet")
    plain = [pa.string() if pa.types.is_dictionary(each.type) else each.type for each in found.schema]
    return found.cast(pa.schema(list(zip(found.column_names, plain, strict=True)))).replace_schema_metadata(None)


def as_plain(table: pa.Table) -> pa.Table:
    """The table without metadata; pyiceberg reads strings as large strings."""
    plain = [pa.string() if pa.types.is_large_string(each.type) else each.type for each in table.schema]
    return table.cast(pa.schema(list(zip(table.column_names, plain, strict=True)))).combine_chunks()


# ---- what is written -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("format", FORMATS)
def test_every_table_has_the_rows_types_and_order_of_the_snapshot(
    snapshot: Path, tmp_path: Path, format: Format
) -> None:
    made = exported(snapshot, tmp_path / ODD, format)
    assert [each.name for each in made.tables] == [name.rpartition("/")[2] for name in EXPORTED]
    for each, name in zip(made.tables, EXPORTED, strict=True):
        rows, _, _ = read(each.path, format)
        assert as_plain(rows).equals(stored(snapshot, name).combine_chunks()), name
        assert each.rows == len(rows) > 0


@pytest.mark.parametrize("format", FORMATS)
def test_properties_of_table_and_commit_name_the_root_the_revision_and_the_policy(
    snapshot: Path, tmp_path: Path, format: Format
) -> None:
    made, meta = exported(snapshot, tmp_path / "out", format), Snapshot(snapshot).meta
    wanted = {
        "grantpath.root": "metalake:ml",
        "grantpath.revision": "7",
        "grantpath.policy": "gravitino",
        "grantpath.policy_digest": meta.policy_digest,
        "grantpath.created": meta.created,
    }
    for each in made.tables:
        _, properties, commit = read(each.path, format)
        assert wanted.items() <= properties.items() and wanted.items() <= commit.items()
    assert (made.root, made.revision) == ("metalake:ml", 7)


def test_catalog_of_iceberg_tables_opens_them(snapshot: Path, tmp_path: Path) -> None:
    made = exported(snapshot, tmp_path / "out", "iceberg")
    catalog = SqlCatalog("grantpath", uri=f"sqlite:///{tmp_path}/out/catalog.db")
    try:
        assert {name for _, name in catalog.list_tables("grantpath")} == {each.name for each in made.tables}
        objects = catalog.load_table("grantpath.objects")
        assert len(objects.scan().to_arrow()) == made.tables[0].rows
        found = objects.scan(row_filter="type == 'schema' and exists == true", selected_fields=("ref", "position"))
        assert found.to_arrow().to_pylist() == [{"position": 2, "ref": "schema:hr.public"}]
    finally:
        catalog.close()
    assert len(StaticTable.from_metadata(str(made.tables[0].path)).metadata.snapshots) == 1


def test_delta_tables_can_be_moved(snapshot: Path, tmp_path: Path) -> None:
    made = exported(snapshot, tmp_path / "out", "delta")
    (tmp_path / "out").rename(tmp_path / "moved")
    assert len(DeltaTable(tmp_path / "moved" / "objects").to_pyarrow_table()) == made.tables[0].rows


@pytest.mark.parametrize("format", FORMATS)
def test_tables_without_rows_and_snapshots_without_answers_are_exported(tmp_path: Path, format: Format) -> None:
    made = exported(mirrored(tmp_path / "bare", members=False), tmp_path / "out", format)
    assert [each.name for each in made.tables] == MIRRORED
    members = next(each for each in made.tables if each.name == "members")
    path = members.path
    rows = (
        DeltaTable(path).to_pyarrow_table()
        if format == "delta"
        else StaticTable.from_metadata(str(path)).scan().to_arrow()
    )
    assert (members.rows, len(rows), rows.column_names) == (0, 0, [*TABLES["members"]])


@pytest.mark.parametrize("format", FORMATS)
def test_large_tables_are_split_into_files_in_the_order_of_the_rows(
    snapshot: Path, tmp_path: Path, format: Format, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_parquet, "STREAM_ROWS", 4)
    monkeypatch.setattr(part_files, "PART_ROWS", 8)
    made = exported(snapshot, tmp_path / "out", format).tables[0]
    assert (made.name, made.rows) == ("objects", stored(snapshot, "objects").num_rows)
    files = sorted((tmp_path / "out" / "objects").rglob("part-*.parquet"))
    assert len(files) == -(-made.rows // 8)
    positions = np.concatenate([pq.read_table(file)["position"].to_numpy() for file in files])
    assert positions.tolist() == list(range(made.rows))
    assert {pq.ParquetFile(file).schema_arrow.field("ref").type for file in files} == {pa.string()}
    assert read(made.path, format)[0]["position"].to_pylist() == list(range(made.rows))


def test_delta_files_say_which_values_they_have(
    snapshot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_parquet, "STREAM_ROWS", 4)
    monkeypatch.setattr(part_files, "PART_ROWS", 8)
    table = DeltaTable(exported(snapshot, tmp_path / "out", "delta").tables[0].path)
    files = sorted(pa.table(table.get_add_actions(flatten=True)).to_pylist(), key=lambda each: each["min.position"])
    wanted = stored(snapshot, "objects")
    for at, each in enumerate(files):
        part = wanted.slice(8 * at, 8)
        for name in part.column_names:
            values = part[name].to_pylist()
            assert (each[f"min.{name}"], each[f"max.{name}"], each[f"null_count.{name}"]) == (
                min(values),
                max(values),
                0,
            )


@pytest.mark.parametrize("with_statistics", [True, False])
def test_rows_of_delta_tables_are_found_by_every_column(
    snapshot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_statistics: bool
) -> None:
    if not with_statistics:
        writer = partial(pq.ParquetWriter, write_statistics=False)
        monkeypatch.setattr(pq, "ParquetWriter", writer)
    made = exported(snapshot, tmp_path / "out", "delta")
    for each, table in zip(made.tables, EXPORTED, strict=True):
        found, rows = DeltaTable(each.path).to_pyarrow_dataset(), stored(snapshot, table)
        for name in rows.column_names:
            value = rows[name][-1]
            assert found.count_rows(filter=pads.field(name) == value) == pc.sum(pc.equal(rows[name], value)).as_py(), (
                name
            )


@pytest.mark.parametrize("format", FORMATS)
def test_export_is_private(snapshot: Path, tmp_path: Path, format: Format) -> None:
    exported(snapshot, tmp_path / "out", format)
    modes = {path.stat().st_mode & 0o777 for path in (tmp_path / "out").rglob("*") if path.is_file()}
    folders = {path.stat().st_mode & 0o777 for path in (tmp_path / "out").rglob("*") if path.is_dir()}
    assert (modes, folders) == ({0o600}, {0o700})


def test_command_prints_what_it_wrote(snapshot: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["export", str(snapshot), str(tmp_path / "a"), "--format", "delta", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [*found] == ["export", "format", "root", "revision", "tables", "seconds"]
    assert (found["format"], found["root"], found["revision"]) == ("delta", "metalake:ml", 7)
    assert found["tables"][0] == {"name": "objects", "rows": 45, "path": str(tmp_path / "a" / "objects")}
    assert main.main(["export", str(snapshot), str(tmp_path / "b"), "--format", "iceberg"]) == 0
    printed = capsys.readouterr().out
    assert f"exported metalake:ml at revision 7 to {tmp_path / 'b'}\n  iceberg: 45 objects, 32 subjects" in printed
