"""An embedded server that only accepts TLS, with a generated certificate and its own logins."""

import datetime
import ipaddress
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import neo4j
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from grantpath.graph.embedded import home as server_home
from grantpath.graph.embedded import process
from grantpath.graph.embedded import server as embedded
from grantpath.graph.embedded.home import Record

from .own_server import free_port

TLS = """\
dbms.ssl.policy.bolt.enabled=true
dbms.ssl.policy.bolt.base_directory={folder}
dbms.ssl.policy.bolt.private_key=server.key
dbms.ssl.policy.bolt.public_certificate=server.crt
dbms.ssl.policy.bolt.client_auth=NONE
server.bolt.tls_level=REQUIRED
dbms.security.auth_lock_time=1s
"""


@dataclass(frozen=True)
class TlsServer:
    """The address without a scheme, the login, and the file of the authority that signed the certificate."""

    address: str
    user: str
    password: str
    ca: Path

    def uri(self, scheme: str) -> str:
        return f"{scheme}://{self.address}"

    def driver(self) -> neo4j.Driver:
        """A driver for administrative queries."""
        return neo4j.GraphDatabase.driver(self.uri("bolt+ssc"), auth=(self.user, self.password))


@contextmanager
def tls_server(folder: Path) -> Iterator[TlsServer]:
    """Starts the server with TLS, and stops it at the end. No variable names it: tests pass its address."""
    home, ca = folder / "home", certificates(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRANTPATH_HEAP", "384m")
        patch.setenv("GRANTPATH_PAGECACHE", "64m")
        patch.setattr(process, "USUAL", Record(free_port(), free_port()))
        settings = server_home.SETTINGS.replace("auth_max_failed_attempts=0", "auth_max_failed_attempts=3")
        patch.setattr(server_home, "SETTINGS", settings + TLS.format(folder=folder))
        patch.setattr(embedded, "_uri", lambda record: f"bolt+ssc://127.0.0.1:{record.bolt}")
        running = embedded.up(home=home, progress=lambda line: None)
    assert running.uri and running.password_file
    try:
        yield TlsServer(running.uri.partition("//")[2], running.user, running.password_file.read_text().strip(), ca)
    finally:
        embedded.down(home=home)


def certificates(folder: Path) -> Path:
    """Writes server.key, server.crt and the file of the signing authority; returns that file."""
    authority, ca = _signed("an authority of the tests", None)
    key, certificate = _signed("grantpath tests", (authority, ca))
    (folder / "server.key").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    (folder / "server.crt").write_bytes(certificate.public_bytes(Encoding.PEM))
    file = folder / "ca.pem"
    file.write_bytes(ca.public_bytes(Encoding.PEM))
    return file


Signed = tuple[ec.EllipticCurvePrivateKey, x509.Certificate]


def _signed(name: str, by: Signed | None) -> Signed:
    """A key with its certificate; without an issuer, the certificate of an authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(by[1].subject if by else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=by is None, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    if by:
        names = [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(by[0].public_key())
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        builder = builder.add_extension(signer, critical=False)
    else:
        usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
        builder = builder.add_extension(usage, critical=True)
    return key, builder.sign(by[0] if by else key, hashes.SHA256())
