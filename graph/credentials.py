"""What a caller may give for the login to a database: a user and a password, a token, or a provider of either."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeGuard, Union

from grantpath.graph.errors import InvalidInput

if TYPE_CHECKING:
    import neo4j
    from neo4j.auth_management import ExpiringAuth

# `Union`, because a name in quotes cannot be an operand of `|` at run time.
Auth = Union[tuple[str, str], "neo4j.Auth"]
Provider = Callable[[], Union[Auth, "ExpiringAuth"]]


def checked(auth: object) -> Auth | Provider:
    """`auth` as the login it is. Raises InvalidInput for anything else, without showing it."""
    if is_login(auth):
        return auth
    if callable(auth):
        provider: Provider = auth
        return provider
    raise InvalidInput(
        f"auth= is a {type(auth).__name__}; give (user, password), a neo4j.Auth such as neo4j.bearer_auth(TOKEN), or a "
        "callable that returns one of these"
    )


def is_login(auth: object) -> TypeGuard[Auth]:
    """Is this a login itself, and not a provider of one?"""
    if isinstance(auth, tuple):
        return len(auth) == 2 and all(isinstance(part, str) for part in auth)
    import neo4j

    return isinstance(auth, neo4j.Auth)
