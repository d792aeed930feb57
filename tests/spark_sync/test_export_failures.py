"""`grantpath export` with bad input, and failures on the way: one message, and nothing under the final name."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grantpath.engine.cli import main
from grantpath.graph.errors import GrantpathError, InvalidInput
from grantpath.spark_sync import export
from grantpath.spark_sync.tables import delta_tables, iceberg_tables, part_files
from grantpath.spark_sync.tables.snapshot_export import Format

from ..support.plain_access import write_access
from ..support.small_export import FORMATS, exported, mirrored

MEMBERS, INTERVALS = "members/part-00000.parquet", "intervals/part-00000.parquet"


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A snapshot without bulk answers."""
    return mirrored(tmp_path_factory.mktemp("snapshots") / "monday")


def damaged(snapshot: Path) -> dict[str, Callable[[Path], object]]:
    return {
        "has 1 rows, not 20 as in meta.json; write the snapshot again": lambda folder: pq.write_table(
            pq.read_table(folder / "members").slice(0, 1), folder / MEMBERS
        ),
        "members: contains no Parquet file; write the snapshot again": lambda folder: (folder / MEMBERS).unlink(),
        "members does not exist; write the snapshot again": lambda folder: shutil.rmtree(folder / "members"),
        "exposure does not exist": lambda folder: shutil.rmtree(folder / "access" / "exposure"),
        "cannot be read as Parquet": lambda folder: (folder / INTERVALS).write_bytes(b"PAR1 and no footer"),
        "is not a snapshot of this version": lambda folder: (folder / "meta.json").unlink(),
        "has empty values": lambda folder: pq.write_table(
            pa.table({"source": [None] * 20, "target": range(20), "kind": ["x"] * 20}).cast(
                pa.schema([("source", pa.int64()), ("target", pa.int64()), ("kind", pa.string())])
            ),
            folder / MEMBERS,
        ),
        "contains a value of 9,000 bytes": lambda folder: pq.write_table(
            pa.table({"source": range(20), "target": range(20), "kind": ["x" * 9000] * 20}), folder / MEMBERS
        ),
    }


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("message", damaged(Path()))
def test_incomplete_snapshot_is_refused_and_nothing_is_left(tmp_path: Path, format: Format, message: str) -> None:
    folder = write_access(mirrored(tmp_path / "snapshot"), ["SELECT_TABLE"])
    damaged(folder)[message](folder)
    with pytest.raises(InvalidInput, match=message):
        exported(folder, tmp_path / "out", format)
    assert [path.name for path in tmp_path.iterdir()] == ["snapshot"]


def test_existing_folder_unknown_format_and_other_folders_are_refused(snapshot: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(InvalidInput, match="out already exists; name a new folder, or remove it"):
        exported(snapshot, tmp_path / "out", "delta")
    with pytest.raises(InvalidInput, match="format 'csv' is unknown; choose delta or iceberg"):
        export(snapshot, tmp_path / "new", "csv", print)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="is not a snapshot of this version"):
        exported(tmp_path / "out", tmp_path / "new", "iceberg")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_command_names_the_formats(snapshot: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["export", str(snapshot), str(tmp_path / "out"), "--format", "csv"]) == 2
    assert "'csv' is not one of 'delta', 'iceberg'" in capsys.readouterr().err
    assert main.main(["export", str(snapshot), str(tmp_path / "out")]) == 2
    assert "Missing option '--format'" in capsys.readouterr().err


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", ["a#b", "a?b", "a%2Fb", "a\\b", "a\nb", "a\udc80b"])
def test_folder_that_readers_could_not_open_is_refused(
    snapshot: Path, tmp_path: Path, format: Format, name: str
) -> None:
    with pytest.raises(InvalidInput, match=r"cannot contain #, \?, %, .* or control characters; name another"):
        exported(snapshot, tmp_path / name / "out", format)
    assert [*tmp_path.iterdir()] == []


WITHOUT = """import importlib.util, sys
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == {absent!r} else found(name, package)
from grantpath.engine.cli.start import main
sys.exit(main())
"""


@pytest.mark.parametrize(("format", "absent"), [("delta", "deltalake"), ("iceberg", "pyiceberg")])
def test_missing_extra_is_named_with_its_remedy(snapshot: Path, tmp_path: Path, format: str, absent: str) -> None:
    words = ["export", str(snapshot), str(tmp_path / "out"), "--format", format]
    ran = subprocess.run([sys.executable, "-c", WITHOUT.format(absent=absent), *words], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (2, "")
    wanted = f"export as {format} needs the extra `{format}` ({absent} missing): pip install 'grantpath[{format}]'"
    assert ran.stderr == f"error: {wanted}\n"
    assert [*tmp_path.iterdir()] == []


# ---- failures on the way ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("module", [delta_tables, iceberg_tables])
def test_full_disk_leaves_nothing(
    snapshot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: object
) -> None:
    format: Format = "delta" if module is delta_tables else "iceberg"
    real, calls = part_files.write_parts, []

    def full(*given: object) -> object:
        calls.append(given)
        if len(calls) == 3:
            raise OSError(28, "No space left on device")
        return real(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "write_parts", full)
    with pytest.raises(GrantpathError, match="the disk is full, and nothing was written"):
        exported(snapshot, tmp_path / "out", format)
    assert [*tmp_path.iterdir()] == []
    assert exported(snapshot, tmp_path / "out", format).revision == 7


KILLED = """import os, signal, sys
from pathlib import Path
from grantpath.spark_sync.tables import delta_tables, iceberg_tables, part_files
from grantpath.spark_sync import export
real = part_files.write_parts
def write(folder, *given):
    if folder.parts[-2:].count("closure"):
        os.kill(os.getpid(), signal.SIGKILL)
    return real(folder, *given)
delta_tables.write_parts = iceberg_tables.write_parts = write
export(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], print)
"""


@pytest.mark.parametrize("format", FORMATS)
def test_killed_export_leaves_nothing_under_the_name_and_can_be_repeated(
    snapshot: Path, tmp_path: Path, format: Format
) -> None:
    words = [str(snapshot), str(tmp_path / "out"), format]
    ran = subprocess.run([sys.executable, "-c", KILLED, *words], capture_output=True, text=True, env={**os.environ})
    assert ran.returncode == -signal.SIGKILL, ran.stderr
    assert "members" in ran.stdout
    assert not (tmp_path / "out").exists() and [*tmp_path.glob(".out.*.new")]
    assert exported(snapshot, tmp_path / "out", format).revision == 7
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
