"""The tables of a small estate as files in each format, and the contents of a root after a load."""

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from grantpath.engine import Authorizer
from grantpath.engine.transfer.tables import TABLES

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
# the same facts as statements
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
    """The nodes other than facts that a load may leave."""
    row = auth.store.execute(
        """MATCH (mark:Revision {root: $root})
        RETURN mark.revision AS revision, mark.begun AS begun, mark.loading AS loading,
               COUNT { (:LoadedBatch {root: $root}) } AS notes""",
        {"root": auth.tenant},
    )[0]
    return dict(row)


def settled(revision: int) -> dict[str, Any]:
    return {"revision": revision, "begun": revision, "loading": None, "notes": 0}
