"""Names are shown by Markdown as they are, in a paragraph and in the cell of a table."""

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from grantpath.graph.messages import as_markdown

NAMES = [
    "user:ann_b",
    "x_ü_y",
    "_x_",
    "__x__",
    "a__b__c",
    "é_x_é",
    "`code`",
    "*bold*",
    "**bold**",
    "<b>",
    "a > b",
    "[text](https://a.example)",
    "![image](x)",
    "]",
    "a|b",
    "~~gone~~",
    "&amp;",
    "#",
    r"back\slash",
    r"\*",
    r"a\|b",
]
READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


@pytest.mark.parametrize("name", NAMES)
def test_markdown_shows_a_name_as_it_is(name: str) -> None:
    text = as_markdown(name)
    [paragraph] = inline(text)
    assert shown(paragraph) == name
    head, cell = inline(f"| head |\n| --- |\n| {text} |\n")
    assert (shown(head), shown(cell)) == ("head", name)


def test_names_that_are_only_words_are_not_escaped() -> None:
    assert as_markdown("user:ann_b can SELECT_TABLE on table:hr.public.staff") == (
        "user:ann_b can SELECT_TABLE on table:hr.public.staff"
    )
    assert as_markdown("x_ü_y") == "x_ü_y"
    assert as_markdown("a\nb") == r"$'a\\nb'"


def inline(text: str) -> list[Token]:
    return [token for token in READER.parse(text) if token.type == "inline"]


def shown(token: Token) -> str:
    """The text of a line without any mark-up."""
    children = token.children or []
    assert {each.type for each in children} <= {"text"}
    return "".join(each.content for each in children)
