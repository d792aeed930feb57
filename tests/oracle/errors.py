"""What the oracle raises: a question that has no answer, and a change that no actor could make."""


class OracleError(Exception):
    """The check or question is one that the policy's sheet calls an error."""


class InvalidChange(Exception):
    """The statement is malformed or against the policy's rules, whoever asks."""
