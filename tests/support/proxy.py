"""A proxy in front of a server, which tests can make lose or freeze connections."""

import socket
from contextlib import suppress
from threading import Event, Thread
from urllib.parse import urlsplit


class Proxy:
    """Forwards bytes to and from the server. A doomed connection is closed at the next byte.

    A frozen proxy forwards nothing, and hides from the server that a client is gone.
    """

    def __init__(self, uri: str) -> None:
        parts = urlsplit(uri)
        self._server = (str(parts.hostname), parts.port or 7687)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.uri = f"bolt://127.0.0.1:{self._listener.getsockname()[1]}"
        self.open: list[socket.socket] = []  # towards the client
        self.doomed: set[socket.socket] = set()
        self.lost = 0
        self.frozen, self._closed = Event(), Event()
        Thread(target=self._listen, daemon=True).start()

    def doom(self) -> None:
        self.doomed.update(self.open)

    def close(self) -> None:
        self._closed.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for each in self.open:
            each.close()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._server)
                self.open.append(client)
                Thread(target=self._pass, args=(client, server, client), daemon=True).start()
                Thread(target=self._pass, args=(server, client, client), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                if client in self.doomed:
                    self.lost += source is client
                    break
                if self.frozen.is_set():
                    break
                target.sendall(data)
        if self.frozen.is_set():
            self._closed.wait()
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
