"""Each notebook of the documentation runs, and has the output that it shows."""

from pathlib import Path

import nbformat
import pytest

from grantpath.engine.tenants import registry
from grantpath.graph.client.connection import Connection
from grantpath.graph.guard.store import Store

from .notebooks import NOTEBOOKS, executed, outputs

ROOTS = {"review": "metalake:review", "graphframes_and_sql": "metalake:graph"}


def test_every_notebook_is_listed_here() -> None:
    assert sorted(ROOTS) == sorted(path.stem for path in NOTEBOOKS)


@pytest.mark.parametrize(
    "path",
    [pytest.param(each, id=each.stem, marks=[pytest.mark.spark] if "graph" in each.stem else []) for each in NOTEBOOKS],
)
def test_notebook_has_the_output_that_it_shows(
    path: Path, server: Connection, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"URI": server.uri, "USER": server.user, "PASSWORD": server.password}.items():
        monkeypatch.setenv(f"NEO4J_{name}", value)
    try:
        found = outputs(executed(path, tmp_path))
    finally:
        registry.remove(store, ROOTS[path.stem])
    shown = outputs(nbformat.read(path, as_version=4))
    assert sum(map(len, shown)) >= 10
    assert found == shown


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_names_no_folder_of_the_machine_that_ran_it(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    printed = "\n".join(text for texts in outputs(notebook) for text in texts)
    assert "/site-packages/" not in printed and "/tmp/" not in printed
