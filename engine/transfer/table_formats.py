"""The forms of the tables that `load` reads and `dump` writes."""

from collections.abc import Mapping
from typing import Literal

Format = Literal["csv", "jsonl", "parquet"]
COMPRESSIONS = (".gz", ".zst")
_PLAIN: Mapping[str, Format] = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}
# The format of a table's file by the ending of its name. A text file may be compressed.
ENDINGS: Mapping[str, Format] = {
    ending + compression: format_
    for ending, format_ in _PLAIN.items()
    for compression in ("", *(COMPRESSIONS if format_ != "parquet" else ()))
}


def split_ending(name: str) -> tuple[str, str]:
    """The name of a file without its ending, and the ending if it is one of ENDINGS, otherwise an empty string."""
    ending = max((each for each in ENDINGS if name.endswith(each)), key=len, default="")
    return name.removesuffix(ending), ending


def accepted() -> str:
    """The forms of a table, for messages."""
    plain, texts = [*_PLAIN], " and ".join(COMPRESSIONS)
    return f"{', '.join(plain[:-1])} or {plain[-1]} (text files also with {texts}), or a folder of such part files"
