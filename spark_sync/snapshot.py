"""A snapshot on disk: Parquet tables and what they are of. docs/snapshot.md describes them for people."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict

from grantpath.engine.policy import Policy, from_source
from grantpath.graph.errors import GrantpathError, InvalidInput, InvalidPolicy
from grantpath.graph.reference import Reference, short
from grantpath.spark_sync.facts import Estate
from grantpath.spark_sync.hats import Closure, Roles
from grantpath.spark_sync.intervals import Ints
from grantpath.spark_sync.numbering import Numbering

POLICY_FILE = "policy.json"
MAX_BYTES = 10_000_000  # of it, and of meta.json


class SnapshotMeta(BaseModel):
    """What a snapshot is of."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    schema_version: Literal[1] = 1
    root: str
    revision: int
    policy: str
    policy_digest: str
    created: str
    closed_by: str
    counts: dict[str, int]


class Snapshot:
    """A finished snapshot. Raises InvalidInput where the folder isn't one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            self.meta = SnapshotMeta.model_validate_json(_read(folder / "meta.json"))
        except (OSError, ValueError) as error:
            raise InvalidInput(
                f"{short(str(folder))} is not a snapshot of this version ({type(error).__name__} in meta.json); "
                "make one with `grantpath mirror OUT`"
            ) from None

    @cached_property
    def policy(self) -> Policy:
        """The policy as it was when the snapshot was made."""
        try:
            return from_source(_read(self.folder / POLICY_FILE))
        except (OSError, ValueError, InvalidPolicy) as error:
            path = short(str(self.folder / POLICY_FILE))
            raise InvalidInput(f"{path}: cannot be read ({type(error).__name__}); make the snapshot anew") from None

    @cached_property
    def root(self) -> Reference:
        """The root object's reference, as the entities have it."""
        return self.policy.root(self.numbering.refs[0])

    def table(self, name: str, **options: Any) -> pa.Table:
        """A table of the snapshot. Raises InvalidInput for one that cannot be read."""
        path = self.folder / name
        try:
            return pads.dataset(path if path.is_dir() else path.with_suffix(".parquet")).to_table(**options)
        except (OSError, pa.ArrowException) as error:
            raise InvalidInput(f"{path}: cannot be read ({error}); make the snapshot anew") from None

    @cached_property
    def numbering(self) -> Numbering:
        table = self.table("objects")
        types = tuple(self.policy.names.types)
        codes = pa.compute.index_in(table["type"], pa.array(types))
        return Numbering(
            table["ref"].to_pylist(),
            codes.to_numpy().astype(np.int16),
            ints(table, "parent"),
            ints(table, "last"),
            table["exists"].to_numpy(),
            table["builtin"].to_numpy(),
            types,
        )

    @cached_property
    def estate(self) -> Estate:
        table = self.table("intervals")
        keys = table["key"].combine_chunks().dictionary_encode()
        return Estate(
            self.numbering,
            ints(table, "holder"),
            keys.indices.to_numpy().astype(np.int64),
            ints(table, "start"),
            tuple(keys.dictionary.to_pylist()),
        )

    @cached_property
    def roles(self) -> Roles:
        table = self.table("members", filter=pads.field("kind") == "HAS_ROLE").sort_by("source")
        return Roles(ints(table, "source"), ints(table, "target"))

    @cached_property
    def hidden(self) -> Ints:
        """The positions that stand in no answer."""
        hidden = set(self.policy.hidden)
        return np.array([at for at, ref in enumerate(self.numbering.refs) if ref in hidden], np.int64)

    def closure(self, subjects: Ints | None = None) -> Closure:
        """The holders of these subjects, or of all."""
        chosen = None if subjects is None else pads.field("subject").isin(subjects)
        table = self.table("closure", filter=chosen).sort_by("subject")
        return Closure.of(ints(table, "subject"), ints(table, "holder"), len(self.numbering))


def ints(table: pa.Table, name: str) -> Ints:
    """A column as numpy integers."""
    column: Ints = table[name].to_numpy().astype(np.int64)
    return column


def write_table(folder: Path, name: str, columns: dict[str, Any]) -> None:
    pq.write_table(pa.table(columns), folder / f"{name}.parquet")


def write_policy(folder: Path, policy: Policy) -> None:
    """The whole policy, with what it extends, so that the snapshot can be read without the policy's files."""
    (folder / POLICY_FILE).write_text(policy.source)


def _read(path: Path) -> str:
    """A small file of a snapshot. Raises OSError, ValueError."""
    if path.stat().st_size > MAX_BYTES or not path.is_file():
        raise ValueError("no plain file, or too large")
    return path.read_text(encoding="utf-8")


@contextmanager
def building(target: Path, replace: bool = False) -> Iterator[Path]:
    """A folder to write into that takes the target's name in the end: it is there complete, or not at all.

    Raises InvalidInput where the target is there already (or cannot be made), GrantpathError where the disk is full.
    """
    if target.exists() and not replace:
        raise InvalidInput(f"{target} is there already; name a new folder, or remove it")
    fresh = target.with_name(f".{target.name}.{os.getpid()}.new")
    try:
        try:
            fresh.mkdir(parents=True)
        except OSError as error:
            raise InvalidInput(f"{target} cannot be made ({error.strerror}); name another folder") from error
        yield fresh
        if replace and target.exists():
            shutil.rmtree(target)
        fresh.rename(target)
    except Exception as error:
        if _disk_full(error):
            raise GrantpathError(
                f"{target}: the disk is full; free space, or write somewhere else. Nothing was kept"
            ) from error
        raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _disk_full(error: Exception) -> bool:
    return getattr(error, "errno", None) == errno.ENOSPC or "No space left on device" in str(error)
