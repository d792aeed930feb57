"""Views of a snapshot for analysts, in Spark's SQL or in DuckDB's, with references in place of positions."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

from grantpath.graph.errors import InvalidInput
from grantpath.graph.extras import require_extra
from grantpath.graph.files.remote_path import AnyPath, RemotePath
from grantpath.graph.messages import short
from grantpath.spark_sync.session.snapshot import SCHEMA, Snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_VIEW = re.compile(r"^-- from ([\w/, ]+): .*?\n(create or replace view \{schema\}\.(\w+) as\n.*?);$", re.M | re.S)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


@dataclass(frozen=True)
class _View:
    """A view of views.sql: its name, the files that it needs, and its statement with placeholders."""

    name: str
    needs: Sequence[str]
    text: str


def register(spark: "SparkSession", path: AnyPath | str | Snapshot, schema: str = SCHEMA) -> list[str]:
    """Makes the snapshot's views in a schema of this Spark session, e.g. `grantpath.reach`. Returns their names.

    `reach`, `exposure` and `names` are created only after `grantpath access`, and `expand` only after `grantpath access
    --expand`. The views of a snapshot that was registered before in this schema are replaced or removed. Spark reads
    the files when a view is used. Raises InvalidInput if `path` is not a snapshot, or `schema` is not a plain name.
    """
    require_extra("spark", "a Spark session")
    from grantpath.spark_sync.session.spark_session import place, require_reach

    source, tables, views = _found(path, schema)
    require_reach(spark, source.folder)
    spark.sql(f"create schema if not exists {schema}")
    for each in _views():
        spark.sql(f"drop view if exists {schema}.{each.name}")
    for name in _needed():
        spark.sql(f"drop table if exists {schema}.{_raw(name)}")
    for name, file in tables.items():
        location = place(file).replace("\\", "\\\\").replace("'", "\\'")
        spark.sql(  # patterns are off, because `*`, `[` and `{` in the path are ordinary characters
            f"create table {schema}.{_raw(name)} using parquet options ('__globPaths__' 'false') location '{location}'"
        )
    for each in views:
        spark.sql(_filled(each.text, source, schema, "explode", "sequence"))
    return [each.name for each in views]


def duckdb_views(path: AnyPath | str | Snapshot, schema: str = SCHEMA) -> str:
    """The same views as statements for DuckDB, which reads the files itself: `duckdb.execute(duckdb_views("OUT"))`.

    Raises InvalidInput if `path` is not a snapshot, or `schema` is not a plain name.
    """
    source, tables, views = _found(path, schema)
    lines = [f"create schema if not exists {schema};"]
    stale = [*(each.name for each in reversed(_views())), *map(_raw, _needed())]
    lines += [f"drop view if exists {schema}.{name};" for name in stale]
    for name, file in tables.items():
        text = file.plain_uri if isinstance(file, RemotePath) else str(file.absolute())
        pattern = re.sub(r"([\[*?])", r"[\1]", text).replace("'", "''")
        lines.append(f"create view {schema}.{_raw(name)} as select * from read_parquet('{pattern}/*.parquet');")
    lines += [f"{_filled(each.text, source, schema, 'unnest', 'generate_series')};" for each in views]
    return "\n".join(lines) + "\n"


def _found(path: AnyPath | str | Snapshot, schema: str) -> tuple[Snapshot, dict[str, AnyPath], list[_View]]:
    """The snapshot, its files by their names in views.sql, and the views that can be made of these."""
    if not _NAME.match(schema):
        raise InvalidInput(f"{short(schema)!r} cannot be the name of a schema; use letters, digits and _")
    source = path if isinstance(path, Snapshot) else Snapshot(path)
    tables = {}
    for name in _needed():
        if source.has(name):
            tables[name] = source.place(name)
        elif not name.startswith("access/"):
            raise InvalidInput(f"{source.folder / name} does not exist; write the snapshot again")
    source.require_complete()
    return source, tables, [each for each in _views() if tables.keys() >= {*each.needs}]


def _views() -> list[_View]:
    """The views of views.sql, in its order: a view comes after those that it uses."""
    text = (files("grantpath.spark_sync.session") / "views.sql").read_text(encoding="utf-8")
    return [_View(found[3], found[1].split(", "), found[2]) for found in _VIEW.finditer(text)]


def _needed() -> list[str]:
    """The files that the views need, by their names in views.sql."""
    return sorted({need for each in _views() for need in each.needs})


def _raw(name: str) -> str:
    return f"raw_{name.rpartition('/')[2]}"


def _filled(text: str, source: Snapshot, schema: str, each: str, numbers: str) -> str:
    given = {
        "schema": schema,
        "subject_types": _listed(source.policy.names.subject_types),
        "user_types": _listed(source.policy.user_types),
        "each": each,
        "numbers": numbers,
    }
    return re.sub(r"\{(\w+)\}", lambda found: given[found[1]], text)


def _listed(types: Sequence[str]) -> str:
    """Types as SQL. A policy's types consist of lower-case letters, digits and _."""
    return ", ".join(f"'{type_}'" for type_ in types)
