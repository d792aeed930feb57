"""The timeout: it has one meaning, also on the command line, and does not limit reads of whole roots."""

import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from grantpath.engine import Unavailable
from grantpath.engine.cli.main import main
from grantpath.graph.client.connection import Connection
from grantpath.graph.guard.store import Store

from ..conftest import Tenants

SLOW = "UNWIND range(1, $rows) AS row RETURN row, reduce(sum = 0, each IN range(1, 2000) | sum + each) AS sum"


@pytest.fixture
def impatient(server: Connection) -> Iterator[Store]:
    opened = Store(server, timeout=1.0)
    yield opened
    opened.close()


@pytest.mark.slow
def test_read_of_a_whole_root_may_exceed_the_timeout(impatient: Store) -> None:
    rows, seconds = 2_000, 0.0
    while seconds < 3:  # enough rows for three times the timeout
        rows *= 2
        began = time.monotonic()
        assert sum(1 for _ in impatient.read_all(SLOW, {"rows": rows})) == rows
        seconds = time.monotonic() - began
    with pytest.raises(Unavailable, match="did not answer"):
        impatient.read(SLOW, {"rows": rows})


def test_unfinished_read_of_a_whole_root_blocks_no_caller(server: Connection) -> None:
    with closing(Store(server, timeout=20.0)) as opened:
        for _ in range(3):
            assert next(opened.read_all("UNWIND range(1, 100000000) AS row RETURN row", {}))["row"] == 1
        assert opened.read("RETURN 1 AS one", {}) == [{"one": 1}]


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "90000"])
def test_timeout_option_must_be_a_time(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--timeout", seconds, "roots"], ["roots", "--timeout", seconds], ["log", "--timeout", seconds]):
        assert main(words) == 2
        assert f"--timeout={float(seconds)}" in capsys.readouterr().err


def test_timeout_option_sets_the_timeout_of_the_store(
    tenant: Tenants, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tenant()
    given: list[float] = []
    init = Store.__init__

    def noted(self: Store, connection: Connection, timeout: float = 0.0, **options: bool) -> None:
        given.append(timeout)
        init(self, connection, timeout, **options)

    monkeypatch.setattr(Store, "__init__", noted)
    for words in (["roots", "--timeout", "33"], ["--timeout", "33", "roots"], ["roots", "list", "--timeout", "33"]):
        assert main([*words, "--json"]) == 0
    assert given == [33.0] * 3 and "error" not in capsys.readouterr().err
