"""Bad tables: the load names the row or the file, and changes nothing."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grantpath.engine import Authorizer, InvalidInput
from grantpath.engine.transfer import importer
from grantpath.engine.transfer.tables import TABLES

from ...conftest import Tenants
from ...support.table_files import ESTATE, GIVEN, WRITERS, dump, marks, settled, write

# ---- refused tables ----------------------------------------------------------------------------------------------
BAD_ROWS: list[tuple[str, list[str], str]] = [
    ("subjects", ["user"], "not a reference: write type:name"),
    ("subjects", ["usr:bob"], "the type 'usr' is unknown.*did you mean user"),
    ("subjects", ["catalog:x"], "a catalog must be listed in objects, not in subjects"),
    ("objects", ["role:r"], "a role must be listed in subjects, not in objects"),
    ("objects", ["metalake:ml"], "is the root, which must not be listed"),
    ("objects", ["metalake:other"], "another tenant"),
    ("objects", ["schema:sales.public"], "no parent: catalog:sales does not exist.*list it in objects"),
    ("objects", ["table:hr.staff"], "a table has 3 segments, not 2"),
    (
        "members",
        ["user:bobb", "group:readers"],
        r"user:bobb does not exist \(did you mean user:bob\?\); list it in",
    ),
    ("members", ["user:bob", "group:writers"], "group:writers does not exist"),
    ("members", ["group:readers", "group:readers"], "members of a group must be of type user"),
    ("members", ["role:analyst", "group:readers"], "members of a group must be of type user"),
    ("owners", ["catalog:hr", "group:readers"], "group:readers cannot own catalog:hr: a catalog is owned by a user"),
    ("owners", ["catalog:hr", "user:bob"], "catalog:hr has two owners, user:ann and user:bob"),
    ("owners", ["user:bob", "user:ann"], "a user is not owned"),
    ("owners", ["schema:hr.lost", "user:ann"], "schema:hr.lost does not exist"),
    ("grants", ["permit", "SELECT_TABLE", "catalog:hr", "role:analyst"], "the effect 'permit' is unknown"),
    ("grants", ["allow", "SELECT_TABEL", "catalog:hr", "role:analyst"], "SELECT_TABEL is unknown.*SELECT_TABLE"),
    ("grants", ["allow", "CREATE_CATALOG", "catalog:hr", "role:analyst"], "cannot be granted on catalog:hr, a catalog"),
    ("grants", ["allow", "SELECT_TABLE", "catalog:hr", "user:bob"], "user:bob cannot hold a grant"),
    ("grants", ["allow", "SELECT_TABLE", "catalog:hr", "role:service_admin"], "is hidden"),
    (
        "grants",
        ["allow", "SELECT_TABLE", "catalog:hx", "role:analyst"],
        r"catalog:hx does not exist \(did you mean catalog:hr",
    ),
]


@pytest.fixture(scope="module")
def empty(module_tenant: Tenants) -> Authorizer:
    """A tenant whose loads all fail in these tests."""
    return module_tenant()


@pytest.mark.parametrize(
    ("format_", "table", "row", "says"),
    [("csv", *each) for each in BAD_ROWS] + [(format_, *BAD_ROWS[at]) for format_ in WRITERS for at in (0, 6, -1)],
)
def test_single_bad_row_is_named_and_prevents_the_load(
    empty: Authorizer, tmp_path: Path, format_: str, table: str, row: list[str], says: str
) -> None:
    auth, before = empty, dump(empty)
    write(tmp_path, {**ESTATE, table: [*ESTATE[table], row]}, format_)
    number = len(ESTATE[table]) + 1
    place = (
        f"{table}.parquet: row {number}" if format_ == "parquet" else f"{table}.{format_}:{number + (format_ == 'csv')}"
    )
    with pytest.raises(InvalidInput, match=rf"(?s)nothing is loaded, 1 bad row:\n.*{place}: .*{says}"):
        importer.load(auth, tmp_path)
    assert dump(auth) == before
    assert marks(auth) == settled(0)


def test_equal_problems_are_shown_once_with_their_number(empty: Authorizer, tmp_path: Path) -> None:
    """540 rows with one mistake, and another mistake below them."""
    wrong = ["permit", "SELECT_TABLE", "catalog:hr", "role:analyst"]
    rows = [wrong] * 539 + [["allow", "SELECT_TABEL", *wrong[2:]], wrong]
    with pytest.raises(InvalidInput) as raised:
        importer.load(empty, write(tmp_path, {**ESTATE, "grants": rows}))
    first, permit, misspelt = str(raised.value).splitlines()
    assert first == "nothing is loaded, 541 bad rows:"
    assert "grants.csv:2: the effect 'permit' is unknown" in permit and permit.endswith("(and 539 other rows)")
    assert "grants.csv:541: " in misspelt and "SELECT_TABLE" in misspelt
    mixed = [wrong] * 5_000 + [["allow", "SELECT_TABEL", *wrong[2:]]]
    with pytest.raises(InvalidInput, match=r"(?s)5,001 bad rows:\n.*and 999 other rows\)\n\.\.\. and 4,001 more$"):
        importer.load(empty, write(tmp_path, {**ESTATE, "grants": mixed}))


def test_policy_without_deny_refuses_a_deny(tenant: Tenants, tmp_path: Path) -> None:
    auth = tenant("onehouse", ["add project:p", "add user:ann"], root="main")
    write(tmp_path, {"grants": [["deny", "PROJECT_MEMBER", "project:p", "user:ann"]]})
    with pytest.raises(InvalidInput, match=r"grants\.csv:2: the policy onehouse has no DENY"):
        importer.load(auth, tmp_path)


def test_load_does_not_replace_an_owner(tenant: Tenants, tmp_path: Path) -> None:
    auth = tenant(given=[*GIVEN, "add user:eve"])
    write(tmp_path, {"owners": [["catalog:hr", "user:eve"]]})
    with pytest.raises(InvalidInput, match=r"owners\.csv:2: catalog:hr is already owned by user:ann; transfer it"):
        importer.load(auth, tmp_path)


def test_bad_rows_are_counted_and_the_first_are_shown(tenant: Tenants, tmp_path: Path) -> None:
    subjects = [[f"nobody{at}:x"] for at in range(15)]
    members = [[f"user:u{at}", "group:readers"] for at in range(15)]
    with pytest.raises(InvalidInput) as raised:
        importer.load(tenant(), write(tmp_path, {"members": members, "subjects": [["group:readers"], *subjects]}))
    lines = str(raised.value).splitlines()
    assert lines[0] == "nothing is loaded, 30 bad rows:"
    assert [line.split(": ")[0].rpartition("/")[2] for line in lines[1:-1]] == [
        *(f"subjects.csv:{line}" for line in range(3, 18)),
        *(f"members.csv:{line}" for line in range(2, 7)),
    ]
    assert lines[-1] == "... and 10 more"


@pytest.mark.parametrize(
    ("rows", "cycle"),
    [
        ([["group:a", "group:a"]], "group:a in group:a"),
        ([["group:a", "group:b"], ["group:b", "group:c"], ["group:c", "group:a"]], "group:[abc] in group:[abc] in"),
        ([["role:r", "role:s"], ["role:s", "role:r"]], "role:[rs] in role:[rs]"),
        ([["group:y", "group:x"]], "group:y in group:x in group:m in group:y"),
    ],
)
def test_cycles_through_the_graph_are_found(tenant: Tenants, tmp_path: Path, rows: list[list[str]], cycle: str) -> None:
    given = ["add group:x", "add group:m", "add group:y", "member group:x of group:m", "member group:m of group:y"]
    auth = tenant("lakehouse", given)
    subjects = [["group:a"], ["group:b"], ["group:c"], ["role:r"], ["role:s"]]
    with pytest.raises(InvalidInput, match=rf"members\.csv:\d: this row closes a cycle: .*({cycle})"):
        importer.load(auth, write(tmp_path, {"subjects": subjects, "members": rows}))
    assert marks(auth) == settled(len(given))


def test_diamond_is_not_a_cycle(tenant: Tenants, tmp_path: Path) -> None:
    subjects = [[f"group:{name}"] for name in ("top", "left", "right", "bottom")]
    members = [["left", "top"], ["right", "top"], ["bottom", "left"], ["bottom", "right"], ["bottom", "top"]]
    rows = [[f"group:{one}", f"group:{other}"] for one, other in members]
    assert importer.load(tenant("lakehouse"), write(tmp_path, {"subjects": subjects, "members": rows})).changed


FILES: list[tuple[str, bytes, str]] = [
    ("subjects.csv", b"", "subjects.csv:1: the column 'ref' is missing"),
    ("subjects.csv", b"ref,name\n", "subjects.csv:1: the column 'name' is unknown; the columns are ref"),
    ("members.csv", b"member,of,of\n", "members.csv:1: the column 'of' is duplicated"),
    ("subjects.csv", b"ref\nuser:a,user:b\n", "subjects.csv:2: has 2 values, not 1; write ref"),
    ("subjects.csv", b'ref\nuser:a\n"user:b\n', "subjects.csv:3: unexpected end of data"),
    ("subjects.csv", b"ref\nuser:a\nuser:\xff\n", "subjects.csv:3: not UTF-8"),
    ("subjects.jsonl", b'{"ref": "user:a"}\n{"ref": \n', "subjects.jsonl:2: .*each line must be one object"),
    ("subjects.jsonl", b'{"ref": "user:a", "x": 1}\n', "subjects.jsonl:1: the column 'x' is unknown"),
    ("members.jsonl", b'{"member": "user:a"}\n', "members.jsonl:1: the column 'of' is missing"),
    ("subjects.jsonl", b"[1]\n", "subjects.jsonl:1: the line is not an object"),
    ("subjects.jsonl", b'{"ref": "user:a", "ref": "user:b"}\n', "subjects.jsonl:1: duplicate key"),
    ("subjects.jsonl", b"[" * 100_000 + b"\n", "subjects.jsonl:1: too many brackets inside each other; each line"),
    ("subjects.jsonl", b'{"ref": ' + b"7" * 5_000 + b"}\n", "subjects.jsonl:1: a number has 5,000 digits; each line"),
    ("subjects.jsonl", b'{"ref": null}\n', "subjects.jsonl:1: the column 'ref' is null; give it a value"),
    ("subjects.jsonl", b'{"ref": 7}\n', "subjects.jsonl:1: the column 'ref' is 7, which is not a string"),
    ("subjects.jsonl", b'{"ref": "user:\\ud800"}\n', "subjects.jsonl:1: the column 'ref' must be a string"),
    ("subjects.parquet", b"PAR1 no", "subjects.parquet cannot be read as Parquet"),
    ("subject.csv", b"ref\n", r"subject.csv is not a table \(did you mean subjects.csv\?\)"),
]


@pytest.mark.parametrize(("name", "content", "says"), FILES)
def test_bad_file_is_named(empty: Authorizer, tmp_path: Path, name: str, content: bytes, says: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInput, match=says):
        importer.load(empty, tmp_path)


def test_byte_order_mark_blank_lines_and_other_files_are_ignored(tenant: Tenants, tmp_path: Path) -> None:
    (tmp_path / "subjects.csv").write_bytes("\ufeffref\r\nuser:a\r\n\r\nuser:b\r\n".encode())
    (tmp_path / "objects.jsonl").write_bytes(b'\n{"ref": "catalog:c"}\n\n')
    (tmp_path / "notes.txt").write_text("what this is")
    assert importer.load(tenant(), tmp_path).rows == {**dict.fromkeys(TABLES, 0), "subjects": 2, "objects": 1}


def test_parquet_columns_must_be_texts_without_nulls(tenant: Tenants, tmp_path: Path) -> None:
    pq.write_table(pa.table({"ref": [1, 2]}), tmp_path / "subjects.parquet")
    with pytest.raises(
        InvalidInput, match=r"subjects\.parquet: the column 'ref' has the type int64; write it as strings"
    ):
        importer.load(tenant(), tmp_path)
    pq.write_table(pa.table({"ref": ["user:a", None, "user:b", None]}), tmp_path / "subjects.parquet")
    with pytest.raises(InvalidInput, match=r"2 bad rows:\n.*row 2: the column 'ref' is empty; .*\(and 1 other row\)$"):
        importer.load(tenant(), tmp_path)
    packed = pa.array(["user:a", "user:b", "user:a"]).dictionary_encode()
    pq.write_table(pa.table({"ref": packed}), tmp_path / "subjects.parquet")
    assert importer.load(tenant(), tmp_path).rows["subjects"] == 3


def test_table_in_two_formats_is_refused(tenant: Tenants, tmp_path: Path) -> None:
    write(tmp_path, {"subjects": [["user:a"]]}, "csv")
    write(tmp_path, {"subjects": [["user:a"]]}, "jsonl")
    with pytest.raises(
        InvalidInput, match=r"subjects\.jsonl: subjects\.csv exists too; keep one file or folder for subjects"
    ):
        importer.load(tenant(), tmp_path)
    with pytest.raises(InvalidInput, match="is not a folder"):
        importer.load(tenant(), tmp_path / "subjects.csv")
