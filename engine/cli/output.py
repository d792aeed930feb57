"""Output of the commands: answers to standard output, everything else to standard error; JSON on request."""

import json
import shlex
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from grantpath.graph.errors import GrantpathError
from grantpath.graph.messages import printable
from grantpath.graph.progress import ReportCount, ReportLine

if TYPE_CHECKING:  # imported when something is printed: it takes long
    from pydantic import BaseModel
    from rich.console import Console
    from rich.text import Text

WIDE = 10_000
SHOWN = 20  # the number of statements that a list shows
_QUIET = ContextVar("quiet", default=False)


@contextmanager
def quietly(quiet: bool) -> Iterator[None]:
    """Prints no progress and no notes in the block if `quiet`. Answers, errors, warnings and notes that an answer is
    incomplete are printed."""
    before = _QUIET.set(quiet)
    try:
        yield
    finally:
        _QUIET.reset(before)


def out() -> "Console":
    """The console for answers. Lines are not wrapped, and in a pipe tables have their full width."""
    return page(soft_wrap=True)


def page(soft_wrap: bool = False, quiet: bool = False) -> "Console":
    """The console for prose: wrapped at the width of a terminal; not wrapped in a pipe, so that grep finds its text."""
    from rich.console import Console

    from grantpath.engine.cli.trimmed_console import TrimmedConsole

    console = Console(highlight=False, soft_wrap=soft_wrap, markup=False, emoji=False, quiet=quiet)
    if console.is_terminal:
        return console
    return TrimmedConsole(highlight=False, soft_wrap=soft_wrap, markup=False, emoji=False, quiet=quiet, width=WIDE)


def err() -> "Console":
    """The console for errors, warnings and questions."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True, markup=False, emoji=False)


def warn(text: str, style: str) -> None:
    """Prints a warning, or what a question is about, to standard error."""
    err().print(styled(text, style))


def note(text: str, style: str = "dim", partial: bool = False) -> None:
    """Prints a note to standard error, unless --quiet is given; also then if it says that the answer is `partial`."""
    if partial or not _QUIET.get():
        warn(text, style)


def starting() -> ReportLine | None:
    """The function that reports the start of the embedded server: it prints nothing with --quiet; None means the
    default, standard error."""
    return (lambda text: None) if _QUIET.get() else None


def emit(value: Any) -> None:
    """Prints a JSON value on one line."""
    print(json.dumps(value, ensure_ascii=False), flush=True)


def emit_model(answer: "BaseModel") -> None:
    """Prints an answer as JSON on one line."""
    print(answer.model_dump_json(), flush=True)


def show_lines(texts: Iterable[str]) -> None:
    """Prints each text on a line, in its printed form."""
    for text in texts:
        print(printable(text))


def shell_word(text: str) -> str:
    """The text as one word of bash and zsh, for a command that a person can paste."""
    return shlex.quote(text) if text.isprintable() else printable(text)


def styled(text: str, style: str = "") -> "Text":
    """Text for the console, in its printed form."""
    from rich.text import Text

    return Text(printable(text), style)


def signed(sign: str, fact: str, style: str = "") -> "Text":
    """A fact with its sign. The sign is outside the quotes of the printed form, so that the fact can be pasted."""
    from rich.text import Text

    return Text(f"{sign} {printable(fact)}", style)


def lines(console: "Console", label: str, texts: list[str], style: str = "dim") -> None:
    """Prints indented lines, the first with a label; wrapped lines keep the indent."""
    from rich.table import Table
    from rich.text import Text

    from grantpath.engine.cli.fitted_cells import broken

    grid = Table.grid(padding=(0, 1))
    for at, text in enumerate(texts):
        head = Text(f"  {label if at == 0 else '':<8}", style)
        if console.soft_wrap:
            console.print(head, printable(text))
        else:
            grid.add_row(head, broken(styled(text), console.width - head.cell_len - 1))
    if grid.row_count:
        console.print(grid)


def show_table(
    heads: Sequence[str],
    rows: Iterable[Sequence["str | Text"]],
    numbers: Collection[str] = (),
    console: "Console | None" = None,
) -> None:
    """Prints a table, unless it is empty: it breaks its cells at the width of a terminal, and is complete in a pipe.

    If its columns do not fit, each cell has a line of its own, behind its head. `numbers` are the heads of the columns
    that are aligned to the right.
    """
    from rich.table import Table
    from rich.text import Text

    from grantpath.engine.cli.fitted_cells import fitted

    printed = [[cell if isinstance(cell, Text) else styled(cell) for cell in row] for row in rows]
    if not printed:
        return
    console, gaps = console or out(), 2 * (len(heads) - 1)
    (first, *cells), width = fitted([[*map(styled, heads)], *printed], console.width - gaps)
    if width + gaps > console.width:
        _show_records(console, heads, printed)
        return
    table = Table(box=None, pad_edge=False, header_style="bold", width=width + gaps)
    for name, head in zip(heads, first, strict=True):
        table.add_column(head, justify="right" if name in numbers else "left")
    for row in cells:
        table.add_row(*row)
    console.print(table, soft_wrap=False, crop=False)


def _show_records(console: "Console", heads: Sequence[str], rows: Sequence[Sequence["Text"]]) -> None:
    """Prints the cells of a table that is too wide, one below the other, without the empty ones."""
    named = [styled(head, "bold") for head in heads]
    room = max(head.cell_len for head in named) + 2
    for number, row in enumerate(rows):
        if number:
            console.print()
        for head, cell in zip(named, row, strict=True):
            if cell.plain:
                console.print(head, " " * (room - head.cell_len), cell, sep="")


def show_lists(lists: Sequence[tuple[str, Sequence[str]]]) -> None:
    """Prints the first statements of each list with the list's sign; for entities, only the reference."""
    for sign, statements in lists:
        for each in statements[:SHOWN]:
            out().print(signed(f"  {sign}", each.removeprefix("add ")))
        if len(statements) > SHOWN:
            out().print(styled(f"  {sign} ... and {len(statements) - SHOWN:,} more; --json has all of them", "dim"))


@contextmanager
def reporting(what: str) -> Iterator[ReportLine]:
    """Reports progress as lines of text; on a terminal with a moving bar below them; --quiet omits both."""
    if _QUIET.get():
        yield lambda text: None
        return
    console = err()
    if not console.is_terminal:
        yield lambda text: print(text, file=sys.stderr, flush=True)
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        bar.add_task(what, total=None)
        yield lambda text: bar.console.print(styled(text, "dim"))


@contextmanager
def counting() -> Iterator[ReportCount]:
    """Reports progress as numbers (what, done, total): as a bar on a terminal, elsewhere one line per `what`."""
    if _QUIET.get():
        yield lambda what, done, of: None
        return
    console = err()
    if not console.is_terminal:
        seen: set[str] = set()

        def plain(what: str, done: int, of: int) -> None:
            if what not in seen:
                seen.add(what)
                print(f"{what} ({of:,})", file=sys.stderr, flush=True)

        yield plain
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        tasks: dict[str, Any] = {}

        def count(what: str, done: int, of: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=of)
            bar.update(tasks[what], completed=done, total=of)

        yield count


def about_item(error: GrantpathError, what: str, before: str = "", after: str = "") -> GrantpathError:
    """The same error about an item of a batch, `what` it is, without its number at the start of the text. People count
    lines, so `before` can name the line instead; `after` is added at the end."""
    text = str(error).removeprefix(f"{what} {error.index}: ")
    return error.reworded(f"{before}{text}{after}")


def emit_error(error: GrantpathError, as_json: bool) -> None:
    """Prints the error to standard error: its texts, one per line, or the whole error as JSON."""
    if as_json:
        print(json.dumps(error.as_dict(), ensure_ascii=False), file=sys.stderr, flush=True)
    else:
        from rich.text import Text

        err().print(Text.assemble(("error: ", "bold red"), "\n".join(map(printable, error.lines))))
