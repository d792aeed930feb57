"""Writes graph/neo4j-*.lock, the list of jars that make one Neo4j Community server (for maintainers).

It wants Maven.
Use: python make_lock.py 5.26 5.26.30
     python make_lock.py 2026 2026.08.1
"""

import hashlib
import subprocess
import sys
import tempfile
from pathlib import Path

BROWSER = "5.24.0"  # the last Browser published as a jar; it speaks to both server lines
LISTER = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:list"
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>local</groupId><artifactId>lock</artifactId><version>1</version><packaging>pom</packaging>
<dependencies>{}</dependencies></project>
"""
DEPENDENCY = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"


def resolve(roots: list[tuple[str, str, str]]) -> list[str]:
    """Maven's answer for these roots: lines `group:artifact:jar[:classifier]:version:scope:path ...`."""
    with tempfile.TemporaryDirectory() as folder:
        pom = Path(folder) / "pom.xml"
        pom.write_text(POM.format("".join(DEPENDENCY.format(*root) for root in roots)))
        listing = Path(folder) / "list.txt"
        options = [
            f"-DoutputFile={listing}",
            "-DincludeScope=runtime",
            "-DoutputAbsoluteArtifactFilename=true",
        ]
        subprocess.run(["mvn", "-q", "-B", "-f", str(pom), LISTER, *options], check=True)
        return [line.strip() for line in listing.read_text().splitlines() if line.startswith("   ")]


def lock_line(resolved: str) -> str:
    """One line of the lock file: `group:artifact:version[:classifier] sha256 size`."""
    words = resolved.split(" -- ")[0].split(":")
    group, artifact, kind, *classifier = words[:-3]
    version, _scope, path = words[-3:]
    if kind != "jar":
        raise SystemExit(f"{resolved}: only jars can be locked")
    content = Path(path).read_bytes()
    coordinate = ":".join([group, artifact, version, *classifier])
    return f"{coordinate} {hashlib.sha256(content).hexdigest()} {len(content)}"


def main(line: str, version: str) -> None:
    roots = [
        ("org.neo4j", "neo4j", version),
        ("org.neo4j.app", "neo4j-server", version),
        ("org.neo4j.client", "neo4j-browser", BROWSER),
    ]
    lines = sorted(lock_line(resolved) for resolved in resolve(roots))
    target = Path(__file__).parent.parent / "graph" / "artifacts" / f"neo4j-{line}.lock"
    header = f"# Neo4j Community {version} by make_lock.py: group:artifact:version[:classifier] sha256 size"
    target.write_text("\n".join([header, *lines]) + "\n")
    print(f"{target.name}: {len(lines)} jars, {sum(int(row.split()[-1]) for row in lines) / 1e6:.0f} MB")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(sys.argv[1], sys.argv[2])
