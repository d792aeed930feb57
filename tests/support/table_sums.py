"""Compares snapshots: the sums of their tables, and their facts as statements."""

import hashlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from grantpath.engine.facts.snapshot.snapshot_reader import TABLES
from grantpath.graph.files.remote_path import AnyPath
from grantpath.spark_sync.session.snapshot import Snapshot

UNSORTED = ("access/reach", "access/expand")  # their rows have no order


def table_sums(folder: AnyPath | str) -> dict[str, str]:
    """By table, the sha256 of its rows as Arrow sends them, with plain strings and 64-bit numbers."""
    source = Snapshot(folder)
    return {name: _sum(source, name) for name in TABLES if source.has(name)}


def _sum(source: Snapshot, name: str) -> str:
    kinds = {"text": pa.string(), "int": pa.int64(), "bool": pa.bool_()}
    schema = pa.schema([(column, kinds[kind]) for column, kind in TABLES[name].items()])
    rows = pa.concat_tables([schema.empty_table(), *(each.cast(schema) for each in source.stream(name).tables)])
    if name in UNSORTED:
        rows = rows.sort_by([(column, "ascending") for column in rows.column_names])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as stream:
        stream.write_table(rows.combine_chunks())
    return hashlib.sha256(sink.getvalue()).hexdigest()


def snapshot_statements(folder: Path) -> set[str]:
    """All facts of a snapshot as statements."""
    rows = {name: pq.read_table(folder / name).to_pylist() for name in ("objects", "members", "intervals")}
    refs = [row["ref"] for row in rows["objects"]]
    facts = {f"add {row['ref']}" for row in rows["objects"] if row["exists"]}
    facts |= {f"member {refs[row['source']]} of {refs[row['target']]}" for row in rows["members"]}
    for row in rows["intervals"]:
        holder, on = refs[row["holder"]], refs[row["start"]]
        owned = row["effect"] == "OWNS"
        granted = f"{row['effect'].lower()} {row['privilege']} on {on} to {holder}"
        facts.add(f"owner {holder} of {on}" if owned else granted)
    return facts
