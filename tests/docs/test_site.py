"""The pages build to a site without a warning; each page is in its navigation, and each command in its reference."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[2]
DOCS = HOUSE / "docs"


def test_every_page_is_in_the_navigation() -> None:
    listed = re.findall(r"[\w/-]+\.md", (HOUSE / "mkdocs.yml").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    subprocess.run(["make", "--silent", "types"], cwd=HOUSE, check=True)  # the API is read from this folder
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=HOUSE,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (built.returncode, "WARNING" in built.stderr) == (0, False), built.stderr
    commands = (tmp_path / "site" / "reference" / "commands" / "index.html").read_text(encoding="utf-8")
    assert re.search(r'<h2 id="grantpath-policy-verify"', commands) and "Exit code 0: allowed" in commands
    api = (tmp_path / "site" / "reference" / "api" / "index.html").read_text(encoding="utf-8")
    for method in ("check", "check_many", "explain", "revocation", "who", "which", "change", "change_all", "log"):
        assert f'id="grantpath.engine.authorizer.authorizer.Authorizer.{method}"' in api, method
