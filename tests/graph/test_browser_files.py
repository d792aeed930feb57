"""The folder from which the server serves Neo4j Browser, and pages of grantpath beside it."""

import zipfile
from pathlib import Path

import pytest

from grantpath.graph.embedded.browser_files import FOLDER, unpacked, write_page
from grantpath.graph.errors import ServerError


@pytest.fixture
def jars(tmp_path: Path) -> list[Path]:
    jar = tmp_path / "neo4j-browser-5.24.0.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", "no part of Browser")
        archive.writestr("browser/index.html", "the page")
        archive.writestr("browser/assets/logo.svg", "the logo")
    return [tmp_path / "neo4j-5.26.30.jar", jar]


def test_browser_is_unpacked_once_and_pages_stay(tmp_path: Path, jars: list[Path]) -> None:
    home = tmp_path / "home"
    (home / FOLDER).mkdir(parents=True)
    served = unpacked(jars, home / FOLDER)
    assert (served / "browser" / "index.html").read_text() == "the page"
    assert sorted(each.name for each in served.iterdir()) == ["browser"]
    write_page(home, "guide.html", "a guide")
    assert unpacked(jars, home / FOLDER) == served
    assert (served / "browser" / "grantpath" / "guide.html").read_text() == "a guide"


def test_interrupted_unpacking_is_repeated(tmp_path: Path, jars: list[Path]) -> None:
    half = tmp_path / FOLDER / "neo4j-browser-5.24.new" / "browser"
    half.mkdir(parents=True)
    (half / "left.html").write_text("of an interrupted start")
    served = unpacked(jars, tmp_path / FOLDER)
    assert sorted(each.name for each in (served / "browser").iterdir()) == ["assets", "index.html"]
    assert [each.name for each in (tmp_path / FOLDER).iterdir()] == ["neo4j-browser-5.24.0"]


def test_errors_name_the_remedy(tmp_path: Path, jars: list[Path]) -> None:
    with pytest.raises(ServerError, match=r"none of the server's jars is Neo4j Browser .*; install another version"):
        unpacked(jars[:1], tmp_path)
    with pytest.raises(ServerError, match="run `grantpath down`, then `grantpath browser`"):
        write_page(tmp_path, "guide.html", "a guide")
