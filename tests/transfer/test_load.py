"""A bulk import is all or nothing: what it accepts, what it refuses, and what others see while it writes or dies."""

import csv
import json
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grantpath.engine import Authorizer, Inconsistent, InvalidInput
from grantpath.engine.transfer import importer
from grantpath.engine.transfer.tables import TABLES
from grantpath.graph.embedded.connect import connection
from grantpath.graph.store import Store

from ..conftest import Tenants
from ..support.random_world import ROOT_NAME, random_world
from ..support.tiers import others_slow

Tables = Mapping[str, Sequence[Sequence[str]]]
POLICIES = ["gravitino", "lakehouse", "deltastream", "onehouse", "cdap", "cdap_design"]
ODD = 'table:hr.`a.b`.`tick``s, and "more"`'
ESTATE: Tables = {
    "subjects": [["user:ann"], ["user:bob"], ["user:`caf é, x`"], ["group:readers"], ["role:analyst"]],
    "objects": [["catalog:hr"], ["schema:hr.`a.b`"], [ODD], ["table:hr.`a.b`.staff"], ["tag:pii"]],
    "members": [["user:bob", "group:readers"], ["group:readers", "role:analyst"], ["user:ann", "role:service_admin"]],
    "owners": [["catalog:hr", "user:ann"], ["metalake:ml", "user:ann"]],
    "grants": [
        ["allow", "USE_CATALOG", "metalake:ml", "role:analyst"],
        ["allow", "USE_SCHEMA", "catalog:hr", "role:analyst"],
        ["allow", "SELECT_TABLE", "catalog:hr", "role:analyst"],
        ["deny", "SELECT_TABLE", ODD, "role:analyst"],
    ],
}
# the same, said one by one
GIVEN = [
    "add user:ann",
    "add user:bob",
    "add user:`caf é, x`",
    "add group:readers",
    "add role:analyst",
    "add catalog:hr",
    "add schema:hr.`a.b`",
    f"add {ODD}",
    "add table:hr.`a.b`.staff",
    "add tag:pii",
    "member user:bob of group:readers",
    "member group:readers of role:analyst",
    "member user:ann of role:service_admin",
    "owner user:ann of catalog:hr",
    "owner user:ann of metalake:ml",
    "allow USE_CATALOG on metalake:ml to role:analyst",
    "allow USE_SCHEMA on catalog:hr to role:analyst",
    "allow SELECT_TABLE on catalog:hr to role:analyst",
    f"deny SELECT_TABLE on {ODD} to role:analyst",
]


# ---- writing tables, reading graphs ------------------------------------------------------------------------------
def write_parquet(file: Path, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    values = [[row[at] for row in rows] for at in range(len(columns))]
    pq.write_table(pa.table(dict(zip(columns, map(pa.array, values), strict=True))), file)


def write_csv(file: Path, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    with file.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows([columns, *rows])


def write_jsonl(file: Path, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    lines = (json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False) for row in rows)
    file.write_text("".join(line + "\n" for line in lines), encoding="utf-8")


WRITERS: dict[str, Callable[[Path, Sequence[str], Sequence[Sequence[str]]], None]] = {
    "parquet": write_parquet,
    "csv": write_csv,
    "jsonl": write_jsonl,
}


def write(directory: Path, tables: Tables, format_: str = "csv") -> Path:
    directory.mkdir(exist_ok=True)
    for name, rows in tables.items():
        if rows:
            WRITERS[format_](directory / f"{name}.{format_}", TABLES[name], rows)
    return directory


def dump(auth: Authorizer) -> tuple[list[str], list[str]]:
    """Every entity with labels and properties, and every edge, without the tenant's own name."""
    entities = auth.store.execute(
        "MATCH (e:Entity {root: $root}) RETURN labels(e) AS labels, properties(e) AS kept", {"root": auth.tenant}
    )
    edges = auth.store.execute(
        "MATCH (a:Entity {root: $root})-[e]->(b) RETURN a.ref AS a, type(e) AS type, properties(e) AS kept, b.ref AS b",
        {"root": auth.tenant},
    )
    kept = [
        f"{sorted(row['labels'])} {sorted((k, v) for k, v in row['kept'].items() if k != 'root')}" for row in entities
    ]
    return sorted(kept), sorted(f"{row['a']} {row['type']} {row['kept']} {row['b']}" for row in edges)


def history(auth: Authorizer) -> list[str]:
    rows = auth.store.execute(
        "MATCH (c:Change {root: $root}) RETURN c.statement AS statement ORDER BY c.revision", {"root": auth.tenant}
    )
    return [row["statement"] for row in rows]


def marks(auth: Authorizer) -> dict[str, Any]:
    """What a load may leave on the root beside its facts."""
    row = auth.store.execute(
        """MATCH (mark:Revision {root: $root})
        RETURN mark.revision AS revision, mark.begun AS begun, mark.loading AS loading, mark.batches AS batches,
               COUNT { (:LoadedBatch {root: $root}) } AS notes""",
        {"root": auth.tenant},
    )[0]
    return dict(row)


def settled(revision: int) -> dict[str, Any]:
    return {"revision": revision, "begun": revision, "loading": None, "batches": None, "notes": 0}


def tables_of(auth: Authorizer) -> dict[str, list[list[str]]]:
    """A tenant's facts as the tables of an import."""
    tables: dict[str, list[list[str]]] = {name: [] for name in TABLES}
    own = {auth.root.text, *auth.policy.builtins}
    rows = auth.store.execute(
        "MATCH (e:Entity {root: $root}) WHERE coalesce(e.exists, true) RETURN e.ref AS ref, e.type AS type",
        {"root": auth.tenant},
    )
    for row in rows:
        if row["ref"] not in own:
            kind = auth.policy.file.types[row["type"]].kind
            tables["objects" if kind == "object" else "subjects"].append([row["ref"]])
    edges = auth.store.execute(
        """MATCH (a:Subject {root: $root})-[e:MEMBER_OF|HAS_ROLE|OWNS|ALLOW|DENY]->(b)
        RETURN a.ref AS a, type(e) AS type, e.privilege AS privilege, b.ref AS b""",
        {"root": auth.tenant},
    )
    for row in edges:
        if row["type"] == "OWNS":
            tables["owners"] += [[row["b"], row["a"]]] if row["b"] != auth.root.text or row["a"] not in own else []
        elif row["privilege"]:
            tables["grants"].append([row["type"].lower(), row["privilege"], row["b"], row["a"]])
        else:
            tables["members"].append([row["a"], row["b"]])
    return tables


# ---- what is accepted ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("format_", WRITERS)
def test_an_import_says_what_statements_say(tenant: Tenants, tmp_path: Path, format_: str) -> None:
    loaded, said = tenant(), tenant(given=GIVEN)
    report = importer.load(loaded, write(tmp_path, ESTATE, format_))
    assert report == importer.LoadReport({name: len(rows) for name, rows in ESTATE.items()}, True, 1, report.added, 0)
    assert dump(loaded) == dump(said)
    assert marks(loaded) == settled(1)
    assert history(loaded) == [f"load {tmp_path.name}: {sum(map(len, ESTATE.values()))} rows, {report.added} added"]
    there = loaded.ask("tenant_state")
    mine = [each for each in there["entities"] if not each["builtin"] and each["ref"] != loaded.root.text]
    assert report.added == len(mine) + len(there["edges"])
    assert loaded.check("user:bob", "load_table", "table:hr.`a.b`.staff")
    assert not loaded.check("user:bob", "load_table", ODD)


@pytest.mark.parametrize("policy", POLICIES)
def test_random_facts_arrive_whole_in_every_policy(
    tenant: Tenants, tmp_path: Path, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importer, "BATCH", 7)
    said = tenant(policy, random_world(policy, random.Random(f"load {policy}"), 150), root=ROOT_NAME)
    tables = tables_of(said)
    assert all(tables.values()) or policy in ("onehouse", "cdap", "cdap_design")
    for rows in tables.values():
        random.Random(1).shuffle(rows)
    loaded = tenant(policy, root=ROOT_NAME)
    importer.load(loaded, write(tmp_path, tables, "parquet"))
    assert dump(loaded) == dump(said)
    assert importer.load(loaded, tmp_path).changed is False
    assert dump(loaded) == dump(said)


def test_the_same_folder_twice_changes_nothing(tenant: Tenants, tmp_path: Path) -> None:
    auth = tenant()
    folder = write(tmp_path, {name: [*rows, *rows] for name, rows in ESTATE.items()})
    assert importer.load(auth, folder).changed
    before = dump(auth), history(auth), marks(auth)
    report = importer.load(auth, folder)
    assert (report.changed, report.revision) == (False, 1)
    assert (dump(auth), history(auth), marks(auth)) == before


def test_an_import_adds_to_what_is_there(tenant: Tenants, tmp_path: Path) -> None:
    auth = tenant(given=GIVEN)
    more: Tables = {
        "objects": [["table:hr.`a.b`.more"]],
        "members": [["user:ann", "group:readers"], ["user:bob", "group:readers"]],
        "owners": [["catalog:hr", "user:ann"], ["table:hr.`a.b`.more", "user:bob"]],
        "grants": [
            ["DENY", "SELECT_TABLE", "table:hr.`a.b`.more", "role:analyst"],
            ["ALLOW", "SELECT_TABLE", "catalog:hr", "role:analyst"],
        ],
    }
    report = importer.load(auth, write(tmp_path, more))
    assert report.revision == len(GIVEN) + 1
    new = [
        "add table:hr.`a.b`.more",
        "member user:ann of group:readers",
        "owner user:bob of table:hr.`a.b`.more",
        "deny SELECT_TABLE on table:hr.`a.b`.more to role:analyst",
    ]
    assert dump(auth) == dump(tenant(given=[*GIVEN, *new]))


def test_a_name_that_holds_grants_may_come_first_where_the_policy_says_so(tenant: Tenants, tmp_path: Path) -> None:
    auth = tenant("cdap", root="main")
    subjects = {"subjects": [["user:ann"]]}
    grants = {"grants": [["allow", "READ", "dataset:ns.d", "user:ann"]]}
    importer.load(auth, write(tmp_path / "a", {**subjects, **grants}))
    said = tenant("cdap", ["add user:ann", "allow READ on dataset:ns.d to user:ann"], root="main")
    assert dump(auth) == dump(said)
    importer.load(auth, write(tmp_path / "b", {"objects": [["namespace:ns"], ["dataset:ns.d"]]}))
    said.given(["add namespace:ns", "add dataset:ns.d"])
    assert dump(auth) == dump(said)


def test_progress_is_told(tenant: Tenants, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importer, "BATCH", 3)
    told: list[tuple[str, int, int]] = []
    importer.load(tenant(), write(tmp_path, ESTATE), lambda *each: told.append(each))
    assert list(dict.fromkeys(what for what, _, _ in told)) == ["reading", "checking", "writing"]
    for what in ("reading", "checking", "writing"):
        counts = [done for each, done, _ in told if each == what]
        ends = {of for each, _, of in told if each == what}
        assert counts == sorted(counts) and ends == {counts[-1]}


def test_an_empty_table_changes_nothing(tenant: Tenants, tmp_path: Path) -> None:
    (tmp_path / "owners.csv").write_text("object,owner\n")
    report = importer.load(tenant(), tmp_path)
    assert report == importer.LoadReport(dict.fromkeys(TABLES, 0), False, 0, 0, 0)


@pytest.mark.parametrize("replace", [False, True])
def test_a_folder_without_a_table_is_refused(tenant: Tenants, tmp_path: Path, replace: bool) -> None:
    auth = tenant(given=GIVEN)
    before = dump(auth)
    (tmp_path / "kept.txt").write_text("ref\n")
    with pytest.raises(InvalidInput, match=r"holds no table: .* subjects, objects, .* as \.parquet"):
        importer.load(auth, tmp_path, replace=replace)
    assert (dump(auth), len(history(auth))) == (before, len(GIVEN))


# ---- what is refused ---------------------------------------------------------------------------------------------
BAD_ROWS: list[tuple[str, list[str], str]] = [
    ("subjects", ["user"], "not a reference: write type:name"),
    ("subjects", ["usr:bob"], "the type 'usr' is unknown.*did you mean user"),
    ("subjects", ["catalog:x"], "a catalog is listed in objects, not in subjects"),
    ("objects", ["role:r"], "a role is listed in subjects, not in objects"),
    ("objects", ["metalake:ml"], "is the root and is not listed"),
    ("objects", ["metalake:other"], "another tenant"),
    ("objects", ["schema:sales.public"], "no parent: catalog:sales is not there.*list it in objects"),
    ("objects", ["table:hr.staff"], "a table has 3 segments, not 2"),
    (
        "members",
        ["user:bobb", "group:readers"],
        r"user:bobb is not there \(did you mean user:bob\?\); list it in",
    ),
    ("members", ["user:bob", "group:writers"], "group:writers is not there"),
    ("members", ["group:readers", "group:readers"], "a group takes user"),
    ("members", ["role:analyst", "group:readers"], "a group takes user"),
    ("owners", ["catalog:hr", "group:readers"], "group:readers cannot own catalog:hr: a catalog is owned by a user"),
    ("owners", ["catalog:hr", "user:bob"], "catalog:hr has two owners, user:ann and user:bob"),
    ("owners", ["user:bob", "user:ann"], "a user is not owned"),
    ("owners", ["schema:hr.lost", "user:ann"], "schema:hr.lost is not there"),
    ("grants", ["permit", "SELECT_TABLE", "catalog:hr", "role:analyst"], "the effect 'permit' is unknown"),
    ("grants", ["allow", "SELECT_TABEL", "catalog:hr", "role:analyst"], "SELECT_TABEL is unknown.*SELECT_TABLE"),
    ("grants", ["allow", "CREATE_CATALOG", "catalog:hr", "role:analyst"], "cannot be granted on catalog:hr, a catalog"),
    ("grants", ["allow", "SELECT_TABLE", "catalog:hr", "user:bob"], "user:bob cannot hold a grant"),
    ("grants", ["allow", "SELECT_TABLE", "catalog:hr", "role:service_admin"], "set by whoever runs the system"),
    (
        "grants",
        ["allow", "SELECT_TABLE", "catalog:hx", "role:analyst"],
        r"catalog:hx is not there \(did you mean catalog:hr",
    ),
]


@pytest.fixture(scope="module")
def empty(module_tenant: Tenants) -> Authorizer:
    """A tenant that refuses everything in these tests."""
    return module_tenant()


@pytest.mark.parametrize(
    ("format_", "table", "row", "says"),
    [("csv", *each) for each in BAD_ROWS] + [(format_, *BAD_ROWS[at]) for format_ in WRITERS for at in (0, 6, -1)],
)
def test_one_bad_row_is_named_and_nothing_is_loaded(
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


def test_a_policy_without_deny_takes_none(tenant: Tenants, tmp_path: Path) -> None:
    auth = tenant("onehouse", ["add project:p", "add user:ann"], root="main")
    write(tmp_path, {"grants": [["deny", "PROJECT_MEMBER", "project:p", "user:ann"]]})
    with pytest.raises(InvalidInput, match=r"grants\.csv:2: the policy onehouse has no DENY"):
        importer.load(auth, tmp_path)


def test_another_owner_is_not_replaced(tenant: Tenants, tmp_path: Path) -> None:
    auth = tenant(given=[*GIVEN, "add user:eve"])
    write(tmp_path, {"owners": [["catalog:hr", "user:eve"]]})
    with pytest.raises(InvalidInput, match=r"owners\.csv:2: catalog:hr is owned by user:ann; hand it on"):
        importer.load(auth, tmp_path)


def test_many_bad_rows_are_counted_and_the_first_are_shown(tenant: Tenants, tmp_path: Path) -> None:
    subjects = [[f"nobody:{at}"] for at in range(15)]
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
    ("rows", "circle"),
    [
        ([["group:a", "group:a"]], "group:a in group:a"),
        ([["group:a", "group:b"], ["group:b", "group:c"], ["group:c", "group:a"]], "group:[abc] in group:[abc] in"),
        ([["role:r", "role:s"], ["role:s", "role:r"]], "role:[rs] in role:[rs]"),
        ([["group:y", "group:x"]], "group:y in group:x in group:m in group:y"),
    ],
)
def test_circles_are_found_with_what_is_in_the_graph(
    tenant: Tenants, tmp_path: Path, rows: list[list[str]], circle: str
) -> None:
    given = ["add group:x", "add group:m", "add group:y", "member group:x of group:m", "member group:m of group:y"]
    auth = tenant("lakehouse", given)
    subjects = [["group:a"], ["group:b"], ["group:c"], ["role:r"], ["role:s"]]
    with pytest.raises(InvalidInput, match=rf"members\.csv:\d: with this there is a circle: .*({circle})"):
        importer.load(auth, write(tmp_path, {"subjects": subjects, "members": rows}))
    assert marks(auth) == settled(len(given))


def test_a_diamond_is_no_circle(tenant: Tenants, tmp_path: Path) -> None:
    subjects = [[f"group:{name}"] for name in ("top", "left", "right", "bottom")]
    members = [["left", "top"], ["right", "top"], ["bottom", "left"], ["bottom", "right"], ["bottom", "top"]]
    rows = [[f"group:{one}", f"group:{other}"] for one, other in members]
    assert importer.load(tenant("lakehouse"), write(tmp_path, {"subjects": subjects, "members": rows})).changed


FILES: list[tuple[str, bytes, str]] = [
    ("subjects.csv", b"", "subjects.csv:1: the column 'ref' is missing"),
    ("subjects.csv", b"ref,name\n", "subjects.csv:1: the column 'name' is unknown; the columns are ref"),
    ("members.csv", b"member,of,of\n", "members.csv:1: the column 'of' is there twice"),
    ("subjects.csv", b"ref\nuser:a,user:b\n", "subjects.csv:2: 2 values, not 1: write ref"),
    ("subjects.csv", b'ref\nuser:a\n"user:b\n', "subjects.csv:3: unexpected end of data"),
    ("subjects.csv", b"ref\nuser:a\nuser:\xff\n", "subjects.csv:3: this is not UTF-8"),
    ("subjects.jsonl", b'{"ref": "user:a"}\n{"ref": \n', "subjects.jsonl:2: .*each line is one object"),
    ("subjects.jsonl", b'{"ref": "user:a", "x": 1}\n', "subjects.jsonl:1: the column 'x' is unknown"),
    ("members.jsonl", b'{"member": "user:a"}\n', "members.jsonl:1: the column 'of' is missing"),
    ("subjects.jsonl", b"[1]\n", "subjects.jsonl:1: not an object"),
    ("subjects.jsonl", b'{"ref": "user:a", "ref": "user:b"}\n', "subjects.jsonl:1: a key is there twice"),
    ("subjects.jsonl", b'{"ref": 5}\n', "subjects.jsonl:1: the column 'ref' is not a text"),
    ("subjects.jsonl", b'{"ref": "user:\\ud800"}\n', "subjects.jsonl:1: the column 'ref' is not a text"),
    ("subjects.parquet", b"PAR1 no", "subjects.parquet cannot be read as Parquet"),
    ("subject.csv", b"ref\n", r"subject.csv is not a table \(did you mean subjects.csv\?\)"),
]


@pytest.mark.parametrize(("name", "content", "says"), FILES)
def test_a_bad_file_is_named(empty: Authorizer, tmp_path: Path, name: str, content: bytes, says: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInput, match=says):
        importer.load(empty, tmp_path)


def test_a_byte_order_mark_blank_lines_and_other_files_are_no_matter(tenant: Tenants, tmp_path: Path) -> None:
    (tmp_path / "subjects.csv").write_bytes("\ufeffref\r\nuser:a\r\n\r\nuser:b\r\n".encode())
    (tmp_path / "objects.jsonl").write_bytes(b'\n{"ref": "catalog:c"}\n\n')
    (tmp_path / "notes.txt").write_text("what this is")
    assert importer.load(tenant(), tmp_path).rows == {**dict.fromkeys(TABLES, 0), "subjects": 2, "objects": 1}


def test_parquet_columns_are_texts_without_gaps(tenant: Tenants, tmp_path: Path) -> None:
    pq.write_table(pa.table({"ref": [1, 2]}), tmp_path / "subjects.parquet")
    with pytest.raises(InvalidInput, match=r"subjects\.parquet: the column 'ref' holds int64; write it as strings"):
        importer.load(tenant(), tmp_path)
    pq.write_table(pa.table({"ref": ["user:a", None, "user:b", None]}), tmp_path / "subjects.parquet")
    with pytest.raises(InvalidInput, match=r"(?s)2 bad rows.*row 2: the column 'ref' is empty.*row 4: the column"):
        importer.load(tenant(), tmp_path)
    packed = pa.array(["user:a", "user:b", "user:a"]).dictionary_encode()
    pq.write_table(pa.table({"ref": packed}), tmp_path / "subjects.parquet")
    assert importer.load(tenant(), tmp_path).rows["subjects"] == 3


def test_one_table_in_two_formats_is_refused(tenant: Tenants, tmp_path: Path) -> None:
    write(tmp_path, {"subjects": [["user:a"]]}, "csv")
    write(tmp_path, {"subjects": [["user:a"]]}, "jsonl")
    with pytest.raises(InvalidInput, match=r"subjects\.jsonl: subjects\.csv is there too; keep one file for subjects"):
        importer.load(tenant(), tmp_path)
    with pytest.raises(InvalidInput, match="is not a folder"):
        importer.load(tenant(), tmp_path / "subjects.csv")


# ---- what others see -----------------------------------------------------------------------------------------------
class Stop(Exception):
    """Raised inside of a load."""


def attempts(auth: Authorizer) -> Iterator[Callable[[], object]]:
    """All ways of asking and changing."""
    yield lambda: auth.check("user:bob", "load_table", "table:hr.`a.b`.staff")
    yield lambda: auth.check_many([("user:bob", "SELECT_TABLE", "metalake:ml")])
    yield lambda: list(auth.which("catalog", "user:bob", "load_catalog"))
    yield lambda: list(auth.who("load_metalake", "metalake:ml"))
    yield lambda: auth.change("add user:new")


def all_raise(auth: Authorizer) -> None:
    for attempt in attempts(auth):
        with pytest.raises(Inconsistent, match=r"`load .*` is under way.*run it again"):
            attempt()


def all_raise_beside_a_killed_load(auth: Authorizer) -> None:
    """Asked by one who waits long for a sign of life, so that a slow machine does not take the load for dead."""
    patient = Store(connection(), timeout=60, stall_limit=3600)
    all_raise(Authorizer(patient, auth.tenant, auth.policy, auth.root))
    patient.close()


def test_while_a_load_writes_everything_else_raises(
    tenant: Tenants, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importer, "BATCH", 4)
    auth, other = tenant(), tenant(given=GIVEN)
    seen: list[int] = []

    def look(what: str, done: int, of: int) -> None:
        if what == "writing" and done > 0:
            all_raise(auth)
            assert other.check("user:bob", "load_table", "table:hr.`a.b`.staff")
            seen.append(done)

    importer.load(auth, write(tmp_path, ESTATE), look)
    assert len(seen) > 4
    assert auth.check("user:bob", "load_table", "table:hr.`a.b`.staff")


def test_a_load_that_raises_leaves_nothing(tenant: Tenants, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importer, "BATCH", 4)
    auth = tenant(given=["add catalog:hr", "add user:bob"])
    before = dump(auth)

    def stop(what: str, done: int, of: int) -> None:
        if what == "writing" and done >= 16:
            raise Stop

    with pytest.raises(Stop):
        importer.load(auth, write(tmp_path, ESTATE), stop)
    assert dump(auth) == before
    assert marks(auth) == settled(3)  # not 2: a check that ran all the while must not take before for after
    assert history(auth) == ["add catalog:hr", "add user:bob"]


def test_two_loads_take_turns_or_the_second_says_why_not(
    tenant: Tenants, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    auth = tenant()
    started, go_on = threading.Event(), threading.Event()

    def wait(what: str, done: int, of: int) -> None:
        if what == "writing":
            started.set()
            assert go_on.wait(60)

    first = threading.Thread(target=lambda: importer.load(auth, write(tmp_path / "a", ESTATE), wait))
    first.start()
    try:
        assert started.wait(60)
        monkeypatch.setattr(store._guard, "_timeout", 1.0)
        with pytest.raises(Inconsistent, match=r"busy for .* with `load a`"):
            importer.load(auth, write(tmp_path / "b", ESTATE))
    finally:
        go_on.set()
        first.join()
    monkeypatch.undo()
    assert not importer.load(auth, tmp_path / "b").changed


# ---- what a killed load leaves -------------------------------------------------------------------------------------
KILLED = """
import os, signal, sys
from pathlib import Path
from grantpath.engine import Authorizer
from grantpath.engine.policy import policy
from grantpath.engine.transfer import importer
from grantpath.graph.embedded.connect import connection
from grantpath.graph.store import Store

tenant, folder, at = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
importer.BATCH = 4
model = policy.load("gravitino")

def die(what, done, of):
    if what == sys.argv[4] and done >= at:
        os.kill(os.getpid(), signal.SIGKILL)

importer.load(Authorizer(Store(connection()), tenant, model, model.root("ml")), folder, die)
"""


def killed(auth: Authorizer, folder: Path, at: int, what: str = "writing") -> None:
    command = [sys.executable, "-c", KILLED, auth.tenant, str(folder), str(at), what]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert run.returncode == -signal.SIGKILL, run.stderr


@pytest.mark.crash
@pytest.mark.parametrize("at", others_slow([9, 0, 15, 18]))
def test_a_killed_load_is_done_by_the_next(tenant: Tenants, tmp_path: Path, at: int) -> None:
    auth = tenant(given=["add user:eve"])
    folder = write(tmp_path, ESTATE)
    killed(auth, folder, at)
    all_raise_beside_a_killed_load(auth)
    assert importer.load(auth, folder).changed
    assert dump(auth) == dump(tenant(given=["add user:eve", *GIVEN]))
    assert marks(auth) == settled(3)
    assert len(history(auth)) == 2
    assert auth.check("user:bob", "load_table", "table:hr.`a.b`.staff")


@pytest.mark.slow
@pytest.mark.crash
def test_a_killed_load_is_undone_by_another_even_if_that_is_killed_or_bad(tenant: Tenants, tmp_path: Path) -> None:
    auth = tenant(given=["add catalog:hr", "add user:bob"])
    before = dump(auth)
    estate = write(tmp_path / "estate", ESTATE)
    killed(auth, estate, 14)
    killed(auth, estate, 3, "undoing")
    all_raise_beside_a_killed_load(auth)
    bad = write(tmp_path / "bad", {"subjects": [["user"]]})
    with pytest.raises(InvalidInput):
        importer.load(auth, bad)
    assert dump(auth) == before
    assert marks(auth) == settled(3)
    killed(auth, estate, 12)
    importer.load(auth, write(tmp_path / "other", {"subjects": [["user:other"]]}))
    assert dump(auth) == dump(tenant(given=["add catalog:hr", "add user:bob", "add user:other"]))
