"""An independent, simple and slow decision oracle, written only from the policy sheets."""

from .base import Oracle
from .build import POLICIES, oracle
from .errors import OracleError

__all__ = ["POLICIES", "Oracle", "OracleError", "oracle"]
