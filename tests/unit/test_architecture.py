"""The architecture: the layers of the packages, and no Cypher in Python code."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[2]
PACKAGES = ("graph", "cypher", "engine", "spark_sync")
# A package imports only packages of lower layers. `engine` and `spark_sync` also stand for the modules of those folders
# themselves, and `engine.cli` for its folders.
LAYERS = (
    {"cypher", "graph"},
    {"engine.facts", "graph.language"},
    {"engine.policy", "graph.client", "graph.files"},
    {"graph.artifacts", "graph.guard"},
    {"engine.answers", "engine.tenants", "graph.embedded"},
    {"engine.advise", "engine.change", "engine.facts.kernel", "engine.inspection"},
    {"engine.facts.set", "engine.transfer"},
    {"engine.facts.compare", "engine.facts.snapshot"},
    {"engine.facts.copy", "spark_sync.session", "spark_sync.versions"},
    {"engine.past", "spark_sync.mirroring", "spark_sync.tables"},
    {"engine.authorizer", "spark_sync.bulk", "spark_sync.following"},
    {"engine.memory"},
    {"engine", "engine.scenarios", "spark_sync.reporting"},
    {"engine.front", "spark_sync"},
    {"engine.cli"},
)
LAYER = {package: at for at, packages in enumerate(LAYERS) for package in packages}
KEYWORDS = (
    "MATCH MERGE UNWIND FOREACH CREATE CALL RETURN DELETE DETACH SHOW TERMINATE OPTIONAL YIELD WHERE SET WITH DROP"
    " ALTER REMOVE EXPLAIN PROFILE UNION LIMIT ORDER"
)
CYPHER = re.compile(
    rf"\b({KEYWORDS.replace(' ', '|')})\b"  # in our own style
    r"|(?i:\b(match|merge|unwind|foreach|create|delete)\s*[({$])"  # and in other letter case
    r"|-\[\w*:|\]->\(|\)-\["
)
FILES = [path for package in PACKAGES for path in sorted((HOUSE / package).rglob("*.py"))]


def name_of(path: Path) -> str:
    return path.relative_to(HOUSE).as_posix()


def package_of(path: Path) -> str:
    return named_package(".".join(path.relative_to(HOUSE).parent.parts))


def imports(tree: ast.AST) -> Iterator[str]:
    """The imported names of grantpath, e.g. `engine.policy.policy.load`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "grantpath":
            module = (node.module or "").partition(".")[2]
            yield from (f"{module}.{alias.name}" if module else alias.name for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[2] for alias in node.names if alias.name.startswith("grantpath."))


def named_package(name: str) -> str:
    """The package of a dotted name of grantpath."""
    parts = name.split(".")
    return next(package for end in range(len(parts), 0, -1) if (package := ".".join(parts[:end])) in LAYER)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_package_imports_only_lower_layers(path: Path) -> None:
    """Imports inside functions count, and so do imports for types. So packages cannot form a cycle."""
    package = package_of(path)
    imported = {named_package(name) for name in imports(ast.parse(path.read_text()))} - {package}
    assert not {each for each in imported if LAYER[each] >= LAYER[package]}


def test_layers_name_every_package() -> None:
    folders = {".".join(path.relative_to(HOUSE).parent.parts) for path in FILES}
    assert {folder for folder in folders if not folder.startswith("engine.cli.")} == set(LAYER)


def test_architecture_page_shows_the_layers() -> None:
    page = (HOUSE / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| (.*) \|$", page, re.MULTILINE)
    assert [(int(at), set(re.findall(r"`(\S+?)`", packages))) for at, packages in rows] == [
        (at + 1, packages) for at, packages in enumerate(LAYERS)
    ]


@pytest.mark.parametrize("path", [path for path in FILES if package_of(path) == "engine.cli"], ids=name_of)
def test_spark_is_loaded_only_when_needed(path: Path) -> None:
    at_once = {name for node in ast.parse(path.read_text()).body for name in _of_import(node)}
    assert not {name for name in at_once if name.startswith("spark_sync")}


def _of_import(node: ast.stmt) -> Iterator[str]:
    return imports(node) if isinstance(node, ast.Import | ast.ImportFrom) else iter(())


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_no_cypher_in_python(path: Path) -> None:
    """Not even fragments: only docstrings contain Cypher keywords in capitals, or Cypher patterns."""
    tree = ast.parse(path.read_text())
    described = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, described) and ast.get_docstring(node) and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes) and node not in docstrings:
            text = node.value if isinstance(node.value, str) else node.value.decode("latin-1")
            assert not CYPHER.search(text), f"{path.name}:{node.lineno} has Cypher; put it into a file in cypher/"


def is_loaded_query(node: ast.AST, loaded: set[str]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in loaded
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "cypher.load"


@pytest.mark.parametrize("path", [path for path in FILES if package_of(path) != "cypher"], ids=name_of)
def test_queries_are_sent_by_run_which_checks_the_header(path: Path) -> None:
    tree = ast.parse(path.read_text())
    for scope in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
        loaded = {
            target.id
            for node in ast.walk(scope)
            if isinstance(node, ast.Assign)
            for goal, value in _assigned(node)
            if is_loaded_query(value, set())
            for target in [goal]
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(scope):
            if isinstance(node, ast.Attribute) and is_loaded_query(node.value, loaded):
                assert node.attr == "run", f"{path.name}:{node.lineno} sends a query without Query.run"


def _assigned(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Each assigned target with its value, also inside tuples."""
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=True)
        else:
            yield target, node.value


@pytest.mark.parametrize("package", PACKAGES)
def test_package_has_one_name(package: str) -> None:
    run = subprocess.run([sys.executable, "-c", f"import {package}"], cwd=HOUSE, capture_output=True, text=True)
    assert f"ImportError: import grantpath.{package}, not {package}" in run.stderr
    assert (HOUSE / package / "py.typed").exists()


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_file_has_a_docstring(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text()))


REFERENCE_SPLIT = re.compile(r"""\.r?(partition|split)\(f?["']:["']""")
NOT_REFERENCES = {
    "graph/artifacts/jars.py": "the coordinate of a Maven artifact",
    "engine/scenarios/runner.py": "the class of an error before its message",
}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_only_one_file_splits_references(path: Path) -> None:
    splits = bool(REFERENCE_SPLIT.search(path.read_text()))
    assert splits is (name_of(path) == "graph/language/reference.py" or name_of(path) in NOT_REFERENCES)


FACT_SPLIT = re.compile(r"""(split|partition)\(["'] (below )?["']\)|startswith\(["'](ALLOW|DENY|OWNS|HOLDS|EVERY)""")


@pytest.mark.parametrize("path", [path for path in FILES if "facts" in path.read_text()], ids=name_of)
def test_only_one_file_splits_facts(path: Path) -> None:
    names = {name for name in imports(ast.parse(path.read_text())) if name.startswith("engine.policy.facts.")}
    assert not names or not FACT_SPLIT.search(path.read_text())


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


NEEDS_SPARK_4 = {"grantpath.spark_sync.data_source"}  # tests/spark_sync/test_data_source.py imports it


@pytest.mark.slow
def test_every_module_can_be_imported_first() -> None:
    found = {f"grantpath.{name_of(path)[:-3].replace('/', '.')}" for path in FILES if path.stem[:2] != "__"}
    found = {name.replace("grantpath.engine.front.", "grantpath.") for name in found}
    names = sorted(found - NEEDS_SPARK_4)
    ran = subprocess.run([sys.executable, "-c", ALONE, *names], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
