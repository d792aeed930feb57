"""The names that `grantpath.engine` exports. Those in `LATER` are loaded when they are used: they load
asyncio, or need an extra."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from grantpath.engine.advise.revocation import Revocation
from grantpath.engine.answers.access_effects import AccessEffect, AccessShare, Effects
from grantpath.engine.answers.decision import Decision, Explanation
from grantpath.engine.answers.graph_path import GraphPath, PathEdge, PathNode
from grantpath.engine.answers.listing import Listing, ReferencePage
from grantpath.engine.authorizer.authorizer import Authorizer
from grantpath.engine.change.audit_log import Log, Logged, LogPage
from grantpath.engine.change.change_plan import ChangePlan
from grantpath.engine.change.made import Change
from grantpath.engine.change.verbs import AsyncBatch, Batch
from grantpath.engine.inspection.ending import Ending, EndingPage
from grantpath.engine.inspection.models import (
    Abilities,
    Ability,
    CatalogueAnswer,
    EdgeCounts,
    EntityPage,
    EntityView,
    Grant,
    GrantPage,
    Membership,
    MembershipPage,
)
from grantpath.engine.past.since import Since
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
from grantpath.graph.language.reference import reference
from grantpath.graph.language.statement import Check, statement

if TYPE_CHECKING:
    from grantpath.engine.authorizer.async_authorizer import AsyncAuthorizer
    from grantpath.engine.authorizer.async_listing import AsyncListing
    from grantpath.engine.past.past_root import PastRoot

__all__ = [
    "Abilities",
    "Ability",
    "AccessEffect",
    "AccessShare",
    "AsyncAuthorizer",
    "AsyncBatch",
    "AsyncListing",
    "Authorizer",
    "Batch",
    "CatalogueAnswer",
    "Change",
    "ChangePlan",
    "Check",
    "Conflict",
    "Decision",
    "EdgeCounts",
    "Effects",
    "Ending",
    "EndingPage",
    "EntityPage",
    "EntityView",
    "Explanation",
    "Grant",
    "GrantPage",
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
    "Membership",
    "MembershipPage",
    "PageExpired",
    "PastRoot",
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

LATER = {
    "AsyncAuthorizer": "grantpath.engine.authorizer.async_authorizer",
    "AsyncListing": "grantpath.engine.authorizer.async_listing",
    "PastRoot": "grantpath.engine.past.past_root",
}


def __getattr__(name: str) -> Any:
    if name not in LATER:
        raise AttributeError(f"module 'grantpath.engine.api' has no attribute {name!r}")
    return getattr(import_module(LATER[name]), name)
