"""A small estate for dumps and restores, and functions that compare it."""

from pathlib import Path

from grantpath.engine import Authorizer
from grantpath.engine.transfer.exporter import streaming, tables_of

POLICIES = ["gravitino", "lakehouse", "deltastream", "onehouse", "cdap", "cdap_design"]
ODD = 'table:hr.s.`tick``s, "and\nmore"\r`'
FACTS = [
    "add catalog:hr",
    "add schema:hr.s",
    "add table:hr.s.t",
    f"add {ODD}",
    "add user:ann",
    "add user:bob",
    "add user:`a, b`",
    "add group:readers",
    "add role:analyst",
    "member user:bob of group:readers",
    "member group:readers of role:analyst",
    "owner user:ann of catalog:hr",
    "allow SELECT_TABLE on catalog:hr to role:analyst",
    f"deny SELECT_TABLE on {ODD} to role:analyst",
]


def files(directory: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in directory.iterdir()}


def facts_of(auth: Authorizer) -> dict[str, list[tuple[str, ...]]]:
    """The rows of a dump."""
    return tables_of(streaming(auth.store, auth.tenant), auth.policy, auth.root)
