"""The timeout: one meaning, also on the command line; what reads a whole root has no limit in all."""

import time
from collections.abc import Iterator

import pytest

from grantpath.engine import Unavailable
from grantpath.engine.cli.main import main
from grantpath.graph.connection import Connection
from grantpath.graph.store import Store

from ..conftest import Tenants

SLOW = "UNWIND range(1, $rows) AS row RETURN row, reduce(sum = 0, each IN range(1, 2000) | sum + each) AS sum"


@pytest.fixture
def impatient(server: Connection) -> Iterator[Store]:
    opened = Store(server, timeout=1.0)
    yield opened
    opened.close()


def test_reading_a_whole_root_takes_as_long_as_rows_come(impatient: Store) -> None:
    rows, seconds = 2_000, 0.0
    while seconds < 3:  # as many as take three times the timeout
        rows *= 2
        began = time.monotonic()
        assert sum(1 for _ in impatient.read_all(SLOW, {"rows": rows})) == rows
        seconds = time.monotonic() - began
    with pytest.raises(Unavailable, match="did not answer"):
        impatient.read(SLOW, {"rows": rows})


def test_whole_root_that_is_not_read_to_its_end_keeps_nobody_waiting(impatient: Store) -> None:
    for _ in range(3):
        assert next(impatient.read_all("UNWIND range(1, 100000000) AS row RETURN row", {}))["row"] == 1
    assert impatient.read("RETURN 1 AS one", {}) == [{"one": 1}]


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "90000"])
def test_timeout_of_the_command_line_is_a_time(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--timeout", seconds, "roots"], ["roots", "--timeout", seconds], ["log", "--timeout", seconds]):
        assert main(words) == 2
        assert f"--timeout={float(seconds)}" in capsys.readouterr().err


def test_timeout_of_the_command_line_is_that_of_the_store(
    tenant: Tenants, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tenant()
    given: list[float] = []
    init = Store.__init__

    def noted(self: Store, connection: Connection, timeout: float = 0.0) -> None:
        given.append(timeout)
        init(self, connection, timeout)

    monkeypatch.setattr(Store, "__init__", noted)
    for words in (["roots", "--timeout", "33"], ["--timeout", "33", "roots"], ["roots", "list", "--timeout", "33"]):
        assert main([*words, "--json"]) == 0
    assert given == [33.0] * 3 and "error" not in capsys.readouterr().err
