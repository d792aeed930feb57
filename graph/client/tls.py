"""TLS to a database: the address turns it on, and a file of certificates limits which authorities are trusted."""

import ssl
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from grantpath.graph.errors import InvalidInput
from grantpath.graph.language.inputs import require_not_named_pipe

VERIFIED = ("bolt+s://", "neo4j+s://")


def is_verified(uri: str) -> bool:
    """Does this address require TLS with a verified certificate?"""
    return uri.lower().startswith(VERIFIED)


def is_encrypted(uri: str) -> bool:
    """Does this address require TLS?"""
    return urlsplit(uri).scheme.endswith(("+s", "+ssc"))


def options(uri: str, ca: str | None) -> dict[str, Any]:
    """The driver's arguments for the address and, if `ca` names a file of trusted certificates, for TLS.

    With `ca`, only certificates that an authority in that file has signed are trusted; otherwise those that the system
    trusts. Raises InvalidInput if the file contains no certificate, or if the address does not verify certificates.
    """
    if ca is None:
        return {"uri": uri}
    if not is_verified(uri):
        raise InvalidInput(f"ca={ca}: {uri} does not verify certificates; write bolt+s://HOST:7687 or neo4j+s://HOST")
    require_not_named_pipe("ca=", Path(ca))
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
