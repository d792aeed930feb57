"""A load of objects whose types are in themselves: each is written below its parent, whatever the order of the rows."""

import random
from pathlib import Path

from grantpath.engine import Authorizer
from grantpath.engine.transfer import importer
from grantpath.engine.transfer.exporter import dump as write_dump

from ...conftest import Tenants
from ...support.table_files import dump, write
from ...support.with_replica import with_replica

SCHEMAS = [f"schema:hr.{'.'.join('abcdef'[:depth])}" for depth in range(1, 7)]
TABLES = [f"table:{schema.removeprefix('schema:')}.t" for schema in SCHEMAS]
GRANTS = [
    ["allow", "USE_CATALOG", "catalog:hr", "user:bob"],
    ["allow", "USE_SCHEMA", SCHEMAS[0], "user:bob"],
    ["allow", "SELECT_TABLE", SCHEMAS[2], "user:bob"],
    ["deny", "SELECT_TABLE", SCHEMAS[4], "user:bob"],
]


def estate() -> dict[str, list[list[str]]]:
    objects = [[ref] for ref in ["catalog:hr", *SCHEMAS, *TABLES]]
    random.Random(7).shuffle(objects)
    return {"subjects": [["user:bob"]], "objects": objects, "members": [], "owners": [], "grants": GRANTS}


def test_load_writes_each_object_below_its_parent(tenant: Tenants, tmp_path: Path) -> None:
    stated = ["add user:bob", "add catalog:hr", *(f"add {ref}" for ref in (*SCHEMAS, *TABLES))]
    stated += [f"{effect} {name} on {on} to {by}" for effect, name, on, by in GRANTS]
    loaded, given = tenant("lakehouse_nested"), tenant("lakehouse_nested", stated)
    importer.load(loaded, write(tmp_path / "estate", estate(), "csv"))
    assert dump(loaded) == dump(given)
    assert list(loaded.list("schema", under=SCHEMAS[3])) == SCHEMAS[4:]
    assert loaded.show(SCHEMAS[2]).children == {"schema": 1, "table": 1}
    for auth in (loaded, with_replica(loaded)):
        assert list(auth.which("table", "user:bob", "load_table")) == sorted(TABLES[2:4])
        assert auth.show(SCHEMAS[2]).children == {"schema": 1, "table": 1}
    _restored(loaded, tenant, tmp_path)


def _restored(loaded: Authorizer, tenant: Tenants, tmp_path: Path) -> None:
    """A dump of it, restored, and the past of it."""
    loaded.change(f"drop {SCHEMAS[3]}")
    assert loaded.plan([f"add {SCHEMAS[3]}"]).added == (f"add {SCHEMAS[3]}",)
    write_dump(loaded, tmp_path / "dump", "jsonl")
    copy = tenant("lakehouse_nested")
    importer.load(copy, tmp_path / "dump")
    assert dump(copy) == dump(loaded)
    assert list(loaded.which("table", "user:bob", "load_table")) == [TABLES[2]]
    assert list(loaded.which("table", "user:bob", "load_table", as_of=1)) == sorted(TABLES[2:4])
