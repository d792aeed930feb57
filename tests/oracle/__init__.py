"""An independent, plain and slow decision oracle, written from the policy sheets alone."""

from .errors import OracleError
from .base import Oracle
from .build import POLICIES, oracle

__all__ = ["POLICIES", "Oracle", "OracleError", "oracle"]
