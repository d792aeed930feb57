"""The set-up: the server with its Java and memory, the driver, the optional packages, and what to do about each."""

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from math import ceil
from urllib.parse import urlsplit

from grantpath import cypher
from grantpath.graph.artifacts.java_versions import FITTING, Purpose
from grantpath.graph.client.address import shown
from grantpath.graph.embedded.connect import running
from grantpath.graph.embedded.home import RELEASES, server_home
from grantpath.graph.errors import GrantpathError, Unavailable
from grantpath.graph.extras import is_installed
from grantpath.graph.guard.store import Store
from grantpath.graph.guard.transaction import Row
from grantpath.graph.messages import short

LANGUAGES = ("CYPHER_5", "CYPHER_25")  # with which the queries are tested
MIB = 2**20
LEAST_HEAP = 480 * MIB  # the tests run with 512m, of which some collectors of Java report a little less
# In the files of a large root, with the properties and indexes.
BYTES_OF_NODE, BYTES_OF_RELATIONSHIP = 500, 100
SPARE = 1.2  # the part of a page cache that a remedy proposes beyond the present graph
UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
COMPARED: Mapping[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]] = {">=": operator.ge, "<": operator.lt}
# The packages that extras install, each with the smallest of these extras.
OPTIONAL = {"pyspark": "spark", "graphframes-py": "spark", "pyarrow": "arrow", "duckdb": "review"}


@dataclass(frozen=True)
class Finding:
    """What was found about one part of the set-up; `remedy`: what to do if it is not fine, else None."""

    about: str
    found: str
    remedy: str | None = None


def findings(uri: str | None, timeout: float) -> Iterator[Finding]:
    """Everything about the server at `uri`, else the one that is configured, and about this environment.

    Starts no server. A server that cannot be used is a finding, not an error.
    """
    try:
        store = Store(running(uri), timeout)
        try:
            yield from _of_server(store)
        finally:
            store.close()
    except GrantpathError as error:
        yield Finding("server", "cannot be used", str(error))
    yield driver_finding(metadata.version("neo4j"), _range_of("neo4j"))
    yield from map(_package, OPTIONAL)


# ---- the server ------------------------------------------------------------------------------------------------------
def _of_server(store: Store) -> Iterator[Finding]:
    [about] = _rows(store, "server_version")
    embedded = _is_embedded(store.uri)
    where = f"{about['edition']}, {'embedded' if embedded else shown(store.uri)}"
    yield version_finding(about["version"], where)
    size = about["nodes"], about["relationships"]
    settings = _rows_or_reason(store, "server_settings")
    if isinstance(settings, str):
        yield from (Finding("cypher", settings), Finding("page cache", settings))
    else:
        values = {row["name"]: row["value"] for row in settings}
        yield language_finding(values.get("db.query.default_language"))
        yield page_cache_finding(values.get("server.memory.pagecache.size"), *size, embedded)
    java = _rows_or_reason(store, "server_java")
    if isinstance(java, str):
        yield Finding("java", java)
    else:
        yield java_finding(java[0]["java"], line_of(about["version"]))
        yield heap_finding(java[0]["heap"], embedded)


def _rows(store: Store, query: str) -> list[Row]:
    return cypher.load(query).run(store.read)


def _rows_or_reason(store: Store, query: str) -> list[Row] | str:
    """The rows of a query that the database user may not be allowed to ask; otherwise why there are none."""
    try:
        return _rows(store, query)
    except Unavailable as error:
        return f"not read: {error}"


def _is_embedded(uri: str) -> bool:
    """Whether the address is that of the embedded server."""
    if not is_installed("server"):
        return False
    from grantpath.graph.embedded.server import seen

    return urlsplit(seen(server_home(None, None)).uri or "").netloc == urlsplit(uri).netloc


def line_of(version: str) -> str | None:
    """The release line of a version of Neo4j, e.g. 5.26; None if grantpath is not tested with it."""
    return next((line for line in RELEASES if re.match(rf"{re.escape(line)}(?!\d)", version)), None)


def version_finding(version: str, where: str) -> Finding:
    """Whether grantpath is tested with this version of Neo4j."""
    line = line_of(version)
    found = f"Neo4j {short(version)}, {where}"
    if line is None:
        tested = " or ".join(f"{line}.x" for line in RELEASES)
        return Finding("server", f"{found}; not tested", f"use Neo4j {tested}")
    return Finding("server", f"{found}; tested with {RELEASES[line].number}")


def language_finding(language: str | None) -> Finding:
    """Whether the queries are tested with the server's default language. None: the server has only one."""
    found = language or LANGUAGES[0]
    if found in LANGUAGES:
        return Finding("cypher", f"{found} is the default language")
    remedy = f"set db.query.default_language={LANGUAGES[0]} in neo4j.conf"
    return Finding("cypher", f"{short(found)} is the default language; not tested", remedy)


def java_finding(version: str, line: str | None) -> Finding:
    """Whether the server's Java is one that its release line supports."""
    purpose: Purpose | None = RELEASES[line].java if line else None
    if purpose is None or int(version.removeprefix("1.")) in FITTING[purpose]:
        return Finding("java", f"Java {version} runs the server")
    least, *others = FITTING[purpose]
    fitting = f"{least} or newer" if len(others) > 1 else " or ".join(map(str, FITTING[purpose]))
    return Finding("java", f"Java {version} runs the server", f"run it on Java {fitting}: set JAVA_HOME")


def heap_finding(heap: int, embedded: bool) -> Finding:
    """Whether the server's heap is as large as in the tests."""
    found = f"{_bytes(heap)} of heap"
    if heap >= LEAST_HEAP:
        return Finding("heap", found)
    how = _how("GRANTPATH_HEAP=1g", "server.memory.heap.max_size=1g", embedded)
    return Finding("heap", f"{found}; the tests have 512 MiB or more", how)


def page_cache_finding(setting: str | None, nodes: int, relationships: int, embedded: bool) -> Finding:
    """Whether the page cache holds the graph. None: the server chooses its size.

    The size is estimated: the server does not tell it, and it writes its files only from time to time.
    """
    size = nodes * BYTES_OF_NODE + relationships * BYTES_OF_RELATIONSHIP
    held = f"for {nodes:,} nodes and {relationships:,} relationships, about {_bytes(size)}"
    if setting is None:
        return Finding("page cache", f"chosen by the server, {held}")
    found = f"{_bytes(_size(setting))} {held}"
    if _size(setting) >= size:
        return Finding("page cache", found)
    wanted = f"{ceil(size * SPARE / MIB)}m"
    how = _how(f"GRANTPATH_PAGECACHE={wanted}", f"server.memory.pagecache.size={wanted}", embedded)
    return Finding("page cache", f"{found}; it should hold the whole graph", how)


def _how(variable: str, setting: str, embedded: bool) -> str:
    if embedded:
        return f"set {variable}, then run `grantpath down` and `grantpath up`"
    return f"set {setting} in neo4j.conf, and restart the server"


def _size(text: str) -> float:
    """The bytes of a size as the server prints it, e.g. 512.00MiB."""
    found = re.fullmatch(r"([\d.]+)([KMGT]?)i?B?", text, re.IGNORECASE)
    return float(found[1]) * UNITS[found[2].upper()] if found else 0.0


def _bytes(size: float) -> str:
    return f"{size / MIB:,.0f} MiB"


# ---- this environment ------------------------------------------------------------------------------------------------
def _range_of(package: str) -> str:
    """The versions of a package that grantpath allows, e.g. >=6,<7."""
    needs = metadata.requires("grantpath") or []
    found = next(need for need in needs if re.match(rf"{package}(?![\w-])", need))
    return ",".join(sorted(found.partition(";")[0].removeprefix(package).strip().split(","), reverse=True))


def driver_finding(version: str, allowed: str) -> Finding:
    """Whether the neo4j driver has a version that grantpath allows."""
    found = f"neo4j {version}; allowed are {allowed}"
    for part in allowed.split(","):
        sign, number = re.findall(r"[<>=]+|[\d.]+", part)
        if not COMPARED[sign](_numbers(version), _numbers(number)):
            return Finding("driver", found, f"pip install 'neo4j{allowed}'")
    return Finding("driver", found)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)[:3]))


def _package(name: str) -> Finding:
    """A package that an extra installs. Its absence is fine: only what needs it is missing."""
    try:
        return Finding(name, metadata.version(name))
    except metadata.PackageNotFoundError:
        return Finding(name, f"not installed; for what needs it: pip install 'grantpath[{OPTIONAL[name]}]'")
