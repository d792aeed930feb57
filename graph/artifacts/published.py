"""Files of a Maven repository, checked against the checksum that the repository publishes beside each of them.

No lock file lists these files, because their version is that of a package which the user installed. The checksum finds
a damaged download; who can change the repository can change both.
"""

import hashlib
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass

from grantpath.graph.artifacts.maven import NotFetched, Repository, drop_namespaces, read
from grantpath.graph.errors import ServerError

CHECKSUMS = {"sha256": 64, "sha1": 40}  # in this order: Maven Central has a SHA-1 of each file, a SHA-256 only of some
LONGEST = 50_000_000  # bytes
SECONDS = 10.0  # to wait for an answer; asked once, because something else can be used instead


@dataclass(frozen=True)
class Coordinate:
    """Group, artifact and version."""

    group: str
    artifact: str
    version: str

    def __str__(self) -> str:
        return f"{self.group}:{self.artifact}:{self.version}"

    def path(self, kind: str) -> str:
        """The path of its file of this kind (jar, pom) in a repository."""
        folder = f"{self.group.replace('.', '/')}/{self.artifact}/{self.version}"
        return f"{folder}/{self.artifact}-{self.version}.{kind}"


def fetch_with_needed(source: Repository, wanted: Coordinate) -> dict[Coordinate, bytes]:
    """The jar, and those of the same group that it needs according to its pom, each checked.

    Raises NotFetched if the repository does not give one of the files, or no checksum of it; ServerError if a file is
    not the one that its checksum is of.
    """
    found: dict[Coordinate, bytes] = {}
    missing = [wanted]
    while missing:
        each = missing.pop()
        needed = _needed(_fetch(source, each, "pom"), each)
        found[each] = _fetch(source, each, "jar")
        missing += [other for other in needed if other not in found]
    return found


def _fetch(source: Repository, wanted: Coordinate, kind: str) -> bytes:
    """The bytes of one file; a damaged download is repeated once."""
    path = wanted.path(kind)
    content, algorithm, expected, got = b"", "", "", ""
    for _ in range(2):
        content = read(source, path, LONGEST, 1, SECONDS)
        algorithm, expected = _checksum(source, path)
        got = hashlib.new(algorithm, content, usedforsecurity=False).hexdigest()
        if got == expected:
            return content
    raise ServerError(
        f"{wanted}: {path.rpartition('/')[2]} from {source.address} is not the file that its checksum is of: "
        f"expected {algorithm} {expected}, got {len(content)} bytes with {got}; try again, or name another mirror in "
        "GRANTPATH_MAVEN"
    )


def _checksum(source: Repository, path: str) -> tuple[str, str]:
    """The best checksum that the repository has of this file: its algorithm and value."""
    for algorithm, digits in CHECKSUMS.items():
        try:
            text = read(source, f"{path}.{algorithm}", 1000, 1, SECONDS).decode("ascii", "replace")
        except NotFetched as error:
            if str(error) != "HTTP 404":
                raise
            continue
        # some repositories write the name of the file behind the value
        if value := re.match(rf"\s*([0-9a-fA-F]{{{digits}}})(?:\s|\Z)", text):
            return algorithm, value[1].lower()
        raise NotFetched(f"{path.rpartition('/')[2]}.{algorithm} is not a checksum")
    raise NotFetched(f"no checksum of {path.rpartition('/')[2]}")


def _needed(pom: bytes, of: Coordinate) -> list[Coordinate]:
    """The artifacts of the same group that are needed at run time. Raises NotFetched if the pom cannot be read."""
    try:
        tree = ElementTree.fromstring(pom)
    except ElementTree.ParseError as error:
        raise NotFetched(f"the pom of {of} is not XML ({error})") from error
    drop_namespaces(tree.iter())
    needed = []
    for each in tree.iterfind("dependencies/dependency"):
        group, artifact, version, scope = (
            each.findtext(name, "").strip() for name in ("groupId", "artifactId", "version", "scope")
        )
        if group == of.group and scope in ("", "compile", "runtime"):
            if not all(re.fullmatch(r"[\w.+-]+", part) for part in (artifact, version)):
                raise NotFetched(f"the pom of {of} names no version of {artifact}")
            needed.append(Coordinate(group, artifact, version))
    return needed
