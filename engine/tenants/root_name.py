"""Translates the name of a root in entries of its log.

A restored root keeps the log of the original unchanged, because the hash of each entry includes its texts. So if it was
restored under another name, earlier entries contain an earlier name of the root object. A root has one entity of its
root's type, the root object; so every reference of this type in its log means the root object, whatever its name is.
"""

import re
from collections.abc import Iterable
from functools import cache

from grantpath.graph.language.reference import Reference

_QUOTED = r"`(?:[^`]|``)*+`"


def as_named_now(text: str, root: Reference) -> str:
    """A reference or a statement of the log with the present name of the root object.

    All other references, and quoted names that contain such a text, stay as they are.
    """
    if f"{root.type}:" not in text:
        return text
    return _references(root.type).sub(lambda found: found[0] if found[1] is None else found[1] + root.text, text)


def all_as_named_now(texts: Iterable[str], root: Reference) -> list[str]:
    """The same for several references or statements."""
    return [as_named_now(text, root) for text in texts]


@cache
def _references(type_: str) -> re.Pattern[str]:
    """Quoted segments, and the references of a type with what precedes them within a word: `key=` after `with`."""
    return re.compile(rf"{_QUOTED}|(?<![^ ,])((?:[a-z][a-z0-9_]*=)?){type_}:(?:{_QUOTED}|[^ ,`])+")
