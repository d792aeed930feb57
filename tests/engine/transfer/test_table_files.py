"""The files of a load: each form that is read, and whatever is not read is refused by its name."""

import gzip
import os
import random
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pyarrow as pa
import pytest

from grantpath.engine import InvalidInput
from grantpath.engine.transfer import table_files, tables, text_tables
from grantpath.engine.transfer.table_files import BESIDE, BESIDE_NAMES, MARKS
from grantpath.engine.transfer.table_formats import COMPRESSIONS, ENDINGS
from grantpath.engine.transfer.tables import TABLES, Problems, Table

from ...support.table_files import ESTATE, WRITERS, write

GRANTS = [list(row) for row in ESTATE["grants"]]
PAGE = Path(__file__).parents[3] / "docs" / "load.md"


def pack(file: Path) -> None:
    """Compresses a file in place, as its ending says."""
    plain = file.read_bytes()
    if file.suffix == ".gz":
        file.write_bytes(gzip.compress(plain))
    elif file.suffix == ".zst":
        with pa.CompressedOutputStream(str(file), "zstd") as out:
            out.write(plain)


def put(file: Path, name: str, rows: list[list[str]]) -> Path:
    """Writes rows of a table into a file, as its ending says."""
    file.parent.mkdir(parents=True, exist_ok=True)
    form = next(format_ for ending, format_ in ENDINGS.items() if file.name.endswith(ending))
    WRITERS[form](file, TABLES[name], rows)
    pack(file)
    return file


def loaded(directory: Path) -> dict[str, Table]:
    problems = Problems()
    found = table_files.read(directory, problems, lambda *_: None)
    problems.raise_any()
    return found


def rows_of(table: Table) -> list[list[str]]:
    """The rows without the column `until`, if none has an end."""
    columns = [[one.values[code] for code in one.codes] for one in table.columns.values()]
    return [[*row[:-1]] if "until" in table.columns and not row[-1] else [*row] for row in zip(*columns, strict=True)]


def refused(directory: Path, path: Path, says: str = "") -> None:
    with pytest.raises(InvalidInput, match=rf"{re.escape(str(path))}.*{says}"):
        loaded(directory)


# ---- what is read ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("ending", ENDINGS)
def test_each_form_is_read_as_a_file_and_as_a_folder_of_part_files(tmp_path: Path, ending: str) -> None:
    put(tmp_path / "one" / f"grants{ending}", "grants", GRANTS)
    assert rows_of(loaded(tmp_path / "one")["grants"]) == GRANTS
    for folder in ("grants", f"grants{ending}"):
        estate = tmp_path / f"estate-{len(folder)}"
        for at, row in enumerate(GRANTS):
            put(estate / folder / f"part-0000{at}-4711-c000{ending}", "grants", [row])
        for mark in (*MARKS, f".part-00000-4711-c000{ending}.crc", "._SUCCESS.crc"):
            (estate / folder / mark).write_bytes(b"")
        found = loaded(estate)["grants"]
        assert rows_of(found) == GRANTS
        assert found.source and {found.source.place(row).split(":")[0] for row in found.rows} == {
            str(part) for part in (estate / folder).glob("part-*")
        }


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("ending", [each for each, form in ENDINGS.items() if form in ("parquet", "csv", "jsonl")])
def test_one_part_file_can_have_ends(tmp_path: Path, ending: str, first: int) -> None:
    ends = [[*GRANTS[0], "2030-01-31T00:00:00Z"], [*GRANTS[1], ""]]
    form = next(form for known, form in ENDINGS.items() if ending.endswith(known))
    for at, row in ((first, ends[0]), (1 - first, GRANTS[1])):
        file = tmp_path / "grants" / f"part-{at}{ending}"
        file.parent.mkdir(exist_ok=True)
        WRITERS[form](file, [*TABLES["grants"], *(["until"] if len(row) > len(TABLES["grants"]) else [])], [row])
        pack(file)
    found = loaded(tmp_path)["grants"]
    rows = [*zip(*([one.values[code] for code in one.codes] for one in found.columns.values()), strict=True)]
    assert sorted(map(list, rows)) == sorted(ends)


def test_page_lists_the_forms_and_the_files_beside_them() -> None:
    text = PAGE.read_text(encoding="utf-8")
    cells = re.findall(r"^\| (`\.[^|]*) \|", text, re.MULTILINE)
    assert {each for cell in cells for each in re.findall(r"`(\.\w+)`", cell)} == {
        ending for ending in ENDINGS if not ending.endswith(COMPRESSIONS)
    }
    for name in (*COMPRESSIONS, *BESIDE, *BESIDE_NAMES, *MARKS):
        assert f"`{name}`" in text, name


def test_problems_name_the_part_file_and_its_row(tmp_path: Path) -> None:
    put(tmp_path / "a" / "subjects" / "part-0.csv.gz", "subjects", [["user:a"]])
    put(tmp_path / "a" / "subjects" / "part-1.csv.gz", "subjects", [["user:b", "x"]])
    refused(tmp_path / "a", tmp_path / "a" / "subjects" / "part-1.csv.gz", "2: has 2 values, not 1")
    put(tmp_path / "b" / "subjects" / "part-0.parquet", "subjects", [["user:a"]])
    put(tmp_path / "b" / "subjects" / "part-1.parquet", "subjects", [["user:b"], [None]])  # type: ignore[list-item]
    refused(tmp_path / "b", tmp_path / "b" / "subjects" / "part-1.parquet", ": row 2: the column 'ref' is empty")


def test_links_are_followed(tmp_path: Path) -> None:
    put(tmp_path / "far" / "x" / "part-0.csv", "grants", GRANTS)
    (tmp_path / "estate").mkdir()
    (tmp_path / "estate" / "grants").symlink_to(tmp_path / "far" / "x")
    assert rows_of(loaded(tmp_path / "estate")["grants"]) == GRANTS
    (tmp_path / "estate" / "members.csv").symlink_to(tmp_path / "nowhere")
    refused(tmp_path / "estate", tmp_path / "estate" / "members.csv", "must be a regular file")


# ---- what is refused -------------------------------------------------------------------------------------------------
OTHER_ENDINGS = [
    ".tsv",
    ".txt",
    ".avro",
    ".orc",
    ".csv.bz2",
    ".parquet.gz",
    ".csv.gz.tmp",
    ".CSV",
    ".bak",
    "~",
    ".xlsx",
    "",
]
OTHER_NAMES = [
    "grant",
    "Grants",
    "denies",
    "grants-2",
    "grants_old",
    ".grants",
    "_grants",
    "owner",
    "membership",
    "grnts",
]


@pytest.mark.parametrize(
    "name",
    [*(f"grants{ending}" for ending in OTHER_ENDINGS)]
    + [f"{name}{ending}" for name, ending in product(OTHER_NAMES, [".csv", ".ndjson", ".csv.gz", ".parquet", ".txt"])]
    + ["facts.csv", "users.json", "policies.avro", "x.sqlite", "estate", "members.md"],
)
def test_other_file_is_refused_by_its_name(tmp_path: Path, name: str) -> None:
    write(tmp_path, {"subjects": [["user:a"]]})
    (tmp_path / name).write_text("effect,privilege,object,subject\n")
    refused(tmp_path, tmp_path / name, "is not a table.*rename it, or move it out")


@pytest.mark.parametrize("name", ["denies", "grants.old", "Grants", ".grants", "data", "grants-part", "docs.txt"])
def test_other_folder_is_refused_by_its_name(tmp_path: Path, name: str) -> None:
    put(tmp_path / "subjects.csv", "subjects", [["user:a"]])
    put(tmp_path / name / "part-0.csv", "grants", GRANTS)
    refused(tmp_path, tmp_path / name, "is not a table")


def test_documents_programs_and_hidden_files_are_allowed(tmp_path: Path) -> None:
    put(tmp_path / "subjects.csv", "subjects", [["user:a"]])
    (tmp_path / ".git").mkdir()
    for name in (
        "README.md",
        "README",
        "Makefile",
        "export.sql",
        "policy.yaml",
        "meta.json",
        ".env",
        ".subjects.csv.crc",
    ):
        (tmp_path / name).write_text("what this is")
    assert len(loaded(tmp_path)["subjects"]) == 1


INSIDE: dict[str, tuple[str, str]] = {
    "_temporary/0/part-0.csv": ("_temporary", "failed or is still writing"),
    ".spark-staging-1/part-0.csv": (".spark-staging-1", "failed or is still writing"),
    "effect=DENY/part-0.csv": ("effect=DENY", "without partitions"),
    "_delta_log/0.json": ("_delta_log", "Delta or Iceberg"),
    "more/part-0.csv": ("more", "is not a part file"),
    "part-1.tsv": ("part-1.tsv", "is not a part file"),
    "part-1": ("part-1", "is not a part file"),
    ".part-1.csv": (".part-1.csv", "is not a part file"),
    "_part-1.csv": ("_part-1.csv", "is not a part file"),
    "part-1.csv/part-0.csv": ("part-1.csv", "must be a regular file"),
    "part-1.jsonl": ("", "several forms, part-0.csv and part-1.jsonl"),
    "part-0.csv.gz": ("", "several forms, part-0.csv and part-0.csv.gz"),
}


@pytest.mark.parametrize("extra", INSIDE)
def test_folder_of_part_files_contains_nothing_else(tmp_path: Path, extra: str) -> None:
    put(tmp_path / "grants" / "part-0.csv", "grants", GRANTS)
    (tmp_path / "grants" / extra).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "grants" / extra).write_bytes(b"")
    path, says = INSIDE[extra]
    refused(tmp_path, tmp_path / "grants" / path if path else tmp_path / "grants", says)


def test_folder_without_part_files_is_refused_unless_its_job_succeeded(tmp_path: Path) -> None:
    (tmp_path / "grants").mkdir()
    refused(tmp_path, tmp_path / "grants", "contains no part file")
    (tmp_path / "grants" / "_SUCCESS").touch()
    table = loaded(tmp_path)["grants"]
    assert len(table) == 0 and table.source is not None
    put(tmp_path / "objects.parquet" / "part-0.csv", "objects", [["catalog:a"]])
    refused(tmp_path, tmp_path / "objects.parquet" / "part-0.csv", "rename the folder to objects")


@pytest.mark.parametrize(
    "other", ["grants/part-0.csv", "grants.csv.gz", "grants.json", "grants.parquet/part-0.parquet"]
)
def test_table_in_two_forms_is_refused(tmp_path: Path, other: str) -> None:
    put(tmp_path / "grants.csv", "grants", GRANTS)
    put(tmp_path / other, "grants", GRANTS)
    with pytest.raises(InvalidInput, match=r"grants\S* exists too; keep one file or folder for grants"):
        loaded(tmp_path)


def test_pipes_are_refused(tmp_path: Path) -> None:
    for name in ("grants.csv.gz", "grants.csv.zst", "grants.parquet", "grants/part-0.json"):
        folder = tmp_path / name.replace("/", "-")
        (folder / name).parent.mkdir(parents=True)
        os.mkfifo(folder / name)
        refused(folder, folder / name, "must be a regular file")


# ---- compressed files ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("ending", COMPRESSIONS)
def test_damaged_compressed_file_is_refused(tmp_path: Path, ending: str) -> None:
    file = put(tmp_path / f"subjects.jsonl{ending}", "subjects", [[f"user:u{at}"] for at in range(2_000)])
    whole = file.read_bytes()
    for content in (b"", b"no", whole[:-3], whole[: len(whole) // 2], whole + b"more", os.urandom(500)):
        file.write_bytes(content)
        refused(tmp_path, file, "cannot be read")
    file.write_bytes(whole + whole)
    assert len(loaded(tmp_path)["subjects"]) == 4_000


@pytest.mark.parametrize("ending", COMPRESSIONS)
@pytest.mark.parametrize("parts", [1, 4])
def test_decompressed_size_of_a_table_is_limited(
    tmp_path: Path, ending: str, parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_tables, "FREE_BYTES", 1_000_000)
    for at in range(parts):
        file = tmp_path / "subjects" / f"part-{at}.csv{ending}"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(b"ref\n" + b"\n" * (3_000_000 // parts))
        pack(file)
    refused(tmp_path, tmp_path / "subjects", "the compressed files of the table contain more than")


def test_row_of_many_lines_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_tables, "MAX_LINE_BYTES", 1_000)
    (tmp_path / "subjects.csv").write_text("ref\n" + "user:a\n" * 500 + '"\n",' * 400)
    refused(tmp_path, tmp_path / "subjects.csv", "longer than 1,000 bytes")


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_rows_of_all_part_files_are_limited_together(
    tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "MAX_ROWS", 5)
    for at in range(3):
        put(tmp_path / "subjects" / f"part-{at}{ending}", "subjects", [["user:a"]] * 2)
    refused(tmp_path, tmp_path / "subjects", "more than 5 rows; load it in parts")


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_other_separator_of_columns_is_named(tmp_path: Path, separator: str) -> None:
    (tmp_path / "members.csv").write_text(f"member{separator}of\n")
    refused(tmp_path, tmp_path / "members.csv", f"separate them by commas, not by {re.escape(repr(separator))}")


# ---- corrupted files -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("ending", ENDINGS)
def test_corrupted_bytes_raise_only_errors_of_this_package(tmp_path: Path, ending: str) -> None:
    """Random bytes of a valid file are replaced, removed and inserted: the rows are read, or InvalidInput is raised."""
    chosen = random.Random(ending)
    file = put(tmp_path / f"grants{ending}", "grants", GRANTS * 5)
    whole, damages = file.read_bytes(), list[Callable[[bytes, int, int], bytes]]()
    damages.append(lambda text, at, size: text[:at] + chosen.randbytes(size) + text[at + size :])
    damages.append(lambda text, at, size: text[:at] + text[at + size :])
    damages.append(lambda text, at, size: text[:at] + chosen.randbytes(size) + text[at:])
    damages.append(lambda text, at, _: text[:at] + bytes([text[at] ^ (1 << chosen.randrange(8))]) + text[at + 1 :])
    read = 0
    for _ in range(int(os.environ.get("CORRUPTED", "150"))):
        text = whole
        for _ in range(chosen.choice([1, 1, 3])):
            text = chosen.choice(damages)(text, chosen.randrange(len(text)), chosen.choice([1, 2, 8]))
        file.write_bytes(text)
        try:
            loaded(tmp_path)
            read += 1
        except InvalidInput as error:
            assert f"grants{ending}" in str(error)
    print(f"{ending}: {read} files were read")


@pytest.mark.parametrize("name", ["2026-members.csv", "old_members.parquet", "the.members.ndjson.gz"])
def test_a_word_of_the_name_of_a_data_file_can_be_a_table(tmp_path: Path, name: str) -> None:
    write(tmp_path, {"members": [["user:a", "role:r"]]})
    (tmp_path / name).write_text("member,of\n")
    with pytest.raises(InvalidInput, match="is not a table"):
        table_files.read(tmp_path, Problems(), lambda *_: None, (), ["members"])
    (tmp_path / name).rename(tmp_path / "about-members-and-roles.md")
    assert rows_of(table_files.read(tmp_path, Problems(), lambda *_: None, (), ["members"])["members"])
