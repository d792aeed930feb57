"""The architecture: the imports between packages, and no Cypher in Python code."""

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[2]
PACKAGES = ("graph", "cypher", "engine", "spark_sync")
# A room is a package folder. It may import only the rooms that are listed for it.
MAY_IMPORT = {
    "cypher": set[str](),
    "graph": {"cypher"},
    "graph.artifacts": {"graph"},
    "graph.embedded": {"graph", "graph.artifacts"},
    "engine.policy": {"graph"},
    "engine.tenants": {"graph", "engine.policy"},
    "engine.decide": {"graph", "engine.policy"},
    "engine.facts": {"graph", "engine.policy", "engine.tenants", "engine.decide"},
    "engine.inspection": {"graph", "engine.policy", "engine.decide"},
    "engine.change": {"graph", "engine.policy", "engine.tenants", "engine.decide"},
    "engine.transfer": {"graph", "engine.policy", "engine.tenants", "engine.change"},
    "engine": {
        "graph",
        "graph.embedded",
        "engine.policy",
        "engine.tenants",
        "engine.decide",
        "engine.facts",
        "engine.inspection",
        "engine.change",
    },
    "engine.front": {"engine"},
    "engine.scenarios": {"graph", "engine.policy", "engine.tenants", "engine"},
    "spark_sync": {
        "graph",
        "graph.artifacts",
        "graph.embedded",
        "engine.policy",
        "engine.tenants",
        "engine.change",
        "engine.facts",
    },
    "engine.cli": {
        "graph",
        "graph.embedded",
        "engine.policy",
        "engine.tenants",
        "engine.decide",
        "engine.inspection",
        "engine.change",
        "engine.transfer",
        "engine",
        "engine.scenarios",
        "spark_sync",
    },
}
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


def room_of(path: Path) -> str:
    return ".".join(path.relative_to(HOUSE).parent.parts)


def imports(tree: ast.AST) -> Iterator[str]:
    """The imported names of grantpath, e.g. `engine.policy.policy.load`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "grantpath":
            module = (node.module or "").partition(".")[2]
            yield from (f"{module}.{alias.name}" if module else alias.name for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[2] for alias in node.names if alias.name.startswith("grantpath."))


def imported_room(name: str) -> str:
    parts = name.split(".")
    return next(room for end in range(len(parts), 0, -1) if (room := ".".join(parts[:end])) in MAY_IMPORT)


def arrows() -> dict[str, set[str]]:
    """For each room, the rooms that it imports; imports inside functions and for types count too."""
    found = defaultdict(set)
    for path in FILES:
        for name in imports(ast.parse(path.read_text())):
            if imported_room(name) != room_of(path):
                found[room_of(path)].add(imported_room(name))
    return found


def test_rooms_import_exactly_the_rooms_in_the_matrix() -> None:
    found = arrows()
    assert {room: found.get(room, set()) for room in MAY_IMPORT} == MAY_IMPORT
    assert {room_of(path) for path in FILES} == set(MAY_IMPORT)


def test_architecture_page_shows_the_matrix() -> None:
    page = (HOUSE / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \d \| `(\S+)` \| (.*) \|$", page, re.MULTILINE)
    assert {room: set(re.findall(r"`(\S+?)`", imported)) for room, imported in rows} == MAY_IMPORT


def test_imports_have_no_cycle() -> None:
    def follow(room: str, above: tuple[str, ...] = ()) -> None:
        assert room not in above, f"a cycle: {' -> '.join((*above, room))}"
        for below in MAY_IMPORT[room]:
            follow(below, (*above, room))

    for room in MAY_IMPORT:
        follow(room)


@pytest.mark.parametrize("path", [path for path in FILES if room_of(path) == "engine.cli"], ids=name_of)
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
    return isinstance(node, ast.Call) and ast.unparse(node.func) in ("cypher.load", "load_query")


@pytest.mark.parametrize("path", [path for path in FILES if room_of(path) != "cypher"], ids=name_of)
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
    assert splits is (name_of(path) == "graph/reference.py" or name_of(path) in NOT_REFERENCES)


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


NEEDS_SPARK_4 = {"grantpath.spark_sync.data_source"}  # tests/spark/test_data_source.py imports it


@pytest.mark.slow
def test_every_module_can_be_imported_first() -> None:
    found = {f"grantpath.{name_of(path)[:-3].replace('/', '.')}" for path in FILES if path.stem[:2] != "__"}
    names = sorted(found - NEEDS_SPARK_4)
    ran = subprocess.run([sys.executable, "-c", ALONE, *names], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
