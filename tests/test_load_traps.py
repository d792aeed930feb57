"""What a load refuses, or shows, so that a mistake in a folder does no harm."""

from pathlib import Path

import pytest

from grantpath.engine import Authorizer, InvalidInput, load, load_table

from .conftest import Tenants
from .test_load import ESTATE, marks, settled, write


@pytest.fixture(scope="module")
def empty(module_tenant: Tenants) -> Authorizer:
    """A tenant that refuses everything in these tests."""
    return module_tenant()


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("grant.csv", r"grant\.csv is not a table \(did you mean grants\.csv\?\)"),
        ("grants_new.csv", r"grants_new\.csv is not a table \(did you mean grants\.csv\?\)"),
        ("Owners.CSV", r"Owners\.CSV is not a table \(did you mean owners\.csv\?\)"),
        ("permissions.jsonl", r"permissions\.jsonl is not a table: a table file is subjects, objects, .* rename"),
        ("history.parquet", r"history\.parquet is not a table"),
    ],
)
def test_a_table_file_of_an_unknown_name_is_refused(empty: Authorizer, tmp_path: Path, name: str, hint: str) -> None:
    write(tmp_path, ESTATE)
    (tmp_path / name).write_text("effect,privilege,object,subject\n")
    with pytest.raises(InvalidInput, match=hint):
        load.load(empty, tmp_path)
    assert marks(empty) == settled(0)


@pytest.mark.parametrize("format_", ["csv", "jsonl"])
def test_a_text_table_has_a_bound_on_its_rows(
    empty: Authorizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format_: str
) -> None:
    monkeypatch.setattr(load_table, "MAX_ROWS", 3)
    write(tmp_path, {"subjects": [[f"user:u{at}"] for at in range(4)]}, format_)
    line = 5 if format_ == "csv" else 4
    with pytest.raises(InvalidInput, match=rf"subjects\.{format_}:{line}: more than 3 rows; load it in parts"):
        load.load(empty, tmp_path)
