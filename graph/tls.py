"""TLS to a database: the address turns it on, and a file of certificates limits which authorities are trusted."""

import ssl
from collections.abc import Iterator
from typing import Any

from grantpath.graph.errors import InvalidInput, Unavailable

VERIFIED = ("bolt+s://", "neo4j+s://")


def is_verified(uri: str) -> bool:
    """Does this address require TLS with a verified certificate?"""
    return uri.lower().startswith(VERIFIED)


def options(uri: str, ca: str | None) -> dict[str, Any]:
    """The driver's arguments for the address and, if `ca` names a file of trusted certificates, for TLS.

    With `ca`, only certificates that an authority in that file has signed are trusted; otherwise those that the system
    trusts. Raises InvalidInput if the file contains no certificate, or if the address does not verify certificates.
    """
    if ca is None:
        return {"uri": uri}
    if not is_verified(uri):
        raise InvalidInput(f"ca={ca}: {uri} does not verify certificates; write bolt+s://HOST:7687 or neo4j+s://HOST")
    try:
        ssl.create_default_context(cafile=ca)
    except OSError as error:  # the base class of SSLError, too
        reason = error.strerror if not isinstance(error, ssl.SSLError) else "it contains no certificate in PEM format"
        raise InvalidInput(f"ca={ca} cannot be used: {reason}; name a file of PEM certificates") from error
    import neo4j

    scheme, _, rest = uri.partition("://")
    return {
        "uri": f"{scheme[:-2]}://{rest}",
        "encrypted": True,
        "trusted_certificates": neo4j.TrustCustomCAs(ca),
    }


def unavailable(uri: str, error: BaseException) -> Unavailable | None:
    """The error for a connection that failed because of TLS; None if it failed for another reason."""
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            reason = cause.verify_message.rstrip(".")
            return Unavailable(f"{uri}: the server's certificate is not trusted: {reason}; {_remedy(cause)}")
        if isinstance(cause, ssl.SSLError):
            return Unavailable(
                f"{uri}: the server does not answer with TLS; it is starting or stopping, or its TLS is off: then write"
                " bolt:// or neo4j://, or turn TLS on there (server.bolt.tls_level)"
            )
        if "handshake response" in str(cause):
            return Unavailable(
                f"{uri}: the server closed the connection at once; it is starting or stopping, or this is not its Bolt"
                " port, or it requires TLS: then write bolt+s:// or neo4j+s://"
            )
    return None


def _remedy(error: ssl.SSLCertVerificationError) -> str:
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
