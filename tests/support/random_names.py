"""Names that break careless code: quotes, case, Unicode forms, text direction, byte order, words of statements."""

import random
import unicodedata

COMPOSED = unicodedata.normalize("NFC", "e\u0301te\u0301")
DECOMPOSED = unicodedata.normalize("NFD", COMPOSED)

PLAIN = ["a", "b", "c", "d1", "sales", "hr", "raw", "x_1", "eu-west", "2024"]
ODD = [
    "a-b",
    "a.x",
    "a.b",
    "A",
    "Sales",
    "b c",
    " lead",
    "trail ",
    "c, d",
    "e`f",
    "`",
    "``",
    COMPOSED,
    DECOMPOSED,
    "\u200fright",  # right-to-left mark
    "right\u200f",
    "\u05d0\u05d1",  # Hebrew
    "\u8868",
    "\uff5e",  # sorts after the next one in UTF-16, but before it by code points
    "\U0001f600",
    "stra\u00dfe",
    "STRASSE",
    "\u0130",  # its lower case is two characters
    "on",
    "with",
    "to",
    "can",
    "as",
    "user:a",
    "role:a",
    "k=v",
    "'q'",
    '"q"',
    "back\\slash",
    "$p",
    "{b}",
    "%s",
    "*",
    "[z]",
    "-",
    "_",
    "0",
    "null",
    "true",
    "#h",
    "etl/host@EXAMPLE.COM",
    "\u00e9" * 127 + "x",  # 255 bytes
]


def random_name(rng: random.Random) -> str:
    """A plain name, an unusual name, or a unique one."""
    return rng.choice([rng.choice(PLAIN), rng.choice(ODD), f"n{rng.randrange(1000)}"])
