"""Chooses the Maven repository and downloads files from it."""

import base64
import functools
import os
import re
import ssl
import time
import urllib.error
import urllib.request
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

from grantpath.graph.errors import ServerError

ATTEMPTS = 3
TIMEOUT = 30.0
LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class Repository:
    """A Maven repository: its address without a trailing slash or login, and the login as a header."""

    address: str
    authorization: str | None = field(default=None, repr=False)


def repository() -> Repository:
    """GRANTPATH_MAVEN, else the mirror of `central` in ~/.m2/settings.xml, else Maven Central."""
    if named := os.environ.get("GRANTPATH_MAVEN"):
        return _with_login(named, None)
    settings = Path("~/.m2/settings.xml").expanduser()
    if settings.is_file():
        mirror = _mirror(settings)
        if mirror:
            return mirror
    from jgo.constants import MAVEN_CENTRAL_URL

    return Repository(MAVEN_CENTRAL_URL)


def _mirror(settings: Path) -> Repository | None:
    try:
        tree = ElementTree.parse(settings)
    except ElementTree.ParseError as error:
        raise ServerError(f"{settings} is not XML ({error}); correct it or set GRANTPATH_MAVEN") from error
    drop_namespaces(tree.iter())
    for mirror in tree.iterfind("mirrors/mirror"):
        if _mirrors_central(mirror.findtext("mirrorOf", "")) and (url := _text(mirror, "url")):
            return _with_login(url, _server_login(tree, _text(mirror, "id")))
    return None


def drop_namespaces(elements: Iterable[ElementTree.Element]) -> None:
    """Removes the namespace from the names of elements: Maven's files have one, none, or that of another version."""
    for element in elements:
        element.tag = element.tag.rpartition("}")[2]


def _mirrors_central(mirror_of: str) -> bool:
    words = [word.strip() for word in mirror_of.split(",")]
    return "!central" not in words and bool({"*", "central", "external:*"} & {*words})


def _server_login(tree: "ElementTree.ElementTree[ElementTree.Element]", name: str) -> tuple[str, str] | None:
    for server in tree.iterfind("servers/server"):
        if _text(server, "id") == name and (user := _text(server, "username")):
            return user, _text(server, "password")
    return None


def _text(element: ElementTree.Element, name: str) -> str:
    """The text of a child element, with Maven's `${env.NAME}` replaced."""
    text = element.findtext(name, "").strip()
    return re.sub(r"\$\{env\.(\w+)\}", lambda match: os.environ.get(match[1], ""), text)


def _with_login(address: str, login: tuple[str, str] | None) -> Repository:
    """A login inside the address becomes a header, so that no message can print it."""
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ServerError(
            "the Maven repository (GRANTPATH_MAVEN or settings.xml) is not an https address; write https://HOST/PATH"
        )
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise ServerError(
            f"the Maven repository on {parts.hostname} (GRANTPATH_MAVEN or settings.xml) has an http address, whose "
            "traffic others can read and change; write https"
        )
    if parts.username is not None:
        login = (unquote(parts.username), unquote(parts.password or ""))
    bare = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))
    token = base64.b64encode(":".join(login).encode()).decode() if login else None
    return Repository(bare, f"Basic {token}" if token else None)


@functools.cache
def _opener() -> urllib.request.OpenerDirector:
    """An opener that takes proxies and a company's CA from the environment variables that Python clients use."""
    context = ssl.create_default_context()
    named = {os.environ.get(variable, "") for variable in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")}
    for bundle in named - {os.environ.get("SSL_CERT_FILE", "")}:  # Python loads that one itself
        if Path(bundle).is_file():
            context.load_verify_locations(cafile=bundle)
    return urllib.request.build_opener(urllib.request.HTTPSHandler(context=context))


class NotFetched(Exception):
    """A file that a repository did not give; the text is the cause, e.g. `HTTP 404`."""


def fetch(source: Repository, path: str, size: int) -> bytes:
    """Downloads `path` from the repository: at most `size` + 1 bytes, so that a file that is too long is detected.

    Raises ServerError, which names the file and the cause, after 3 attempts, or at once if a retry cannot help.
    """
    try:
        return read(source, path, size)
    except NotFetched as error:
        raise ServerError(
            f"{path.rpartition('/')[2]} could not be downloaded from {source.address}: {error}; check the "
            "network and the proxy, or name a mirror in GRANTPATH_MAVEN"
        ) from error


def read(source: Repository, path: str, size: int, attempts: int = ATTEMPTS, timeout: float = TIMEOUT) -> bytes:
    """The same, with the cause alone. Raises NotFetched."""
    request = urllib.request.Request(f"{source.address}/{path}", headers={"User-Agent": "grantpath"})
    if source.authorization:
        request.add_unredirected_header("Authorization", source.authorization)
    cause = ""
    for attempt in range(attempts):
        if attempt:
            time.sleep(2**attempt - 1)
        try:
            with _opener().open(request, timeout=timeout) as response:
                assert isinstance(response, HTTPResponse)
                return response.read(size + 1)
        except urllib.error.HTTPError as error:
            cause = f"HTTP {error.code}"
            if error.code in (401, 403, 404, 407):
                break
        except urllib.error.URLError as error:
            cause = str(error.reason)
        except (OSError, HTTPException) as error:
            cause = str(error) or type(error).__name__
    raise NotFetched(cause)
