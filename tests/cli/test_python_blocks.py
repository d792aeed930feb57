"""The Python of docs/python.md, docs/async.md and docs/reference runs, on the company of docs/examples."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from grantpath.graph.store import Store

from ..support import named_roots

HOUSE = Path(__file__).parents[2]
PAGES = [
    *(HOUSE / "docs" / f"{name}.md" for name in ("python", "async")),
    *sorted((HOUSE / "docs/reference").glob("*.md")),
]
BLOCKS = [
    (page.relative_to(HOUSE).as_posix(), block)
    for page in PAGES
    for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
]


@pytest.fixture
def company(store: Store) -> Iterator[str]:
    with named_roots.company(store, "blocks") as name:
        yield name


def test_pages_have_python() -> None:
    assert {"docs/python.md", "docs/async.md", "docs/reference/references.md"} <= {page for page, _ in BLOCKS}


@pytest.mark.parametrize(("page", "block"), BLOCKS, ids=[f"{page} {at}" for at, (page, _) in enumerate(BLOCKS)])
def test_block_runs(company: str, page: str, block: str) -> None:
    exec(compile(block.replace(named_roots.COMPANY_ROOT, company), page, "exec"), {})
