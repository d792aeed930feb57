"""meta.json of a dump: its root, policy and revision, and the sha256 of each of its files."""

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from grantpath.engine.policy.policy import is_digest
from grantpath.engine.policy.yaml_reader import read_text
from grantpath.graph.errors import InvalidInput
from grantpath.graph.files.private_files import create_private
from grantpath.graph.guard.revision_marks import MOST_REVISIONS
from grantpath.graph.messages import short

META = "meta.json"
FORMAT, WITH_TAGS = "grantpath dump 1", "grantpath dump 2"  # the second one has the table `tags`
WITH_ENDS = "grantpath dump 3"  # may have that table, and has the columns `until`
FORMATS = (FORMAT, WITH_TAGS, WITH_ENDS)
NOTES = ("history", "deltas", "refusals", "requests")  # each is a file of JSON lines
OPTIONAL = ("deltas",)  # older dumps lack them
MAX_LINE_BYTES = 100_000_000
TAIL_BYTES = 100_000
_AGAIN = "dump the root again"
_TABLES_ALONE = f"to load only its tables, remove {META} and {', '.join(f'{name}.jsonl' for name in NOTES)}"


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class KeptPolicy(_Model):
    """The policy of the root, with its source."""

    name: str
    digest: str
    source: str


class DumpMeta(_Model):
    """The contents of meta.json.

    `made`: the root's creation id. `chain`: the name of its log's chain. `counts`: rows by table, and entries by file.
    `files`: sha256 by file name.
    """

    format: str
    root: str
    policy: KeptPolicy
    revision: Annotated[int, Field(ge=0, lt=MOST_REVISIONS)]
    made: str | None
    chain: str
    time: str
    counts: dict[str, int]
    files: dict[str, str]


def write_meta(directory: Path, meta: DumpMeta) -> None:
    """Writes meta.json. Raises OSError."""
    with create_private(directory / META) as out:
        out.write((meta.model_dump_json(indent=2) + "\n").encode())


def read_meta(directory: Path) -> DumpMeta | None:
    """Reads meta.json of the dump in a folder and verifies the files; None if the folder does not contain a dump.

    Raises InvalidInput if the folder cannot be read, or the dump has another format, lacks a file, or has a file that
    was changed.
    """
    fields = _fields(directory)
    if fields is None:
        return None
    if fields["format"] not in FORMATS:
        raise InvalidInput(
            f"{directory / META}: the format is {str(fields['format'])[:80]!r}, but this version of grantpath reads "
            f"{', '.join(map(repr, FORMATS))}; restore it with the version that wrote it, and {_AGAIN} with this one; "
            f"{_TABLES_ALONE}"
        )
    try:
        meta = DumpMeta.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InvalidInput(f"{directory / META}: {where}: {first['msg']}; {_AGAIN}") from None
    if not is_digest(meta.policy.digest, meta.policy.source):
        raise InvalidInput(
            f"{directory / META} was changed or damaged: policy.digest is not the sha256 of policy.source; {_AGAIN}"
        )
    _check_files(directory, meta)
    if (newest := _newest(directory / "history.jsonl")) > meta.revision:
        raise InvalidInput(
            f"{directory / META} was changed or damaged: revision is {meta.revision}, but history.jsonl has an entry of"
            f" revision {newest}; {_AGAIN}"
        )
    return meta


def _fields(directory: Path) -> dict[str, Any] | None:
    file = directory / META
    try:
        if not file.is_file():
            return None
    except OSError as error:  # e.g. a name that is too long
        raise InvalidInput(
            f"{short(str(directory))}: cannot be read ({error.strerror}); check the path and its permissions"
        ) from None
    try:
        fields = json.loads(read_text(file))
    except (InvalidInput, ValueError, RecursionError):
        # another program's file, or the damaged file of a dump, whose other files are then refused as unknown tables
        return None
    return fields if isinstance(fields, dict) and str(fields.get("format")).startswith("grantpath dump") else None


def _check_files(directory: Path, meta: DumpMeta) -> None:
    for name, wanted in meta.files.items():
        file = directory / name
        if Path(name).name != name or not file.is_file():
            raise InvalidInput(f"{file} is missing from the dump; {_AGAIN}")
        if _sha256(file) != wanted:
            raise InvalidInput(
                f"{file} was changed or damaged: its sha256 differs from the one in {META}; {_AGAIN}, or"
                f" {_TABLES_ALONE}"
            )
    for name in NOTES:
        listed = f"{name}.jsonl" in meta.files
        if not listed and (name not in OPTIONAL or (directory / f"{name}.jsonl").exists()):
            raise InvalidInput(f"{directory / META} does not list {name}.jsonl; {_AGAIN}")


def _newest(history: Path) -> int:
    """The revision of the last entry, which is the newest; 0 if there is none. The file is known to be undamaged."""
    with history.open("rb") as opened:
        size, wanted = opened.seek(0, os.SEEK_END), TAIL_BYTES
        while True:
            opened.seek(max(0, size - wanted))
            lines = opened.read().splitlines()
            if len(lines) > 1 or wanted >= size:  # the first one may be cut
                return int(json.loads(lines[-1])["revision"]) if lines else 0
            wanted *= 16


def _sha256(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}; check the file") from None


def entries(directory: Path, name: str) -> Iterator[dict[str, Any]]:
    """The entries of one file of NOTES, as JSON objects. Raises InvalidInput."""
    file = directory / f"{name}.jsonl"
    if name in OPTIONAL and not file.exists():
        return
    with file.open("rb") as opened:
        for number, line in enumerate(iter(lambda: opened.readline(MAX_LINE_BYTES), b""), 1):
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError):
                raise InvalidInput(f"{file}:{number}: the line is not JSON; {_AGAIN}") from None
            if not isinstance(entry, dict):
                raise InvalidInput(f"{file}:{number}: the line is not an object; {_AGAIN}")
            yield entry
