"""The forms of a login to a database: a user and a password, a token, or a callable that returns either."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeGuard, Union

from grantpath.graph.errors import InvalidInput

if TYPE_CHECKING:
    import neo4j
    from neo4j.auth_management import ExpiringAuth

# `Union`, because `|` does not accept a quoted name at run time.
Auth = Union[tuple[str, str], "neo4j.Auth"]
Provider = Callable[[], Union[Auth, "ExpiringAuth"]]


def checked(auth: object) -> Auth | Provider:
    """`auth`, checked to be a login or a provider. Raises InvalidInput otherwise, without showing the value."""
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
    """Is this a login and not a provider?"""
    if isinstance(auth, tuple):
        return len(auth) == 2 and all(isinstance(part, str) for part in auth)
    import neo4j

    return isinstance(auth, neo4j.Auth)
