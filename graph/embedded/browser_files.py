"""Unpacks Neo4j Browser into a folder and adds pages of grantpath, so that the server serves both."""

import shutil
import zipfile
from pathlib import Path

from grantpath.graph.errors import ServerError

JAR = "neo4j-browser-"
FOLDER = "browser"  # in the folder of the server
OWN = "grantpath"  # the folder of grantpath's pages, inside that of Browser


def unpacked(jars: list[Path], folder: Path) -> Path:
    """Unpacks Browser's jar in `folder` if necessary. Returns a folder that must be before the jars on the class path.

    The server serves the first `browser` that it finds on its class path. Raises ServerError if no jar is Browser's.
    """
    jar = next((each for each in jars if each.name.startswith(JAR)), None)
    if jar is None:
        raise ServerError(
            f"none of the server's jars is Neo4j Browser ({JAR}*.jar); install another version of grantpath, or name a "
            "server by --uri or NEO4J_URI"
        )
    done = folder / jar.stem
    if not done.exists():
        fresh = done.with_suffix(".new")
        shutil.rmtree(fresh, ignore_errors=True)  # of an interrupted start
        with zipfile.ZipFile(jar) as archive:
            archive.extractall(fresh, [name for name in archive.namelist() if name.startswith("browser/")])
        fresh.replace(done)
    return done


def write_page(home: Path, name: str, text: str) -> None:
    """Writes a page that the server of `home` serves as /browser/grantpath/NAME.

    Raises ServerError if the server was started by a version of grantpath that could not serve pages.
    """
    found = sorted((home / FOLDER).glob(f"{JAR}*/browser"))
    if not found:
        raise ServerError("the running server cannot serve the guide; run `grantpath down`, then `grantpath browser`")
    for each in found:
        (each / OWN).mkdir(exist_ok=True)
        (each / OWN / name).write_text(text, encoding="utf-8")
