"""The house: which package may import which, one name for each, and no Cypher put together in Python."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HOUSE = Path(__file__).parent.parent
PACKAGES = ("graph", "cypher", "engine", "spark_sync")
# engine's command line imports spark_sync too, inside the functions that need it
MAY_IMPORT = {
    "graph": {"graph"},
    "cypher": set(),
    "engine": {"engine", "graph", "cypher"},
    "spark_sync": {"spark_sync", "engine", "graph", "cypher"},
}
ASKED_OF_ENGINE = {"bounded_parquet", "policy", "near_names", "clauses", "asking", "decision", "authorizer", "roots"}
CYPHER = re.compile(r"\b(MATCH|MERGE|UNWIND|FOREACH|CREATE|CALL)\s*[({$]|\bDETACH DELETE\b|\bRETURN\s+\w+\.")
FILES = [path for package in PACKAGES for path in sorted((HOUSE / package).glob("*.py"))]


def imports(tree: ast.AST) -> Iterator[str]:
    """The grantpath modules that are imported, as `engine.policy`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "grantpath":
            module = (node.module or "").partition(".")[2]
            yield from [module] if module else [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[2] for alias in node.names if alias.name.startswith("grantpath."))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_arrows_point_one_way(path: Path) -> None:
    package, tree = path.parent.name, ast.parse(path.read_text())
    allowed = MAY_IMPORT[package]
    if path.name.startswith("cli"):
        allowed = allowed | {"spark_sync"}
        at_once = {name for node in tree.body if not isinstance(node, ast.If) for name in _of_import(node)}
        assert not {name for name in at_once if name.startswith("spark_sync")}, "Spark is loaded only when needed"
    found = set(imports(tree))
    assert {name.split(".")[0] for name in found} <= allowed
    if package == "spark_sync":
        assert {name.split(".")[1] for name in found if name.startswith("engine.")} <= ASKED_OF_ENGINE


def _of_import(node: ast.stmt) -> Iterator[str]:
    return imports(node) if isinstance(node, ast.Import | ast.ImportFrom) else iter(())


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_cypher_from_pieces(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        pieces: list[ast.AST] = []
        if isinstance(node, ast.JoinedStr):
            pieces = list(node.values)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mod):
            pieces = [node.left, node.right]
        elif (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("format", "join")
        ):
            pieces = [node.func.value, *node.args]
        for piece in pieces:
            if isinstance(piece, ast.Constant) and isinstance(piece.value, str):
                assert not CYPHER.search(piece.value), f"{path.name}:{piece.lineno} puts Cypher together"


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_has_one_name(package: str) -> None:
    run = subprocess.run([sys.executable, "-c", f"import {package}"], cwd=HOUSE, capture_output=True, text=True)
    assert f"ImportError: import grantpath.{package}, not {package}" in run.stderr
    assert (HOUSE / package / "py.typed").exists()


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_file_says_what_it_is_for(path: Path) -> None:
    text = path.read_text()
    assert ast.get_docstring(ast.parse(text))
    assert len(text.splitlines()) <= 400


ALONE = """
import importlib, sys
for name in sys.argv[1:]:
    for loaded in [each for each in sys.modules if each.startswith("grantpath.")]:
        del sys.modules[loaded]
    try:
        importlib.import_module(name)
    except Exception as error:
        print(name, error)
"""


def test_modules_that_programs_use_can_be_imported_first() -> None:
    used = ("engine.policy", "engine.roots", "engine.load", "engine.dump", "spark_sync.mirror", "spark_sync.job")
    names = [f"grantpath.{name}" for name in used]
    ran = subprocess.run([sys.executable, "-c", ALONE, *names], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
