"""The names that `grantpath.engine` exports."""

from grantpath.engine.authorizer import Authorizer
from grantpath.engine.change.audit_log import Logged
from grantpath.engine.change.idempotency import Change
from grantpath.engine.decide.decision import Decision, Explanation
from grantpath.engine.decide.listing import Listing
from grantpath.engine.decide.revocation import Revocation
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
    "Revocation",
    "ServerError",
    "Unavailable",
    "Unknown",
    "reference",
    "statement",
]
