"""The plots of a report as SVG: histograms, and bars that show the parts of a whole."""

import math
from collections.abc import Sequence

from grantpath.spark_sync.reporting.report_figures import Histogram
from grantpath.spark_sync.reporting.report_markup import Markup, element

WIDTH, HEIGHT = 360, 200
LEFT, RIGHT, TOP, BOTTOM = 8, 8, 20, 40  # the margins around the bars
WIDEST = 56  # the greatest width of a bar
LOG_FROM = 50  # the scale is logarithmic if the highest bar is at least this many times the lowest one
PARTS = 1000  # the width of a bar of parts


def histogram(of: Histogram, title: str, objects: str) -> Markup:
    """Users by number of objects, with the count above each bar. `objects`: the plural of the type."""
    counted = [each for each in of.users if each]
    logarithmic = bool(counted) and max(counted) >= LOG_FROM * min(counted)
    step = (WIDTH - LEFT - RIGHT) / len(of.users)
    bars = [
        _bar(at, step, _height(users, max(of.users), logarithmic), users, _range(of.low[at], of.high[at], objects))
        for at, users in enumerate(of.users)
    ]
    marks = [_text(LEFT + (at + 0.5) * step, HEIGHT - BOTTOM + 14, short(low)) for at, low in enumerate(of.low)]
    base = HEIGHT - BOTTOM
    scale = "; logarithmic scale" if logarithmic else ""
    return element(
        "figure",
        element("figcaption", title),
        element(
            "svg",
            *bars,
            element("line", class_="axis", x1=LEFT, y1=base, x2=WIDTH - RIGHT, y2=base),
            *marks,
            _text(WIDTH / 2, HEIGHT - 8, f"{objects} per user, from this number on{scale}"),
            viewBox=f"0 0 {WIDTH} {HEIGHT}",
            role="img",
            aria_label=f"{title}: "
            + "; ".join(
                f"{users:,} users with {_range(low, high, objects)}"
                for low, high, users in zip(of.low, of.high, of.users, strict=True)
                if users
            ),
        ),
    )


def _height(users: int, most: int, logarithmic: bool) -> float:
    """The height of a bar, from 0 to 1."""
    if not users:
        return 0.0
    return (1 + math.log10(users)) / (1 + math.log10(most)) if logarithmic else users / most


def _bar(at: int, step: float, height: float, users: int, what: str) -> Markup:
    tall = max(1.5, height * (HEIGHT - TOP - BOTTOM)) if users else 0.0
    wide, top = min(WIDEST, step * 0.84), HEIGHT - BOTTOM - tall
    middle = LEFT + (at + 0.5) * step
    return element(
        "g",
        element("title", f"{users:,} users with {what}"),
        element(
            "rect",
            class_="fill",
            x=round(middle - wide / 2, 2),
            y=round(top, 2),
            width=round(wide, 2),
            height=round(tall, 2),
            rx=1.5,
        ),
        _text(middle, top - 4, short(users)) if users else Markup(""),
    )


def _text(x: float, y: float, text: str) -> Markup:
    return element("text", text, x=round(x, 2), y=round(y, 2), text_anchor="middle")


def _range(low: int, high: int, objects: str) -> str:
    return f"{low:,} {objects}" if low >= high else f"{low:,} to {high:,} {objects}"


def short(count: int) -> str:
    """A number in at most five characters."""
    for size, sign in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if count >= size and count >= 10_000:
            return f"{count / size:.3g}{sign}"
    return str(count)


def parts(title: str, counted: Sequence[tuple[str, int]]) -> Markup:
    """A bar whose parts show the counts, with a legend. The first part is the normal case."""
    total = sum(count for _, count in counted)
    drawn, left = [], 0.0
    for at, (label, count) in enumerate(counted):
        width = PARTS * count / total if total else 0.0
        rect = element("rect", class_=f"part{at}", x=round(left, 2), width=round(width, 2), height=20)
        drawn.append(element("g", element("title", f"{label}: {count:,}"), rect))
        left += width
    legend = [
        element("li", _swatch(at), f"{label}: ", element("b", f"{count:,}"))
        for at, (label, count) in enumerate(counted)
    ]
    return element(
        "figure",
        element("figcaption", title),
        element(
            "svg",
            *drawn,
            class_="parts",
            viewBox=f"0 0 {PARTS} 20",
            preserveAspectRatio="none",
            role="img",
            aria_label=f"{title}: " + ", ".join(f"{label}: {count:,}" for label, count in counted),
        ),
        element("ul", *legend, class_="legend"),
        class_="wide",
    )


def _swatch(at: int) -> Markup:
    rect = element("rect", class_=f"part{at}", width=10, height=10, rx=2)
    return element("svg", rect, class_="swatch", viewBox="0 0 10 10", aria_hidden="true")
