"""Writes the measurements as a table in Markdown, and below it the configuration of each system."""

from collections.abc import Iterator, Sequence

from peers.measuring import BATCH, Measured

KINDS = {
    "check": "single check",
    "batch": f"check in a batch of {BATCH}",
    "list objects": "all tables of a user",
    "list users": "all users of a table",
    "change": "grant or revoke",
}


def table(columns: Sequence[Measured]) -> str:
    """A row for each system: medians, and in brackets multiples of a bare `RETURN 1`."""
    lines = [
        "| system | " + " | ".join(KINDS.values()) + " | load | wrong answers |",
        "|" + "---|" * (len(KINDS) + 3),
        *(_row(each) for each in columns),
    ]
    return "\n".join(lines)


def set_ups(columns: Sequence[Measured]) -> str:
    """A line for each system that ran: its version and how it was configured."""
    return "\n".join(f"- **{_named(each)}**: {each.set_up}" for each in columns if not each.missing)


def _row(column: Measured) -> str:
    if column.missing:
        return f"| {column.name} | " + " | ".join([column.missing, *[""] * (len(KINDS) + 1)]) + " |"
    cells = [_time(kind, column) for kind in KINDS]
    return "| " + " | ".join([column.name, *cells, _seconds(column.load_seconds), _wrong(column)]) + " |"


def _time(kind: str, column: Measured) -> str:
    each = BATCH if kind == "batch" else 1
    return f"{_seconds(column.figures[kind].p50() / each)} ({_short(column.ratio(kind) / each)} x)"


def _wrong(column: Measured) -> str:
    answers = sum(each.answers for each in column.figures.values())
    return " ".join(_wrong_words(column)) or f"0 of {answers:,}"


def _wrong_words(column: Measured) -> Iterator[str]:
    for kind, figure in column.figures.items():
        if figure.wrong:
            yield f"{kind}: {figure.wrong} of {figure.answers:,}"


def _named(column: Measured) -> str:
    return f"{column.name} {column.version}".rstrip()


def _seconds(seconds: float) -> str:
    if seconds >= 1:
        return f"{_short(seconds)} s"
    return f"{_short(seconds * 1_000)} ms" if seconds >= 1e-4 else f"{_short(seconds * 1e6)} µs"


def _short(number: float) -> str:
    """A number with two significant digits, or with all digits before the decimal point."""
    if number >= 10:
        return f"{number:,.0f}"
    return f"{number:.1f}" if number >= 1 else f"{number:.2g}"
