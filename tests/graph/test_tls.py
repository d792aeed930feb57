"""TLS: the address turns it on, certificates are verified, an authority can be named, errors name the remedy."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from grantpath.engine import Authorizer, InvalidInput, Unavailable
from grantpath.graph.client.connection import Connection
from grantpath.graph.client.driver import in_words
from grantpath.graph.embedded.connect import connection
from grantpath.graph.guard.store import Store

from ..support.tls_server import TlsServer

pytestmark = [pytest.mark.crash, pytest.mark.slow]
Opened = Callable[..., Authorizer]


@pytest.fixture
def opened(tls: TlsServer) -> Iterator[Opened]:
    """Opens the root of these tests at an address with this scheme."""
    made: list[Authorizer] = []

    def open_(scheme: str, **options: Any) -> Authorizer:
        login = (tls.user, tls.password)
        made.append(
            Authorizer.open("metalake:tls", "gravitino", tls.uri(scheme), 30, create=True, auth=login, **options)
        )
        return made[-1]

    yield open_
    for each in made:
        each.close()


@pytest.mark.parametrize("scheme", ["bolt+s", "neo4j+s"])
def test_right_authority_verifies_server(tls: TlsServer, opened: Opened, scheme: str) -> None:
    auth = opened(scheme, ca=str(tls.ca))
    auth.change_all(["add user:bob", "add user:eve", "drop user:eve"])
    assert not auth.check("user:bob", "USE_CATALOG", "metalake:tls")
    auth.change("drop user:bob")


def test_variable_names_authority(tls: TlsServer, opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEO4J_CA", str(tls.ca))
    opened("bolt+s").revision_now()
    assert connection("bolt://x", ("neo4j", "p")).ca is None, "an address without TLS needs none"
    assert connection("bolt+s://x", ("neo4j", "p"), "/other").ca == "/other", "the argument comes first"


def test_ssc_encrypts_without_verifying(opened: Opened) -> None:
    opened("bolt+ssc").revision_now()
    opened("neo4j+ssc").revision_now()


@pytest.mark.parametrize("scheme", ["bolt+s", "neo4j+s"])
def test_unknown_authority_is_named_with_the_remedy(opened: Opened, scheme: str) -> None:
    with pytest.raises(Unavailable, match=r"certificate is not trusted: unable to get local issuer .*ca= or NEO4J_CA"):
        opened(scheme)


def test_another_authority_is_not_trusted(tls: TlsServer, opened: Opened) -> None:
    """A valid certificate of another authority does not help: it has not signed the server's."""
    with pytest.raises(Unavailable, match="certificate is not trusted"):
        opened("bolt+s", ca=str(other_authority(tls.ca.parent)))


def other_authority(folder: Path) -> Path:
    from ..support.tls_server import certificates

    (folder / "other").mkdir(exist_ok=True)
    return certificates(folder / "other")


def test_certificate_for_another_name_is_refused(tls: TlsServer) -> None:
    uri = f"bolt+s://localhost:{tls.address.partition(':')[2]}"
    with pytest.raises(
        Unavailable, match=r"not trusted: Hostname mismatch.*; write the host name that the certificate has"
    ):
        Authorizer.open("metalake:tls", "gravitino", uri, auth=(tls.user, tls.password), ca=str(tls.ca))


@pytest.mark.parametrize("scheme", ["bolt", "neo4j"])
def test_plain_address_of_tls_server_names_the_remedy(opened: Opened, scheme: str) -> None:
    with pytest.raises(Unavailable, match=rf"^{scheme}://.*requires TLS: then write bolt\+s:// or neo4j\+s://"):
        opened(scheme)


def test_tls_address_of_plain_server_names_the_remedy(server: Connection) -> None:
    uri = f"bolt+s://{server.uri.partition('//')[2]}"
    with pytest.raises(Unavailable, match=r"does not answer with TLS; .*: then write bolt:// or neo4j://"):
        Authorizer.open("metalake:tls", "gravitino", uri, auth=(server.user, server.password))


@pytest.mark.parametrize(
    ("uri", "text", "message"),
    [
        ("bolt://x", "", r"does not verify certificates; write bolt\+s://"),
        ("bolt+ssc://x", "", r"does not verify certificates; write bolt\+s://"),
        ("bolt+s://x", "no certificate", "it contains no certificate in PEM format; name a file"),
        ("bolt+s://x", None, "No such file or directory; name a file of PEM certificates"),
    ],
)
def test_wrong_ca_is_refused_at_once(tmp_path: Path, uri: str, text: str | None, message: str) -> None:
    file = tmp_path / "ca.pem"
    if text is not None:
        file.write_text(text)
    with pytest.raises(InvalidInput, match=message):
        Store(Connection(uri, "neo4j", "p", ca=str(file)))


def test_other_failures_keep_their_messages() -> None:
    assert "cannot be reached" in str(in_words("bolt+s://x", OSError("refused")))


def test_command_line_and_mirror_take_the_same_address(tls: TlsServer, opened: Opened, tmp_path: Path) -> None:
    opened("bolt+s", ca=str(tls.ca))
    variables = {
        "NEO4J_URI": tls.uri("bolt+s"),
        "NEO4J_USER": tls.user,
        "NEO4J_PASSWORD": tls.password,
        "NEO4J_CA": str(tls.ca),
        "HOME": str(tmp_path),
    }
    reading = "from grantpath.spark_sync.mirroring.mirror import read; "
    reading += "from grantpath.graph.embedded.connect import connection; "
    reading += "print(read(connection(), 'metalake:tls', print)[1].name)"
    for command, printed in (("-m grantpath.engine.cli roots", "metalake:tls"), (f"-c {reading}", "gravitino")):
        words = command.split(" ", 1 if command.startswith("-c") else -1)
        ran = subprocess.run([sys.executable, *words], env=variables, capture_output=True, text=True)
        assert printed in ran.stdout, ran.stderr
