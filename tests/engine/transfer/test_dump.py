"""A dump is complete or absent, of one revision, closed to other users, and contains every name."""

import os
import random
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from grantpath.engine import Authorizer, Inconsistent, InvalidInput
from grantpath.engine.tenants import registry
from grantpath.engine.transfer import importer
from grantpath.engine.transfer.dump_files import Writer, filling
from grantpath.engine.transfer.dump_meta import META, NOTES, read_meta
from grantpath.engine.transfer.exporter import dump
from grantpath.engine.transfer.table_formats import Format
from grantpath.engine.transfer.tables import TABLES
from grantpath.graph.guard.store import Store

from ...conftest import Tenants
from ...support.random_world import ROOT_NAME, random_world
from ...support.small_estate import FACTS, POLICIES, facts_of, files
from ..change.test_batches import state

NAMES = sorted([*(f"{name}.csv" for name in TABLES), *(f"{name}.jsonl" for name in NOTES), META])


def tables(directory: Path) -> dict[str, bytes]:
    return {name: content for name, content in files(directory).items() if name.split(".")[0] in TABLES}


@pytest.mark.parametrize("policy_name", POLICIES)
def test_dump_loaded_into_a_new_root_gives_the_same_root(tenant: Tenants, tmp_path: Path, policy_name: str) -> None:
    auth = tenant(policy_name, random_world(policy_name, random.Random(policy_name), 90), ROOT_NAME)
    dump(auth, tmp_path / "first")
    fresh = tenant(policy_name, root=ROOT_NAME)
    assert importer.load(fresh, tmp_path / "first").restored
    dump(fresh, tmp_path / "second")
    assert state(fresh) == state(auth)
    kept, again = files(tmp_path / "first"), files(tmp_path / "second")
    assert {name: content for name, content in kept.items() if name != META} == {
        name: content for name, content in again.items() if name != META
    }


@pytest.mark.parametrize("format_", ["csv", "jsonl", "parquet"])
def test_every_format_preserves_every_name(tenant: Tenants, tmp_path: Path, format_: Format) -> None:
    auth, fresh = tenant(given=FACTS), tenant()
    assert dump(auth, tmp_path / "kept", format_).revision == len(FACTS)
    assert importer.load(fresh, tmp_path / "kept").changed
    assert facts_of(fresh) == facts_of(auth)
    assert sum(map(len, facts_of(auth).values())) == len(FACTS)


def test_dump_overwrites_nothing(tenant: Tenants, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InvalidInput, match="new or empty"):
        dump(tenant(), tmp_path)
    assert files(tmp_path) == {"mine.txt": b"mine"}


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("file", "file exists and is not a folder"),
        ("file/kept", "file/kept cannot be created: .*/file is not a folder"),
        ("file/in/kept", "file/in/kept cannot be created: .*/file is not a folder"),
    ],
)
def test_file_in_the_place_of_a_folder_is_named(tmp_path: Path, name: str, told: str) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InvalidInput, match=f"{told}; name another folder"), filling(tmp_path / name):
        pass
    assert files(tmp_path) == {"file": b"mine"}


def test_name_that_is_too_long_is_an_error(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 300)
    with (
        pytest.raises(InvalidInput, match=r"x cannot be created \(File name too long\); name another folder"),
        filling(folder),
    ):
        pass
    with pytest.raises(InvalidInput, match=r"cannot be read \(File name too long\); check the path"):
        read_meta(folder)


@pytest.mark.parametrize("umask", [0o000, 0o077, 0o177])
def test_dump_is_closed_to_other_users(tenant: Tenants, tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        dump(tenant(given=FACTS), tmp_path / "kept")
    finally:
        os.umask(before)
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o700
    assert {file.name: file.stat().st_mode & 0o777 for file in (tmp_path / "kept").iterdir()} == dict.fromkeys(
        NAMES, 0o600
    )


def test_failed_dump_leaves_nothing(tenant: Tenants, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    auth, empty = tenant(given=FACTS), tmp_path / "empty"
    empty.mkdir()
    add = Writer.add

    def fails(self: Writer, row: Sequence[str]) -> None:
        add(self, row)
        if self.name == "members.csv":
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(Writer, "add", fails)
    for folder in (empty, tmp_path / "new"):
        with pytest.raises(InvalidInput, match="cannot be written: No space left on device"):
            dump(auth, folder)
    assert [file.name for file in tmp_path.rglob("*")] == ["empty"]


def test_unfinished_dump_is_not_loaded(tenant: Tenants, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another dump does not write into the folder, either."""
    auth, seen, finish = tenant(given=FACTS), [], Writer.finish

    def looking(self: Writer) -> str:
        digest = finish(self)
        with pytest.raises(InvalidInput, match="contains an unfinished dump"):
            importer.load(auth, tmp_path / "kept", replace=True)
        with pytest.raises(InvalidInput, match="new or empty"):
            dump(auth, tmp_path / "kept")
        seen.append(self.name)
        return digest

    monkeypatch.setattr(Writer, "finish", looking)
    dump(auth, tmp_path / "kept")
    assert seen == [f"{name}.csv" for name in TABLES]
    assert sorted(files(tmp_path / "kept")) == NAMES
    assert not importer.load(auth, tmp_path / "kept", replace=True).changed


class Disturbed:
    """A store in which a change disturbs the first `times` reads of a root."""

    def __init__(self, auth: Authorizer, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = times
        read_all = Store.read_all

        def changing(store: Store, *asked: object) -> Iterator[object]:
            if self.left and "CHILD_OF" not in str(asked) and "entity" in str(asked):
                self.left -= 1
                auth.change(f"add user:u{uuid.uuid4().hex}")
            yield from read_all(store, *asked)  # type: ignore[arg-type]

        monkeypatch.setattr(Store, "read_all", changing)


def test_dump_has_one_revision(tenant: Tenants, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    auth = tenant(given=FACTS)
    Disturbed(auth, 1, monkeypatch)
    assert dump(auth, tmp_path / "kept").revision == len(FACTS) + 1 == auth.revision_now()
    Disturbed(auth, 100, monkeypatch)
    with pytest.raises(Inconsistent, match="changed during each of 5 tries"):
        dump(auth, tmp_path / "never")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["kept"]


def test_reads_of_a_whole_root_have_no_time_limit(
    tenant: Tenants, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dump and the sizes of a root use the timeout only for queries about the marks."""
    auth, limited = tenant(given=FACTS), list[str]()
    ask_once = Store._ask_once

    def noted(store: Store, text: str, *given: Any) -> Any:
        limited.append(text)
        return ask_once(store, text, *given)

    monkeypatch.setattr(Store, "_ask_once", noted)
    dump(auth, tmp_path / "kept")
    registry.sizes(auth.store, auth.tenant)
    assert limited and {text.split(":")[0] for text in limited} == {"// revision.cypher"}
