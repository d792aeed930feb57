"""The report says what its figures leave out: names without bulk answers, and when facts end."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from grantpath.engine.facts.snapshot.snapshot_reader import SnapshotMeta
from grantpath.spark_sync.bulk.bulk_access import access
from grantpath.spark_sync.reporting.report_page import report

from .test_bulk_access import snapshot, world


class Words(HTMLParser):
    """The words of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_data(self, data: str) -> None:
        self.found.append(data)

    def __str__(self) -> str:
        return " ".join("".join(self.found).split())


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    unused: Any = None
    return snapshot(world("gravitino"), tmp_path_factory.mktemp("made") / "snapshot", unused)


def words(made: Path, file: Path) -> str:
    return str(Words(report(made, file).file.read_text()))


def test_report_of_some_names_says_so_where_it_counts(made: Path, tmp_path: Path) -> None:
    access(made)
    every = words(made, tmp_path / "every.html")
    assert "on this page: grantpath access was run" not in every and "they can use no name on any object" in every
    assert "no bulk answers here" not in every and "Not judged: grants on tags" not in every
    access(made, ["load_table", "load_schema"])
    some = words(made, tmp_path / "some.html")
    assert "Only load_schema, load_table count on this page: grantpath access was run for these names alone." in some
    assert "they can use none of these names on any object" in some
    assert re.search(r"with an operation that has no bulk answers here \(\d+ in all\); run grantpath", some)
    assert "Names that were not given to grantpath access: " in some
    access(made, ["load_table"])
    one = words(made, tmp_path / "one.html")
    assert "Only load_table counts on this page: grantpath access was run for this name alone." in one
    assert "they cannot use this name on any object" in one
    users = pq.read_table(made / "access" / "exposure")["users"].to_pylist()
    alike = users.count(max(users)) - 1
    assert alike > 1 and f"is open to {max(users)} of " in one and f"; {alike} more are open to as many." in one


def test_report_says_that_some_facts_end(made: Path, tmp_path: Path) -> None:
    access(made)
    assert "memberships end" not in words(made, tmp_path / "none.html")
    meta = SnapshotMeta.model_validate_json((made / "meta.json").read_text())
    ends = meta.model_copy(update={"ends": "2999-12-31T00:00:00Z"})
    (made / "meta.json").write_text(ends.model_dump_json())
    try:
        told = words(made, tmp_path / "ends.html")
    finally:
        (made / "meta.json").write_text(meta.model_dump_json())
    assert "When grants and memberships end, the first of them not before 2999-12-31T00:00:00Z" in told
