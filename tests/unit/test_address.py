"""Addresses of servers: the accepted ones, and that no message shows a login inside an address."""

import pytest

from grantpath.engine import Authorizer, Unavailable
from grantpath.engine.cli.main import main
from grantpath.graph.client.address import SCHEMES, require_address, shown
from grantpath.graph.client.connection import Connection
from grantpath.graph.client.driver import in_words
from grantpath.graph.embedded.connect import connection
from grantpath.graph.guard.store import Store


@pytest.mark.parametrize("scheme", SCHEMES)
def test_each_scheme_of_neo4j_is_accepted(scheme: str) -> None:
    require_address(f"{scheme}://db.example.com:7687")


@pytest.mark.parametrize(
    "address",
    ["http://127.0.0.1:7474", "https://127.0.0.1", "localhost:7687", "bolt://", "bolt://[::1", "bolt://h:x", "bolt:h"],
)
def test_invalid_address_is_refused_with_the_valid_schemes(
    address: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NEO4J_PASSWORD", "s3cret")
    for ask in (lambda: connection(address), lambda: Store(Connection(address, "neo4j", "s3cret"))):
        with pytest.raises(Unavailable, match=r"is not an address of a Neo4j server: write bolt://HOST:7687") as raised:
            ask()
        assert "bolt+s://" in str(raised.value) and "bolt+ssc://" in str(raised.value)
    assert main(["check", "user:bob", "read", "file:x", "--root", "metalake:ml", "--uri", address]) == 2
    assert "is not an address of a Neo4j server" in capsys.readouterr().err


LOGINS = ["bolt://bob:s3cret@db:7687", "neo4j+s://bob:a@s3cret@db/x", "bolt://s3cret:p/w@db", "bob:s3cret@db"]


@pytest.mark.parametrize("address", LOGINS)
def test_no_message_shows_the_login_in_an_address(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEO4J_URI", address)
    monkeypatch.delenv("NEO4J_PASSWORD", raising=False)
    texts = [shown(address), repr(Connection(address, "neo4j", "s3cret")), str(in_words(address, OSError("gone")))]
    for ask in (
        connection,
        lambda: Authorizer.open("metalake:ml"),
        lambda: Store(Connection(address, "bob", "s3cret")),
    ):
        with pytest.raises(Unavailable, match="set NEO4J_USER and NEO4J_PASSWORD instead") as raised:
            ask()
        texts.append(str(raised.value))
    assert [text for text in texts if "s3cret" in text or "bob" in text] == []
    assert all("db" in text for text in texts)
