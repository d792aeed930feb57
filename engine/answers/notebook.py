"""Answers in a notebook: small pieces of HTML without styles of their own. Names are escaped."""

from collections.abc import Mapping, Sequence
from typing import Any

from grantpath.graph.messages import as_html

SHOWN = 50  # the most rows of a table, and the most texts of a list


def verdict_html(verdict: str, words: str, lists: Sequence[tuple[str, Sequence[str]]], revision: int) -> str:
    """A verdict about a question, with labelled lists; empty lists are omitted."""
    parts = [f"<p><strong>{as_html(verdict)}</strong> {as_html(words)}</p>"]
    for label, texts in lists:
        if texts:
            items = "".join(f"<li><code>{as_html(text)}</code></li>" for text in texts[:SHOWN])
            parts.append(f"<p>{as_html(label)}</p><ul>{items}</ul>{_more(len(texts) - SHOWN)}")
    return f"<div>{''.join(parts)}<p><small>revision {revision}</small></p></div>"


def table_html(columns: Mapping[str, Sequence[Any]], revision: int, complete: bool) -> str:
    """A list as a table. The line below the table gives the revision, and tells whether the list is complete."""
    head = "".join(f"<th>{as_html(name)}</th>" for name in columns)
    rows = [*zip(*columns.values(), strict=True)]
    body = "".join(
        f"<tr>{''.join(f'<td><code>{as_html(cell)}</code></td>' for cell in row)}</tr>" for row in rows[:SHOWN]
    )
    rest = "complete" if complete else "there are more"
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{_more(len(rows) - SHOWN)}"
    return f"<div>{table}<p><small>{len(rows):,} at revision {revision}, {rest}</small></p></div>"


def _more(number: int) -> str:
    return f"<p>... and {number:,} more</p>" if number > 0 else ""
