"""An independent, plain and slow decision oracle, written from the policy sheets alone."""

from .base import Oracle
from .build import POLICIES, oracle
from .errors import OracleError

__all__ = ["POLICIES", "Oracle", "OracleError", "oracle"]
