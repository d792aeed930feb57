"""The names that `grantpath.engine` exports. AsyncAuthorizer is loaded when it is used, since it loads asyncio."""

from typing import TYPE_CHECKING, Any

from grantpath.engine.authorizer import Authorizer
from grantpath.engine.change.audit_log import Log, Logged, LogPage
from grantpath.engine.change.change_plan import ChangePlan
from grantpath.engine.change.made import Change
from grantpath.engine.decide.access_effects import AccessEffect, AccessShare, Effects
from grantpath.engine.decide.decision import Decision, Explanation
from grantpath.engine.decide.graph_path import GraphPath, PathEdge, PathNode
from grantpath.engine.decide.listing import Listing, ReferencePage
from grantpath.engine.decide.revocation import Revocation
from grantpath.engine.since import Since
from grantpath.graph.errors import (
    Conflict,
    GrantpathError,
    Inconsistent,
    Invalid,
    InvalidInput,
    InvalidPolicy,
    InvalidReference,
    PageExpired,
    Refused,
    ServerError,
    Unavailable,
    Unknown,
    UnknownName,
)
from grantpath.graph.reference import reference
from grantpath.graph.statement import Check, statement

if TYPE_CHECKING:
    from grantpath.engine.async_authorizer import AsyncAuthorizer

__all__ = [
    "AccessEffect",
    "AccessShare",
    "AsyncAuthorizer",
    "Authorizer",
    "Change",
    "ChangePlan",
    "Check",
    "Conflict",
    "Decision",
    "Effects",
    "Explanation",
    "GrantpathError",
    "GraphPath",
    "Inconsistent",
    "Invalid",
    "InvalidInput",
    "InvalidPolicy",
    "InvalidReference",
    "Listing",
    "Log",
    "LogPage",
    "Logged",
    "PageExpired",
    "PathEdge",
    "PathNode",
    "ReferencePage",
    "Refused",
    "Revocation",
    "ServerError",
    "Since",
    "Unavailable",
    "Unknown",
    "UnknownName",
    "reference",
    "statement",
]


def __getattr__(name: str) -> Any:
    if name != "AsyncAuthorizer":
        raise AttributeError(f"module 'grantpath.engine.api' has no attribute {name!r}")
    from grantpath.engine.async_authorizer import AsyncAuthorizer

    return AsyncAuthorizer
