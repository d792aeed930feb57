"""Why a server cannot be reached, by the error of the driver: what is wrong, and what to do."""

import socket
import ssl
from collections.abc import Iterator
from urllib.parse import urlsplit

from grantpath.graph.client.tls import is_encrypted
from grantpath.graph.errors import Unavailable

_HERE = ("localhost", "127.0.0.1", "::1")
_BOLT_PORT = "write its Bolt port, usually 7687"
# The driver has no error types for these. Only its texts tell them, and the name of a class that it does not publish.
_HANDSHAKE, _HTTP, _CONNECTING, _ENCRYPTING = "handshake response", "looks like HTTP", "Timed out", "BoltSecurityError"


def unreachable(uri: str, error: BaseException) -> Unavailable:
    """The error for a server that could not be reached, did not answer as a Neo4j server, or was lost."""
    causes = list(_causes(error))
    texts = [str(cause) for cause in causes]
    encrypting = any(type(cause).__name__ == _ENCRYPTING for cause in causes)
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            reason = cause.verify_message.rstrip(".")
            return Unavailable(f"{uri}: the server's certificate is not trusted: {reason}; {_certificate(cause)}")
        if isinstance(cause, socket.gaierror):
            return Unavailable(
                f"{uri} cannot be reached: the host name cannot be resolved ({cause.strerror}); check its spelling, and"
                " the DNS of this machine"
            )
    if any(_HTTP in text for text in texts):
        return Unavailable(f"{uri}: this port speaks HTTP, not Bolt; {_BOLT_PORT}")
    if any(_CONNECTING in text for text in texts):
        return Unavailable(
            f"{uri} cannot be reached: the host did not answer the connection in time; check the host and the port, and"
            " the firewalls on the way"
        )
    waited = any(isinstance(cause, TimeoutError | ConnectionAbortedError) for cause in causes)
    if waited and (encrypting or any(_HANDSHAKE in text for text in texts)):
        return Unavailable(
            f"{uri}: the server accepted the connection, but did not answer in time; it hangs or is overloaded, or this"
            f" is not its Bolt port (usually 7687), or {_other_scheme(uri)}"
        )
    if encrypting or any(isinstance(cause, ssl.SSLError) for cause in causes):
        return Unavailable(
            f"{uri}: the server does not answer with TLS; it is starting or stopping, or this is not its Bolt port, or "
            f"{_other_scheme(uri)}"
        )
    if any(_HANDSHAKE in text for text in texts):
        return Unavailable(
            f"{uri}: the server closed the connection at once; it is starting or stopping, or this is not its Bolt"
            f" port, or {_other_scheme(uri)}"
        )
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        embedded = "; without an address, grantpath uses its embedded server" if urlsplit(uri).hostname in _HERE else ""
        return Unavailable(
            f"{uri} cannot be reached: nothing accepts connections on this port; start the server there, or check the"
            f" address{embedded}"
        )
    said = next((cause.strerror for cause in causes if isinstance(cause, OSError) and cause.strerror), None)
    return Unavailable(
        f"{uri} cannot be reached: {said or (str(error).splitlines() or [type(error).__name__])[0]}; check that the "
        "server runs, and the network, then ask again"
    )


def not_neo4j(uri: str) -> Unavailable:
    """The error for a server that answers in another protocol."""
    return Unavailable(
        f"{uri}: the server does not answer in a version of Bolt that the driver knows; {_BOLT_PORT}, and use Neo4j"
        " 5.26 LTS or 2026.x"
    )


def _other_scheme(uri: str) -> str:
    if is_encrypted(uri):
        return "its TLS is off: then write bolt:// or neo4j://, or turn TLS on there (server.bolt.tls_level)"
    return "it requires TLS: then write bolt+s:// or neo4j+s://"


def _certificate(error: ssl.SSLCertVerificationError) -> str:
    """The remedy for a certificate that is not trusted."""
    if "mismatch" in error.verify_message:
        return "write the host name that the certificate has, or give the server a certificate for this name"
    if "expired" in error.verify_message:
        return "renew it on the server"
    return "name the file of the authority that signed it with ca= or NEO4J_CA"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and all its causes."""
    yield error
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _causes(each)
    cause = error.__cause__ or error.__context__
    if cause is not None:
        yield from _causes(cause)
