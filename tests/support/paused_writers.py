"""Writers that stop at a step of the protocol, and may lose their locks meanwhile."""

import socket
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from threading import Event
from typing import Any

from grantpath.engine import Authorizer
from grantpath.graph.client.connection import Connection
from grantpath.graph.guard.store import Store

from .proxy import Proxy

WAIT = 60.0  # seconds; the machine is shared
TERMINATE = """SHOW TRANSACTIONS YIELD transactionId AS id, metaData
WHERE metaData.grantpath.root = $root
TERMINATE TRANSACTIONS id YIELD message
RETURN count(*) AS ended"""


class Stop:
    """A point at which the first caller waits until it is released."""

    def __init__(self) -> None:
        self.reached, self.go = Event(), Event()

    def __call__(self) -> None:
        if not self.reached.is_set():
            self.reached.set()
            assert self.go.wait(WAIT)


def before(holder: object, name: str, stop: Callable[[], None]) -> None:
    """Makes this object stop before it does `name`."""
    step = getattr(holder, name)

    def stopping(*words: Any, **named: Any) -> Any:
        stop()
        return step(*words, **named)

    setattr(holder, name, stopping)


def after(holder: object, name: str, stop: Callable[[], None]) -> None:
    """Makes this object stop after it did `name`."""
    step = getattr(holder, name)

    def stopping(*words: Any, **named: Any) -> Any:
        result = step(*words, **named)
        stop()
        return result

    setattr(holder, name, stopping)


class Client:
    """A separate client: its store, its connections, and its thread."""

    def __init__(self, server: Connection, of: Authorizer, stall_limit: float = 15.0, timeout: float = 30.0) -> None:
        self._proxy = Proxy(server.uri)
        connection = Connection(self._proxy.uri, server.user, server.password)
        self.store = Store(connection, timeout=timeout, stall_limit=stall_limit)
        self.auth = Authorizer(self.store, of.tenant, of.policy, of.root)
        self.guard = self.store._guard
        self._pool = ThreadPoolExecutor(1)
        self._of = of

    def start(self, work: Callable[[], object]) -> "Future[object]":
        """Works in the background."""
        return self._pool.submit(work)

    def lose(self, how: str) -> None:
        """Ends its transactions on the root, cuts its connections, or does nothing."""
        if how == "cut":
            for each in list(self._proxy.open):
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
        if how in ("cut", "terminated"):  # the server may notice a cut connection at any time; here it does so now
            self._of.store.read(TERMINATE, {"root": self._of.tenant})

    def fall_silent(self) -> None:
        """Stops its signs of life."""
        self.guard._watch._beat = lambda *_: None  # type: ignore[method-assign]
        self._of.store.execute("MATCH (beat:Heartbeat {root: $root}) DELETE beat", {"root": self._of.tenant})

    def close(self) -> None:
        self._pool.shutdown()
        self.store.close()
        self._proxy.close()
