"""Mistakes in a folder that a load must refuse or report."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grantpath.engine import Authorizer, InvalidInput
from grantpath.engine.transfer import importer, tables
from grantpath.engine.transfer.import_delta import DeltaBuilder

from ...conftest import Closing, Tenants
from ...support.table_files import ESTATE, marks, settled, write


@pytest.fixture(scope="module")
def empty(module_tenant: Tenants) -> Authorizer:
    """A tenant whose loads all fail in these tests."""
    return module_tenant()


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("grant.csv", r"grant\.csv is not a table \(did you mean grants\.csv\?\)"),
        ("grants_new.csv", r"grants_new\.csv is not a table \(did you mean grants\.csv\?\)"),
        ("Owners.CSV", r"Owners\.CSV is not a table \(did you mean owners\.csv\?\)"),
        ("permissions.jsonl", r"permissions\.jsonl is not a table .*grants.*: a table is subjects, objects, .* rename"),
        ("history.parquet", r"history\.parquet is not a table"),
    ],
)
def test_table_file_with_an_unknown_name_is_refused(empty: Authorizer, tmp_path: Path, name: str, hint: str) -> None:
    write(tmp_path, ESTATE)
    (tmp_path / name).write_text("effect,privilege,object,subject\n")
    with pytest.raises(InvalidInput, match=hint):
        importer.load(empty, tmp_path)
    assert marks(empty) == settled(0)


@pytest.mark.parametrize("format_", ["csv", "jsonl"])
def test_text_table_has_a_maximum_of_rows(
    empty: Authorizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format_: str
) -> None:
    monkeypatch.setattr(tables, "MAX_ROWS", 3)
    write(tmp_path, {"subjects": [[f"user:u{at}"] for at in range(4)]}, format_)
    line = 5 if format_ == "csv" else 4
    with pytest.raises(InvalidInput, match=rf"subjects\.{format_}:{line}: more than 3 rows; load it in parts"):
        importer.load(empty, tmp_path)


PEAK = """
import resource, sys
import subprocess
import sys
from pathlib import Path
from grantpath.engine.transfer.table_files import read
from grantpath.engine.transfer.tables import Problems
from grantpath.graph.errors import InvalidInput
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    read(Path(sys.argv[1]), Problems(), lambda *_: None)
except InvalidInput as error:
    print(error, file=sys.stderr)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


def one_row_many_times(file: Path) -> None:
    """A million times the same grant."""
    row = ["allow", "SELECT_TABLE", "table:" + "o" * 200, "role:" + "r" * 200]
    columns = dict(zip(tables.TABLES["grants"], row, strict=True))
    write_bomb(
        file, {name: pa.array([text]).dictionary_encode().take([0] * 1_000_000) for name, text in columns.items()}
    )


def one_long_text(file: Path) -> None:
    """A name of 20 MB."""
    write_bomb(file, {name: pa.array(["x" * 20_000_000]) for name in tables.TABLES["grants"]})


def numbers(file: Path) -> None:
    """A million numbers in a column of texts."""
    write_bomb(file, {name: pa.array(np.zeros(1_000_000, np.int64)) for name in tables.TABLES["grants"]})


def write_bomb(file: Path, columns: dict[str, pa.Array]) -> None:
    pq.write_table(pa.table(columns), file, compression="zstd", compression_level=19, write_statistics=False)


def test_numbers_of_edges_that_do_not_fit_are_refused() -> None:
    start = np.array([19_999_999], dtype=np.int64)
    for labels, fits in ((20_000, True), (30_000, False)):
        sizes: Any = SimpleNamespace(names=range(20_000_000), _rows=SimpleNamespace(labels=range(labels)))
        if fits:
            [key] = DeltaBuilder._key(sizes, start, start, start % labels).tolist()
            assert key // labels // 20_000_000 == 19_999_999
        else:
            with pytest.raises(InvalidInput, match=r"20,000,000 names, and 30,000 different .*load it in parts"):
                DeltaBuilder._key(sizes, start, start, start % labels)


@pytest.mark.parametrize("make", [one_row_many_times, one_long_text, numbers])
def test_small_parquet_file_needs_little_memory(make: Callable[[Path], None], tmp_path: Path, closing: Closing) -> None:
    file = tmp_path / "grants.parquet"
    make(file)
    assert file.stat().st_size < 100_000
    run = subprocess.run([sys.executable, "-c", PEAK, str(tmp_path)], capture_output=True, text=True, check=True)
    assert "grants.parquet: " in run.stderr
    assert float(run.stdout) < 50, f"{run.stdout} MB for a file of {file.stat().st_size:,} bytes"
    closing(f"{make.__name__}: {file.stat().st_size:,} bytes took {float(run.stdout):.1f} MB")
