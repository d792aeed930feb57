"""The home, the ports and the memory of a server, without starting one."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from grantpath.graph.embedded import process
from grantpath.graph.embedded.home import Record, ServerHome, server_home
from grantpath.graph.embedded.server import down, status, up
from grantpath.graph.errors import InvalidInput, ServerError


def silent(line: str) -> None:
    """Ignores the progress of a start."""


def test_used_port_is_named_and_another_one_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where = server_home("5.26", tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as bolt, socket.create_server(("127.0.0.1", 0)) as http:
        taken = Record(bolt.getsockname()[1], http.getsockname()[1])
        monkeypatch.setattr(process, "USUAL", taken)
        ports, notes = process.choose_ports(where)
        assert not {ports.bolt, ports.http} & {taken.bolt, taken.http}
        who = psutil.Process().name()
        assert notes[0] == f"port {taken.bolt} is in use by {who} (pid {os.getpid()}); using {ports.bolt}"
        where.create()
        where.remember(ports)
        assert process.choose_ports(where)[0] == ports
    assert process.choose_ports(where) == (taken, [])


def test_variables_choose_home_and_version(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("GRANTPATH_HOME", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    assert status().home == tmp_path / "share" / "grantpath" / "5.26"
    monkeypatch.setenv("GRANTPATH_NEO4J", "2026")
    monkeypatch.setenv("GRANTPATH_HOME", str(tmp_path / "mine"))
    assert status().home == tmp_path / "mine" / "2026"
    assert status("5.26", tmp_path).home == tmp_path / "5.26"
    assert not (tmp_path / "mine").exists() and down() is False
    with pytest.raises(InvalidInput, match=r"Neo4j '4\.4' is not supported; choose one of 5\.26, 2026"):
        up("4.4")


@pytest.mark.parametrize("value", ["lots", "1", "-1g", "1g -Dx"])
def test_invalid_memory_size_is_refused(value: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GRANTPATH_PAGECACHE", value)
    with pytest.raises(
        InvalidInput, match=r"GRANTPATH_PAGECACHE=.* is not a memory size; write a number and a unit, e.g. 512m"
    ):
        up(home=tmp_path, progress=silent)


def test_home_that_cannot_be_created_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ServerError, match=r"cannot be used for the server's data .*GRANTPATH_HOME"):
        up(home=tmp_path / "file")
    with pytest.raises(ServerError, match=r"cannot be used .*file is not a folder.*GRANTPATH_HOME"):
        status(home=tmp_path / "file" / "below")
    assert status(home=tmp_path / "to" / "be" / "made").running is False


def test_process_of_another_user_is_not_mistaken_for_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = ServerHome(tmp_path, "5.26")
    sleeping = [sys.executable, "-c", "import time; time.sleep(60)"]
    with subprocess.Popen([*sleeping, *where.arguments]) as decoy:
        try:
            assert process.find(where) == decoy.pid  # only the command line counts
            uids = psutil.Process.uids
            other = os.getuid() + 1
            monkeypatch.setattr(
                psutil.Process, "uids", lambda self: uids(self)._replace(real=other if self.pid == decoy.pid else 0)
            )
            assert process.find(where) is None
        finally:
            decoy.kill()
