"""Writes the tables of an export as Delta tables; no Spark and no jar is needed."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from grantpath.spark_sync.tables.part_files import PartFile, write_parts

if TYPE_CHECKING:  # the extra `delta`
    from deltalake.transaction import AddAction


class DeltaTables:
    """Writes tables into the folder `fresh`, which is renamed later: a Delta table refers to its files relatively."""

    def __init__(self, fresh: Path, out: Path, properties: Mapping[str, str]) -> None:
        self._fresh, self._out, self._properties = fresh, out, dict(properties)

    def write(self, name: str, schema: pa.Schema, tables: Iterable[pa.Table]) -> Path:
        """Writes a new table with these properties. Returns its folder after the renaming."""
        from deltalake import CommitProperties, DeltaTable

        folder = self._fresh / name
        parts = write_parts(folder, schema, tables)
        commit = CommitProperties(custom_metadata=self._properties)
        made = DeltaTable.create(
            folder,
            schema,
            name=name,
            configuration=self._properties,
            raise_if_key_not_exists=False,  # the keys are ours, not Delta's
            commit_properties=commit,
        )
        made.create_write_transaction([_added(each) for each in parts], "append", schema, commit_properties=commit)
        return self._out / name

    def close(self) -> None:
        """Does nothing: each table is complete by itself."""


def _added(part: PartFile) -> "AddAction":
    from deltalake.transaction import AddAction

    found = part.path.stat()
    return AddAction(part.path.name, found.st_size, {}, found.st_mtime_ns // 1_000_000, True, _statistics(part))


def _statistics(part: PartFile) -> str:
    """The statistics of a file as JSON: the least and greatest value of each column. Engines skip files by them.

    They cover every column or none. If only some columns had them, deltalake's dataset would find no row when it
    filters by one of the others.
    """
    footer = part.footer
    counts, least, greatest = {}, {}, {}
    for at in range(footer.num_columns):
        found = [footer.row_group(group).column(at).statistics for group in range(footer.num_row_groups)]
        if not all(each is not None and each.has_min_max for each in found):
            return json.dumps({"numRecords": footer.num_rows})
        name = footer.schema.column(at).name
        counts[name] = 0  # a snapshot has no empty values
        least[name], greatest[name] = min(each.min for each in found), max(each.max for each in found)
    return json.dumps({"numRecords": footer.num_rows, "minValues": least, "maxValues": greatest, "nullCount": counts})
