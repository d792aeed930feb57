"""Addresses of Neo4j servers: their validation, and how messages show them."""

from urllib.parse import urlsplit

from grantpath.graph.errors import Unavailable

SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")


def require_address(uri: str) -> None:
    """Raises Unavailable if `uri` is not the address of a Neo4j server."""
    if "@" in uri:
        raise Unavailable(f"the address of {shown(uri)} contains a login; set NEO4J_USER and NEO4J_PASSWORD instead")
    try:
        parts = urlsplit(uri)
        right = parts.scheme in SCHEMES and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        right = False
    if not right:
        raise not_an_address(uri)


def not_an_address(uri: str) -> Unavailable:
    """The error for a text that is not the address of a Neo4j server."""
    return Unavailable(
        f"{shown(uri)} is not an address of a Neo4j server: write bolt://HOST:7687 or neo4j://HOST:7687,"
        " with TLS bolt+s:// or neo4j+s://, with a self-signed certificate bolt+ssc:// or neo4j+ssc://"
    )


def shown(uri: str) -> str:
    """The address as messages show it: without the login that it may contain."""
    scheme, slashes, rest = uri.partition("://")
    return scheme + slashes + rest.rpartition("@")[2] if slashes else uri.rpartition("@")[2]
