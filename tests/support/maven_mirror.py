"""A Maven repository on loopback, for tests of downloads."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from grantpath.graph.artifacts import maven


class Mirror:
    """The files that it serves, and the requests with their logins."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = dict(files)
        self.once: dict[str, bytes] = {}  # served instead in the first response
        self.asked: Counter[str] = Counter()
        self.logins: set[str | None] = set()
        mirror = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = self.path.partition("/maven2/")[2]
                mirror.asked[path] += 1
                mirror.logins.add(self.headers["Authorization"])
                content = mirror.once.pop(path, None) or mirror.files.get(path)
                self.send_response(200 if content else 404)
                self.send_header("Content-Length", str(len(content or b"")))
                self.end_headers()
                self.wfile.write(content or b"")

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.place = f"127.0.0.1:{self.server.server_port}/maven2"

    def stop(self) -> None:
        """Nothing answers at its address any more."""
        self.server.shutdown()
        self.server.server_close()


@contextmanager
def maven_mirror(monkeypatch: pytest.MonkeyPatch, cache: Path, files: Mapping[str, bytes]) -> Iterator[Mirror]:
    """GRANTPATH_MAVEN names a mirror with these files, and GRANTPATH_CACHE the folder; retries do not wait."""
    for variable in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    running = Mirror(files)
    monkeypatch.setenv("GRANTPATH_CACHE", str(cache))
    monkeypatch.setenv("GRANTPATH_MAVEN", f"http://{running.place}")
    monkeypatch.setattr("grantpath.graph.artifacts.maven.time.sleep", lambda seconds: None)
    maven._opener.cache_clear()
    Thread(target=running.server.serve_forever, args=(0.01,), daemon=True).start()
    yield running
    running.stop()
    maven._opener.cache_clear()
