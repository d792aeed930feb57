"""The templates of the report: escaping, and how names and numbers are shown.

Templates escape every value. `finalize` shows control characters and right-to-left marks of a name as escape sequences
first, so a name can neither add mark-up nor move the text around it.
"""

import re
from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from grantpath.graph.messages import printable
from grantpath.spark_sync.reporting.scales import ticks

FOLDER = Path(__file__).with_name("templates")
LONGEST_PIECE = 24  # letters of a name that stay together on a line, if the name has no better place for a break
SIZES = ((10**3, "k"), (10**6, "M"), (10**9, "G"), (10**12, "T"))
_PIECES = re.compile(rf"[^._@/\-]{{1,{LONGEST_PIECE}}}[._@/\-]*|[._@/\-]+")


def environment() -> Environment:
    """The templates. A variable that is not given is an error."""
    made = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        breakable=breakable,
        count=count,
        data_link=data_link,
        mean=mean,
        percent=percent,
        short=short,
        sort_key=sort_key,
    )
    made.globals.update(ticks=ticks, static=static)
    return made


def static(file: str) -> Markup:
    """A file of the package that is not escaped: it contains no characters that would end its element."""
    return Markup((FOLDER / file).read_text(encoding="utf-8"))


def _shown(value: object) -> object:
    return value if isinstance(value, Markup) else printable(str(value))


def breakable(text: str) -> Markup:
    """A name that breaks after `.`, `_`, `@`, `/` and `-`, and elsewhere only if it has a very long part."""
    words = printable(text).split(" ")
    return Markup(" ").join(Markup("<wbr>").join(map(escape, _PIECES.findall(word))) for word in words)


def data_link(csv: str) -> str:
    """CSV as an address that contains it. It works without a network and a script, and from a disk or a mail; a page
    cannot read it from another file. Each character that could end an attribute or look like an address is escaped."""
    return f"data:text/csv;charset=utf-8,{quote(csv, safe=',:;.()@*')}"


def count(value: float) -> str:
    """A whole number."""
    return f"{value:,.0f}"


def mean(value: float) -> str:
    """A mean."""
    return f"{value:,.1f}"


def percent(share: float) -> str:
    """A share from 0 to 1 as text. Only exactly 0 and 1 are shown as 0% and 100%."""
    if share in (0, 1):
        return f"{share:.0%}"
    if share < 0.0005:
        return "<0.1%"
    return ">99.9%" if share >= 0.9995 else f"{share:.1%}"


def short(value: float) -> str:
    """A number below 10^14 in at most five characters; below 10,000 as a whole number, from there with three digits."""
    if value < 9_999.5:
        return f"{value:.0f}"
    # from 999.5 on, a number is rounded to 1000, which is 1 of the next size
    size, sign = next((each for each in SIZES if value < 999.5 * each[0]), SIZES[-1])
    return f"{value / size:.3g}{sign}"


def sort_key(value: str | float | None) -> str:
    """The number by which the script of the page sorts a cell; empty cells come before 0."""
    return "-1" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
