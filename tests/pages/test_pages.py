"""Every code block of the README and the docs runs, in the order of its page, and prints what the page shows."""

import re
from contextlib import nullcontext
from pathlib import Path

import pytest

from grantpath.graph.guard.store import Store

from ..support.object_store import object_store
from ..support.page_blocks import HOUSE, PAGES, Block, blocks, name
from ..support.page_session import session
from .registry import EXCEPTIONS, EXCERPTS, NOT_RUN, PLANS, Plan

BLOCKS = {name(page): found for page in PAGES if (found := blocks(page))}
SPARK = [
    pytest.mark.spark,
    # GraphFrames 0.8 uses deprecated names of Spark
    pytest.mark.filterwarnings("ignore:DataFrame constructor is internal:UserWarning"),
    pytest.mark.filterwarnings("ignore:DataFrame.sql_ctx is an internal property:UserWarning"),
]
RUN = ("console", "python", "cypher", "sql", "yaml")


def key(block: Block) -> tuple[str, str]:
    return block.page, block.first


def is_run(block: Block) -> bool:
    return key(block) not in EXCERPTS and key(block) not in EXCEPTIONS and block.language != "mermaid"


def marked(page: str) -> object:
    """The page, for parametrize."""
    plan = PLANS.get(page, Plan())
    return pytest.param(page, marks=[*SPARK * plan.spark, *[pytest.mark.slow] * plan.slow])


@pytest.mark.parametrize("page", [*map(marked, BLOCKS)])
def test_blocks_of_the_page_run_in_order(store: Store, tmp_path: Path, page: str) -> None:
    plan = PLANS.get(page, Plan())
    bucket = object_store(plan.bucket) if plan.bucket else nullcontext()
    with bucket, session(store, tmp_path, NOT_RUN) as opened:
        for line in plan.setup:
            printed, code = opened.command(line)
            assert code == 0, (line, printed)
        opened.define(plan.names)
        for block in filter(is_run, BLOCKS[page]):
            try:
                opened.run(block)
            except Exception as error:
                error.add_note(str(block))
                raise


def test_every_block_is_run_or_listed() -> None:
    unknown = []
    for found in BLOCKS.values():
        for before, block in zip([None, *found], found, strict=False):
            follows = before is not None and before.language in RUN
            ways = block.language in RUN or (block.language == "text" and follows)
            if is_run(block) and not (ways or block.title):
                unknown.append(str(block))
            if is_run(block) and block.language == "console" and not block.text.startswith("$ "):
                unknown.append(f"{block}: begin a command with `$ `")
    assert unknown == [], "give the block a language, or list it in registry.py with the reason"
    assert sum(map(len, BLOCKS.values())) > 45


def test_what_is_listed_is_on_the_pages() -> None:
    every = {key(block) for found in BLOCKS.values() for block in found}
    assert (EXCERPTS.keys() | EXCEPTIONS.keys()) - every == set()
    assert set(PLANS) <= set(BLOCKS)
    typed = "\n".join(block.text for found in BLOCKS.values() for block in found)
    assert [each for each in NOT_RUN if f"$ {each}" not in typed] == []
    assert len(EXCEPTIONS) <= 6


@pytest.mark.parametrize("listed", EXCERPTS, ids=lambda listed: f"{listed[0]} {listed[1]}")
def test_excerpt_is_in_its_file(listed: tuple[str, str]) -> None:
    [block] = [block for block in BLOCKS[listed[0]] if key(block) == listed]
    lines = (HOUSE / EXCERPTS[listed]).read_text(encoding="utf-8").splitlines()
    patterns = [
        re.sub(r"\\{\w+\\}", ".*", re.escape(line.strip())) for line in lines
    ]  # `{name}`: filled in by the test
    wanted = [line.strip() for line in block.text.splitlines()]
    assert wanted and [line for line in wanted if not any(re.fullmatch(each, line) for each in patterns)] == []
