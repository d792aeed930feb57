"""Writes the tables of an export as Iceberg tables, with a catalog in an SQLite file; no Spark and no jar is needed."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow.fs import LocalFileSystem

from grantpath.spark_sync.tables.part_files import write_parts

if TYPE_CHECKING:  # the extra `iceberg`
    from pyiceberg.io import InputFile, OutputFile
    from pyiceberg.io.pyarrow import PyArrowFile

CATALOG = NAMESPACE = "grantpath"
CATALOG_FILE = "catalog.db"
_FRESH, _OUT = "grantpath.fresh", "grantpath.out"  # properties of the catalog, for the FileIO


class IcebergTables:
    """Writes tables into the folder `fresh`, which is renamed to `out` later.

    The metadata of an Iceberg table contains absolute locations. They are the final locations, below `out`; a FileIO
    maps them to the files below `fresh`.
    """

    def __init__(self, fresh: Path, out: Path, properties: Mapping[str, str]) -> None:
        from pyiceberg.catalog.sql import SqlCatalog
        from sqlalchemy import URL

        self._fresh, self._out, self._properties = fresh, out.absolute(), dict(properties)
        self._catalog = SqlCatalog(
            CATALOG,
            **{
                "uri": URL.create("sqlite", database=str(fresh.absolute() / CATALOG_FILE)).render_as_string(),
                "warehouse": _location(self._out),
                "py-io-impl": f"{__name__}.{RelocatedFiles.__name__}",
                _FRESH: str(fresh.absolute()),
                _OUT: _location(self._out),
            },
        )
        self._catalog.create_namespace(NAMESPACE)

    def write(self, name: str, schema: pa.Schema, tables: Iterable[pa.Table]) -> Path:
        """Writes a new table with these properties. Returns its metadata file after the renaming."""
        identifier, at = f"{NAMESPACE}.{name}", self._out / name
        creation = self._catalog.create_table_transaction(
            identifier, schema, location=_location(at), properties=self._properties
        )
        with creation as table:
            numbers = {field.name: field.field_id for field in table.table_metadata.schema().fields}
            fields = [field.with_metadata({"PARQUET:field_id": str(numbers[field.name])}) for field in schema]
            parts = write_parts(self._fresh / name / "data", pa.schema(fields), tables)
            files = [_location(at / "data" / each.path.name) for each in parts]
            table.add_files(files, snapshot_properties=self._properties, check_duplicate_files=False)
        made = self._catalog.load_table(identifier)
        return at / "metadata" / made.metadata_location.rpartition("/")[2]

    def close(self) -> None:
        """Closes the catalog's file."""
        self._catalog.close()


class RelocatedFiles:
    """A FileIO of pyiceberg for files whose locations are below `out`, while they are still below `fresh`."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self.properties = properties

    def new_input(self, location: str) -> "InputFile":
        """The file at this location, to be read."""
        return self._file(location)

    def new_output(self, location: str) -> "OutputFile":
        """The file at this location, to be written."""
        return self._file(location)

    def delete(self, location: "str | InputFile | OutputFile") -> None:
        """Removes the file."""
        self._path(location if isinstance(location, str) else location.location).unlink()

    def _file(self, location: str) -> "PyArrowFile":
        from pyiceberg.io.pyarrow import PyArrowFile

        return PyArrowFile(location=location, path=str(self._path(location)), fs=LocalFileSystem())

    def _path(self, location: str) -> Path:
        path = Path(self.properties[_FRESH]) / location.removeprefix(f"{self.properties[_OUT]}/")
        path.parent.mkdir(parents=True, exist_ok=True)
        return path


def _location(path: Path) -> str:
    """The location of a path in the form that engines expect: special characters are not percent-encoded."""
    return f"file://{path}"
