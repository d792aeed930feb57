"""The files of `changes` are numbered without gaps, and no number is used again."""

import shutil
from pathlib import Path

import pytest

from grantpath.engine.facts.snapshot.snapshot_reader import CHANGES
from grantpath.graph.client.connection import Connection
from grantpath.graph.errors import InvalidInput
from grantpath.spark_sync.following.change_files import NEXT, change_files, next_number
from grantpath.spark_sync.following.snapshot_update import update
from grantpath.spark_sync.mirroring.mirror import mirror_tenant

from ..conftest import Tenants


def test_numbers_continue_if_all_files_are_removed(server: Connection, tenant: Tenants, tmp_path: Path) -> None:
    """A stream with a checkpoint would skip files that have the numbers of older ones."""
    auth, out = tenant("gravitino", ["add user:a"]), tmp_path / "out"
    mirror_tenant(server, auth.tenant, out, print)
    for user in ("x", "y", "z"):
        (out / CHANGES).mkdir(exist_ok=True)
        auth.change(f"add user:{user}")
        update(server, auth.tenant, out, print)
        if user == "y":
            shutil.rmtree(out / CHANGES)
            assert (change_files(out), next_number(out)) == ([], 2)
    revision = auth.revision_now()
    assert [(file.number, file.first, file.last) for file in change_files(out)] == [(2, revision, revision)]


def test_a_number_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    assert next_number(tmp_path) == 0
    (tmp_path / NEXT).write_text("")
    with pytest.raises(InvalidInput, match=r"changes\.next: not the number of a file \(ValueError\)"):
        next_number(tmp_path)
