"""The names that `grantpath.engine` exports."""

from grantpath.engine.authorizer import Authorizer
from grantpath.engine.decision import Decision, Explanation
from grantpath.engine.history import Logged
from grantpath.engine.listing import Listing
from grantpath.engine.request import Change
from grantpath.graph.errors import (
    GrantpathError,
    Inconsistent,
    Invalid,
    InvalidInput,
    InvalidPolicy,
    InvalidReference,
    Refused,
    ServerError,
    Unavailable,
    Unknown,
)
from grantpath.graph.reference import reference
from grantpath.graph.statement import Check, statement

__all__ = [
    "Authorizer",
    "Change",
    "Check",
    "Decision",
    "Explanation",
    "GrantpathError",
    "Inconsistent",
    "Invalid",
    "InvalidInput",
    "InvalidPolicy",
    "InvalidReference",
    "Listing",
    "Logged",
    "Refused",
    "ServerError",
    "Unavailable",
    "Unknown",
    "reference",
    "statement",
]
