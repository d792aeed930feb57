"""The errors of the oracle: questions without an answer, and changes that are invalid for every actor."""


class OracleError(Exception):
    """The policy's sheet defines the check or question as an error."""


class InvalidChange(Exception):
    """The statement is malformed or breaks a rule of the policy, for every actor."""
