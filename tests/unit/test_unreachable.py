"""A server that cannot be reached, or is not a Neo4j server: the error says what is wrong, and what to do."""

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from neo4j.exceptions import Neo4jError

from grantpath.engine import Authorizer, Unavailable
from grantpath.graph.client.driver import in_words

from ..support.command_line import Run, run
from ..support.tls_server import certificates

__all__ = ["run"]
TIMEOUT = 0.5  # seconds
Answer = Callable[[socket.socket], None]


def silent(client: socket.socket) -> None:
    client.recv(1)
    time.sleep(3 * TIMEOUT)


def http(client: socket.socket) -> None:
    client.recv(100)
    client.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")


def ssh(client: socket.socket) -> None:
    client.recv(100)
    client.sendall(b"SSH-2.0-OpenSSH\r\n")


def closing(client: socket.socket) -> None:
    client.recv(100)


def with_tls(folder: Path, after: Answer) -> Answer:
    """A server on 127.0.0.1. The client does not trust the authority that signed its certificate."""
    certificates(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.crt", folder / "server.key")

    def answer(client: socket.socket) -> None:
        with context.wrap_socket(client, server_side=True) as secure:
            after(secure)

    return answer


@pytest.fixture
def listening() -> Iterator[Callable[[Answer], str]]:
    """Starts a listener that answers each connection; returns its host and port."""
    sockets: list[socket.socket] = []

    def start(answer: Answer) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        sockets.append(listener)

        def one(client: socket.socket) -> None:
            with client, suppress(OSError):
                answer(client)

        def serve() -> None:
            with suppress(OSError):
                while True:
                    threading.Thread(target=one, args=(listener.accept()[0],), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        return f"127.0.0.1:{listener.getsockname()[1]}"

    yield start
    for each in sockets:
        each.shutdown(socket.SHUT_RDWR)
        each.close()


def opened(uri: str, timeout: float = TIMEOUT) -> None:
    Authorizer.open("metalake:ml", "gravitino", uri, timeout, auth=("neo4j", "x")).close()


def patiently(uri: str) -> None:
    """For servers that answer: a busy machine may take longer for a handshake than a test should wait for nothing."""
    opened(uri, 30.0)


SCHEMES = pytest.mark.parametrize("scheme", ["bolt", "neo4j", "bolt+s", "neo4j+s"])


def told(open_: Callable[[str], None], uri: str) -> str:
    with pytest.raises(Unavailable) as raised:
        open_(uri)
    text = str(raised.value)
    assert text.startswith(uri) and "\n" not in text
    return text.removeprefix(uri)


@SCHEMES
def test_refused_connection(scheme: str) -> None:
    text = told(opened, f"{scheme}://127.0.0.1:1")
    assert text == (
        " cannot be reached: nothing accepts connections on this port; start the server there, or check the address;"
        " without an address, grantpath uses its embedded server"
    )


def test_embedded_server_is_named_only_for_this_machine() -> None:
    error = ConnectionRefusedError(111, "Connection refused")
    assert str(in_words("neo4j+s://db.example.com", error)).endswith("; start the server there, or check the address")


@SCHEMES
def test_unknown_host(scheme: str) -> None:
    text = told(opened, f"{scheme}://nonexistent.invalid:7687")
    assert text.startswith(" cannot be reached: the host name cannot be resolved (")
    assert text.endswith("; check its spelling, and the DNS of this machine")


@SCHEMES
def test_silent_server(listening: Callable[[Answer], str], scheme: str) -> None:
    text = told(opened, f"{scheme}://{listening(silent)}")
    assert text.startswith(
        ": the server accepted the connection, but did not answer in time; it hangs or is overloaded"
    )
    assert ("or its TLS is off: then write bolt://" in text) == scheme.endswith("+s")
    assert ("or it requires TLS: then write bolt+s://" in text) == (not scheme.endswith("+s"))


def test_host_that_does_not_answer_the_connection() -> None:
    """The queue of the listener is full, so the system drops the connection, as a firewall does."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        address, waiting = listener.getsockname(), [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(address)
        text = told(opened, f"bolt://127.0.0.1:{address[1]}")
        for each in waiting:
            each.close()
    assert text.startswith(
        " cannot be reached: the host did not answer the connection in time; check the host and the "
    )


@pytest.mark.parametrize("scheme", ["bolt", "neo4j"])
def test_other_protocols(listening: Callable[[Answer], str], scheme: str) -> None:
    assert told(patiently, f"{scheme}://{listening(http)}") == (
        ": this port speaks HTTP, not Bolt; write its Bolt port, usually 7687"
    )
    assert told(patiently, f"{scheme}://{listening(ssh)}").startswith(
        ": the server does not answer in a version of Bolt that the driver knows; write its Bolt port, usually 7687"
    )
    assert told(patiently, f"{scheme}://{listening(closing)}").startswith(
        ": the server closed the connection at once; "
    )


@pytest.mark.parametrize("scheme", ["bolt+s", "neo4j+s"])
@pytest.mark.parametrize("answer", [http, closing])
def test_server_without_tls(listening: Callable[[Answer], str], scheme: str, answer: Answer) -> None:
    text = told(patiently, f"{scheme}://{listening(answer)}")
    assert text.startswith(
        ": the server does not answer with TLS; it is starting or stopping, or this is not its Bolt "
    )
    assert "or its TLS is off: then write bolt:// or neo4j://" in text


@pytest.mark.parametrize("scheme", ["bolt+s", "neo4j+s"])
def test_untrusted_certificate(listening: Callable[[Answer], str], scheme: str, tmp_path: Path) -> None:
    text = told(patiently, f"{scheme}://{listening(with_tls(tmp_path, silent))}")
    assert text.startswith(
        ": the server's certificate is not trusted: unable to get local issuer certificate; name the "
    )


def test_https_is_not_bolt(listening: Callable[[Answer], str], tmp_path: Path) -> None:
    text = told(patiently, f"bolt+ssc://{listening(with_tls(tmp_path, http))}")
    assert text == ": this port speaks HTTP, not Bolt; write its Bolt port, usually 7687"


def test_server_with_tls_at_a_plain_address(listening: Callable[[Answer], str], tmp_path: Path) -> None:
    text = told(opened, f"bolt://{listening(with_tls(tmp_path, silent))}")
    assert text.endswith("or it requires TLS: then write bolt+s:// or neo4j+s://")


@pytest.mark.parametrize(
    ("says", "remedy"),
    [
        ("self-signed certificate", "name the file of the authority that signed it with ca= or NEO4J_CA"),
        ("certificate has expired", "renew it on the server"),
        ("Hostname mismatch, certificate is not valid for 'x'.", "write the host name that the certificate has"),
    ],
)
def test_certificate_that_is_not_trusted_has_its_remedy(says: str, remedy: str) -> None:
    error = ssl.SSLCertVerificationError(1, "failed")
    error.verify_message = says
    assert f"not trusted: {says.rstrip('.')}; {remedy}" in str(in_words("bolt+s://x", error))


def test_command_says_it_in_one_line(
    run: Run, listening: Callable[[Answer], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEO4J_PASSWORD", "x")
    for uri, says in (
        ("neo4j+s://nonexistent.invalid", "cannot be resolved"),
        (f"neo4j://{listening(http)}", "speaks HTTP"),
    ):
        for words in (("roots",), ("check", "user:bob", "load_table", "table:a.b.c", "--root", "metalake:ml")):
            ran = run(*words, "--uri", uri)
            assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1), ran
            assert ran.err.startswith(f"error: {uri}") and says in ran.err


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        ("TransactionTimedOut", "db.transaction.timeout of the server"),
        ("TransactionTimedOutClientConfiguration", "--"),
    ],
)
def test_query_that_takes_too_long_names_the_limit_that_ended_it(code: str, remedy: str) -> None:
    error = Neo4jError._hydrate_neo4j(code=f"Neo.ClientError.Transaction.{code}", message="The transaction has been")
    says = str(in_words("bolt://db.example.com", error))
    assert "did not answer within the timeout; ask again, or with a longer one (" in says and remedy in says
