"""The fenced code blocks of the pages, in order."""

import re
from dataclasses import dataclass
from pathlib import Path

HOUSE = Path(__file__).parents[2]
PAGES = [
    *(HOUSE / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY", "CHANGELOG")),
    *sorted((HOUSE / "docs").rglob("*.md")),
]
FENCE = re.compile(r"^( *)```([^\n]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
TITLE = re.compile(r'title="([^"]+)"')


@dataclass(frozen=True)
class Block:
    """A code block. `title` is the name of its file, or of the query that it is the output of."""

    page: str
    line: int
    language: str
    title: str
    text: str

    @property
    def first(self) -> str:
        """Its first line."""
        return self.text.partition("\n")[0]

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.language or 'no language'}: {self.first}"


def blocks(page: Path) -> list[Block]:
    """The blocks of a page."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in FENCE.finditer(text):
        language, _, rest = match[2].strip().partition(" ")
        title = TITLE.search(rest)
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(name(page), line, language, title[1] if title else "", match[3]))
    assert text.count("```") == 2 * len(found), f"{name(page)}: a fence is not closed, or not on a line of its own"
    return found


def name(page: Path) -> str:
    """The path of a page in this repository."""
    return page.relative_to(HOUSE).as_posix()
