"""The Python of docs/python.md and docs/reference runs, on the company of docs/examples."""

import re
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from grantpath.engine import Authorizer
from grantpath.engine.tenants import registry
from grantpath.graph.connection import Connection
from grantpath.graph.store import Store

HOUSE = Path(__file__).parents[2]
ROOT = "metalake:ml"
PAGES = [HOUSE / "docs" / "python.md", *sorted((HOUSE / "docs" / "reference").glob("*.md"))]
BLOCKS = [
    (page.relative_to(HOUSE).as_posix(), block)
    for page in PAGES
    for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
]


@pytest.fixture
def company(store: Store, server: Connection) -> Iterator[str]:
    """The root of the pages, under a name of the test's own."""
    name = f"metalake:blocks_{uuid.uuid4().hex[:8]}"
    facts = (HOUSE / "docs" / "examples" / "company.txt").read_text(encoding="utf-8").replace(ROOT, name)
    with Authorizer.open(name, "gravitino", create=True) as auth:
        auth.change_all([line for line in facts.splitlines() if line and not line.startswith("#")])
    yield name
    registry.remove(store, name)


def test_pages_have_python() -> None:
    assert {"docs/python.md", "docs/reference/references.md"} <= {page for page, _ in BLOCKS}


@pytest.mark.parametrize(("page", "block"), BLOCKS, ids=[f"{page} {at}" for at, (page, _) in enumerate(BLOCKS)])
def test_block_runs(company: str, page: str, block: str) -> None:
    exec(compile(block.replace(ROOT, company), page, "exec"), {})
