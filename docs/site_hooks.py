"""Hooks of mkdocs: links to files outside of docs/ become plain text, and the page of commands gets their help."""

import os
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from typing import Any
from unittest.mock import patch

OUTSIDE = re.compile(r"!?\[([^\]]*)\]\((?:\.\./)+(?:cypher|engine|graph|spark_sync|tests|benchmarks)/[^)\s]*\)")
COMMANDS = "<!-- the help of every command -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The source files are not part of the site."""
    markdown = OUTSIDE.sub(r"\1", markdown)
    return markdown.replace(COMMANDS, "\n".join(_help())) if COMMANDS in markdown else markdown


def _help() -> Iterator[str]:
    """The help of each command, as a terminal of 100 columns shows it."""
    from typer.main import get_command

    from grantpath.engine.cli.main import app

    for words in _commands(get_command(app), []):
        yield f"## {' '.join(['grantpath', *words])}\n\n```text\n{_shown(words)}\n```\n"


def _commands(command: Any, words: list[str]) -> Iterator[list[str]]:
    yield words
    for name, inner in sorted(getattr(command, "commands", {}).items()):
        yield from _commands(inner, [*words, name])


def _shown(words: list[str]) -> str:
    from grantpath.engine.cli.main import main

    with patch.dict(os.environ, COLUMNS="100", TERMINAL_WIDTH="100"), redirect_stdout(StringIO()) as printed:
        main([*words, "--help"])
    return "\n".join(line.rstrip() for line in printed.getvalue().strip().splitlines())
