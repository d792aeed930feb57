"""The demo removes only roots and folders that a demo created, and uses other servers only with consent."""

import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from grantpath.engine import Authorizer, GrantpathError
from grantpath.engine.cli.admin import demo_data, demo_story
from grantpath.engine.tenants import registry
from grantpath.graph.client.connection import Connection
from grantpath.graph.guard.store import Store

from ...support.command_line import Run, run

__all__ = ["run"]
META = (
    '{{"root": "{root}", "revision": 1, "policy": "gravitino", "policy_digest": "x", "closed_by": "joins",'
    ' "created": "2026-01-01T00:00:00+00:00", "counts": {{}}}}'
)


class Stopped(GrantpathError):
    """The demo has reached its first part."""


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch, store: Store) -> Iterator[list[str]]:
    """The test's own names for the demo's roots; the demo stops after it has created them."""
    made = [f"metalake:demo_{uuid.uuid4().hex[:8]}" for _ in range(2)]
    monkeypatch.setattr(demo_story, "ROOT", made[0])
    monkeypatch.setattr(demo_data, "ROOT", made[1])

    def stop(authorizer: Authorizer, *_: object) -> None:
        demo_story.mark(authorizer)
        raise Stopped("stopped")

    monkeypatch.setattr(demo_story, "worked_example", stop)
    yield made
    for name in made:
        registry.remove(store, name)


def test_demo_does_not_touch_a_root_that_it_did_not_create(
    run: Run, names: list[str], server: Connection, store: Store, tmp_path: Path
) -> None:
    words = ["demo", "--yes", "--out", str(tmp_path / "out")]
    with Authorizer.open(names[1], "lakehouse", server.uri, create=True) as mine:
        mine.change("add catalog:precious")
    ran = run(*words)
    assert (ran.code, ran.out) == (2, "")
    assert f"{names[1]} exists, and no demo created it" in ran.err
    assert names[0] not in registry.names(store)
    with Authorizer.open(names[1], uri=server.uri) as mine:
        assert mine.revision_now() == 1
    assert run("roots", "drop", names[1], "--yes").code == 0
    assert "stopped" in run(*words).err  # now it makes both
    assert "stopped" in run(*words).err  # and creates them again: one has the mark, one is empty
    with Authorizer.open(names[0], uri=server.uri) as made:
        assert made.log(limit=1)[0].id == demo_story.MARK


def test_an_external_server_is_used_only_with_consent(
    run: Run, names: list[str], server: Connection, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = SimpleNamespace(status=lambda *named: SimpleNamespace(uri=None, home=tmp_path))  # none runs
    monkeypatch.setattr("grantpath.graph.embedded.server.status", elsewhere.status)
    for name, value in (("URI", server.uri), ("USER", server.user), ("PASSWORD", server.password)):
        monkeypatch.setenv(f"NEO4J_{name}", value)
    ran = run("demo", "--out", str(tmp_path / "out"))
    assert (ran.code, ran.out) == (2, "")
    assert f"on {server.uri}, and removes those of the last demo; confirm it with --yes" in ran.err
    assert not {*names} & {*registry.names(store)}


@pytest.mark.parametrize("spoil", ["of another root", "with a file", "with a link", "a link", "no snapshot", "a file"])
def test_demo_does_not_touch_a_folder_that_it_did_not_create(
    run: Run, names: list[str], tmp_path: Path, spoil: str
) -> None:
    real = tmp_path / "real"
    real.mkdir()
    root = "metalake:mine" if spoil == "of another root" else names[1]
    (real / "meta.json").write_text(META.format(root=root))
    (real / "objects").mkdir()
    (real / "objects" / "part-00000.parquet").write_bytes(b"")
    target = real
    if spoil == "with a file":
        (real / "access").mkdir()
        (real / "access" / "notes.txt").write_text("mine")
    elif spoil == "with a link":
        os.symlink("/etc/hostname", real / "x.parquet")
    elif spoil == "a link":
        target = tmp_path / "link"
        target.symlink_to(real)
    elif spoil == "no snapshot":
        (real / "meta.json").write_text("{}")
    elif spoil == "a file":
        target = tmp_path / "file"
        target.write_text("mine")
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    ran = run("demo", "--yes", "--out", str(target))
    assert (ran.code, ran.out) == (2, "")
    assert "with --out" in ran.err
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before


def test_a_snapshot_of_the_last_demo_is_replaced(run: Run, names: list[str], tmp_path: Path) -> None:
    target = tmp_path / "out"
    (target / "closure").mkdir(parents=True)
    (target / "meta.json").write_text(META.format(root=names[1]))
    for name in (
        "objects.parquet",
        "closure/_SUCCESS",
        "closure/part-0.snappy.parquet",
        "closure/.part-0.crc",
        "policy.json",
    ):
        (target / name).write_bytes(b"")
    assert "stopped" in run("demo", "--yes", "--out", str(target)).err
    assert not target.exists()
