"""An embedded server that is killed or silent, or whose port another process has taken."""

import os
import signal
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from neo4j.exceptions import ServiceUnavailable

from grantpath.graph.embedded import process, server
from grantpath.graph.embedded.home import Record, ServerHome
from grantpath.graph.embedded.server import down, up
from grantpath.graph.errors import ServerError

from ..support.suspended import suspend
from .test_server import listeners, login, silent, small_heap

__all__ = ["small_heap"]


@pytest.fixture
def other_home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    down(home=tmp_path)


@pytest.mark.crash
@pytest.mark.slow
def test_killed_server_comes_back_with_its_data(other_home: Path) -> None:
    first = up(home=other_home, progress=silent)
    with login(first) as driver:
        driver.execute_query("CREATE (:Kept)")
    assert first.pid
    os.kill(first.pid, signal.SIGKILL)
    second = up(home=other_home, progress=silent)
    assert second.pid != first.pid
    with login(second) as driver:
        assert driver.execute_query("MATCH (k:Kept) RETURN count(*) AS n").records[0]["n"] == 1


@pytest.mark.crash
@pytest.mark.slow
def test_silent_server_is_reported_in_time(other_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = up(home=other_home, progress=silent)
    assert found.pid
    with login(found) as driver:
        driver.verify_connectivity()
        suspend(found.pid)
        try:
            began = time.monotonic()
            with driver.session() as session, pytest.raises(ServiceUnavailable):
                session.run("RETURN 1").consume()
            assert 4 < time.monotonic() - began < 60
            monkeypatch.setattr(server, "ANSWER_SECONDS", 1.0)
            with pytest.raises(ServerError, match=r"is running but has not answered for 1 s.*grantpath down"):
                up(home=other_home)
        finally:
            os.kill(found.pid, signal.SIGCONT)
    suspend(found.pid)
    assert down(home=other_home) is True


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.parametrize("port", ["bolt", "http"])
def test_server_starts_on_another_port_if_one_is_taken_meanwhile(
    other_home: Path, monkeypatch: pytest.MonkeyPatch, port: str
) -> None:
    """And the password is not sent to the process that took it."""
    choose, chosen = process.choose_ports, []
    with socket.create_server(("127.0.0.1", 0)) as thief:
        thief.setblocking(False)

        def choose_taken(home: ServerHome) -> tuple[Record, list[str]]:
            ports, notes = choose(home)
            chosen.append(ports)
            taken = replace(ports, **{port: thief.getsockname()[1]})
            return (taken, notes) if len(chosen) == 1 else (ports, notes)

        monkeypatch.setattr(process, "choose_ports", choose_taken)
        found = up(home=other_home, progress=silent)
        assert found.uri == f"bolt://127.0.0.1:{chosen[1].bolt}"
        with pytest.raises(BlockingIOError):
            thief.accept()


@pytest.mark.newest
@pytest.mark.slow
def test_newest_neo4j_starts_and_stops(other_home: Path) -> None:
    found = up("2026", home=other_home, progress=silent)
    assert found.version.startswith("2026.") and found.home == other_home / "2026" and found.pid
    assert {address.removeprefix("::ffff:") for address, _ in listeners(found.pid)} == {"127.0.0.1"}
    with login(found) as driver:
        versions = driver.execute_query("CALL dbms.components() YIELD versions")
    assert versions.records[0]["versions"] == [found.version]
    assert down("2026", home=other_home) is True


def test_failed_start_gives_the_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRANTPATH_HEAP", "900000g")
    with pytest.raises(ServerError, match=r"ended while starting: .*GRANTPATH_HEAP.*logs are in") as caught:
        up(home=tmp_path, progress=silent)
    assert "\n" not in str(caught.value)


def test_lost_password_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "5.26" / "data" / "databases").mkdir(parents=True)
    with pytest.raises(ServerError, match=r"password is missing or empty.*restore the file, or delete"):
        up(home=tmp_path, progress=silent)
