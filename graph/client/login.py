"""The driver's auth manager: it calls a login provider again when the server refuses the last login."""

import logging
import time
from threading import Lock
from typing import Any

import neo4j
from neo4j.auth_management import AuthManager, AuthManagers, ExpiringAuth
from neo4j.exceptions import Neo4jError

from grantpath.graph.client import driver_internals
from grantpath.graph.client.credentials import Auth, Provider, is_login
from grantpath.graph.errors import Unavailable

log = logging.getLogger("grantpath.login")
REFUSED = "Neo.ClientError.Security.Unauthorized"
EXPIRED = "Neo.ClientError.Security.TokenExpired"
# sent after several wrong passwords, even for the right one
LOCKED = "Neo.ClientError.Security.AuthenticationRateLimit"
PAUSE = 0.25  # seconds between two calls of a provider, and between two tries of a login


def manager(uri: str, auth: Auth | Provider) -> AuthManager:
    """The auth manager from which the driver gets the login to `uri`."""
    return Renewed(uri, auth) if callable(auth) else AuthManagers.static(auth)


class Renewed(AuthManager):
    """The last login of a provider, which is called again when the server refuses this login or the login expires."""

    def __init__(self, uri: str, provider: Provider) -> None:
        self.uri = uri
        self._provider = provider
        self._lock = Lock()
        self._current: ExpiringAuth | None = None
        self._called = 0.0
        self._refused: Any = None
        self.accepted = False  # has the server accepted any login of this provider?

    def current(self) -> Auth | None:
        """The current login if it is valid; never waits."""
        current = self._current
        if current is None or (current.expires_at is not None and current.expires_at < time.time()):
            return None
        auth: Auth = current.auth  # type: ignore[assignment]  # _call has checked it
        return auth

    def get_auth(self) -> Auth:
        """The current login; a new one if the current one has expired. Raises Unavailable if the provider fails."""
        with self._lock:
            return self.current() or self._call()

    def handle_security_exception(self, auth: Any, error: Neo4jError) -> bool:
        """Can a retry succeed after the server refused `auth`? Raises the same errors as `get_auth`.

        It can with another login, and with the same one if the server has only locked the user out for a while.
        """
        if error.code not in (REFUSED, EXPIRED, LOCKED):
            return False
        with self._lock:
            if error.code != LOCKED:
                self._refused = auth
            wrong = self._refused == auth
            current = self._current
            if wrong and (current is None or current.auth == auth) and time.monotonic() - self._called > PAUSE:
                self._call()
                current = self._current
            other = current is not None and current.auth != auth
            return other or (self.accepted and not wrong)

    def await_another(self, auth: Any, error: Neo4jError, until: float) -> bool:
        """Like `handle_security_exception`. Waits up to `until` for the next login if an earlier one was accepted."""
        while not self.handle_security_exception(auth, error):
            if not self.accepted or time.monotonic() > until:
                return False
            time.sleep(PAUSE)
        return True

    def may_retry(self, used: Any, error: Neo4jError, until: float) -> bool:
        """Can a connection be opened after the server refused the login `used`? Waits up to `until` for the next."""
        if error.code not in (REFUSED, EXPIRED, LOCKED) or time.monotonic() > until:
            return False
        log.warning("%s refused the login (%s); trying the next login of the provider in auth=", self.uri, error.code)
        if not self.await_another(used, error, until):
            return False
        if error.code == LOCKED:
            time.sleep(PAUSE)
        return True

    def accept(self, connection: Any) -> None:
        """Notes that the server has accepted a login for this new connection."""
        self.accepted = True
        driver_internals.keep_password(connection)

    def _call(self) -> Auth:
        self._called = time.monotonic()
        try:
            given = self._provider()
        except Exception as error:
            raise Unavailable(
                f"no login for {self.uri}: the provider in auth= raised {type(error).__name__}; correct the provider,"
                " then try again"
            ) from error
        fresh = given if isinstance(given, ExpiringAuth) else ExpiringAuth(given)
        if is_login(fresh.auth):
            log.info("the provider in auth= returned a login for %s", self.uri)
            self._current = fresh
            return fresh.auth
        raise Unavailable(
            f"no login for {self.uri}: the provider in auth= returned a {type(fresh.auth).__name__}; it must"
            " return (user, password), a neo4j.Auth or a neo4j.auth_management.ExpiringAuth"
        )


def renew_refused(driver: neo4j.Driver, login: AuthManager, timeout: float) -> None:
    """Makes a driver open a connection again with the provider's next login if the server refuses the last one.

    By itself, the driver asks for another login only if an open connection loses its own. If the server has accepted a
    login of this provider before, the retries continue for `timeout` seconds: the new login may be a moment late, and
    the server may lock the user out for a while after several wrong logins.
    """
    if not isinstance(login, Renewed):
        return

    def retrying(opener: driver_internals.Opener) -> driver_internals.Opener:
        def run(*given: Any) -> Any:
            until = time.monotonic() + timeout
            while True:
                used = login.get_auth()
                try:
                    connection = opener(*given)
                except Neo4jError as error:
                    if not login.may_retry(used, error, until):
                        raise
                else:
                    login.accept(connection)
                    return connection

        return run

    driver_internals.wrap_opener(driver, retrying, "a new connection does not try the provider's next login")
