"""Parses and prints references such as table:hr.public.`a.b`. No other file splits a reference.

The grammar is that of the scenario format: `type:segment.segment`. A segment is bare or quoted with backticks; a
backtick inside the quotes is doubled. The name of a subject is always a single segment.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from grantpath.graph.errors import InvalidReference
from grantpath.graph.messages import short

MAX_SEGMENT_BYTES = 255
MAX_REFERENCE_BYTES = 2000
# The types whose name is one segment in every policy; a policy can have further subject types.
ONE_SEGMENT = frozenset(["user", "group", "role", "service_principal"])

_TYPE = re.compile(r"[a-z][a-z0-9_]*\Z")
_SIMPLE = re.compile(r"([a-z][a-z0-9_]*):([A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*)\Z")  # nothing is quoted
_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")
_SUBJECT_QUOTED = re.compile(r"[ ,`]")
_QUOTED = re.compile(r"`((?:[^`]|``)*+)`")  # possessive, so that a doubled backtick never closes the segment
_PARTS = re.compile(r"`(?:[^`]|``)*`|[^.`]+")
_set = object.__setattr__  # references are frozen


@dataclass(frozen=True, slots=True)
class Reference:
    """One entity: its type and the segments of its name below the root.

    `one_segment` is true for subjects, whose only segment is printed without quotes if possible. `text` is the
    canonical spelling, without unnecessary quotes.
    """

    type: str
    segments: tuple[str, ...]
    one_segment: bool = field(default=False, compare=False)
    text: str = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        _set(self, "text", f"{self.type}:{'.'.join(map(self._print, self.segments))}")

    @property
    def name(self) -> str:
        """The last segment, unquoted."""
        return self.segments[-1]

    def __str__(self) -> str:
        return self.text

    def _print(self, segment: str) -> str:
        bare = not _SUBJECT_QUOTED.search(segment) if self.one_segment else _BARE.match(segment)
        return segment if bare else _in_backticks(segment)


def reference(type: str, *names: str) -> str:
    """The canonical reference of a type and raw names, each quoted only if necessary: `reference("user", login)`,
    `reference("table", "hr", "public", "staff")`.

    Use it for names that come from outside. Parsing the result returns exactly these names, whatever characters they
    contain, and different names never give the same reference. f"user:{login}" has neither property, since backticks,
    dots and spaces are syntax. A user, a group, a role or a service_principal has one name. For the other subject
    types of a policy use `Authorizer.reference`, which knows them. Raises InvalidReference for a name that is empty,
    contains a NUL character or an unpaired surrogate, or is longer than 255 bytes.
    """
    return written(type, names, ONE_SEGMENT)


def written(type: str, names: Sequence[str], one_segment: Collection[str]) -> str:
    """The canonical reference of a type and raw names; `one_segment` are the types that have one name. Raises
    InvalidReference."""
    if not isinstance(type, str) or not _TYPE.match(type):
        raise InvalidReference(f"{short(str(type))} is not a type; write it in lower_snake_case, e.g. table")
    if not names or not all(isinstance(name, str) for name in names):
        raise InvalidReference(f"{type}: expected one or more strings as names, got {short(repr(names))}")
    if type in one_segment and len(names) > 1:
        raise InvalidReference(f"{type}: expected one name, got {short(repr(names))}; pass one name, dots included")
    text = Reference(type, tuple(names), type in one_segment).text
    parse(text, one_segment)
    return text


def parse(text: str, subject_types: Collection[str] = ()) -> Reference:
    """Parses a reference; `subject_types` are the types whose names are a single segment.

    Raises InvalidReference, which names the place and the remedy.
    """
    if not isinstance(text, str):
        raise InvalidReference(f"{short(repr(text))} is not a string; write a reference, e.g. table:a.b.c")
    simple = simple_parts(text)
    if simple:  # no rule can be broken
        type_, name = simple
        subject = type_ in subject_types
        segments = (name,) if subject else tuple(name.split("."))
        # without __init__, which for a frozen dataclass takes as long as the rest
        ref = Reference.__new__(Reference)
        _set(ref, "type", type_)
        _set(ref, "segments", segments)
        _set(ref, "one_segment", subject)
        _set(ref, "text", text)
        return ref
    type_, colon, name = text.partition(":")
    if not colon or not _TYPE.match(type_):
        raise InvalidReference(
            f"{short(text)} is not a reference: write type:name, the type in lower_snake_case, e.g. table:a.b.c"
        )
    if not encodable(text):
        raise InvalidReference(
            f"{short(text)} is not a reference: it contains characters that UTF-8 cannot encode; remove them"
        )
    if len(text.encode()) > MAX_REFERENCE_BYTES:
        raise InvalidReference(
            f"{short(text)} is not a reference: at most {MAX_REFERENCE_BYTES} bytes of UTF-8 are allowed; shorten it"
        )
    subject = type_ in subject_types
    segments = (_subject_segment(name, text),) if subject else tuple(_segments(name, text))
    for segment in segments:
        _check_segment(segment, text)
    return Reference(type_, segments, subject)


def renamed(ref: Reference, name: str) -> Reference:
    """The reference with another last segment; `name` is written as in a reference. Raises InvalidReference, also for a
    name that begins with the type of the reference: with a type, it would be that of another entity."""
    one_segment = (ref.type,) if ref.one_segment else ()
    if name.startswith(f"{ref.type}:"):
        meant = canonical_name(_in_backticks(parse(name, one_segment).name))
        raise InvalidReference(
            f"{short(name)} begins with a type, but rename takes a name without it; write rename {short(ref.text)} to "
            f"{short(meant)}, or quote the name with backticks if it really begins so"
        )
    segments = parse(f"{ref.type}:{name}", one_segment).segments
    if len(segments) > 1:
        raise InvalidReference(
            f"{short(name)} has {len(segments)} segments, and a name is one; if the dots are part of it, quote it with "
            "backticks"
        )
    return parse(Reference(ref.type, (*ref.segments[:-1], *segments), ref.one_segment).text, one_segment)


def canonical_name(text: str) -> str:
    """A name of one segment, with quotes only if necessary in a statement, where `with` is a word of the language. A
    text that is malformed is returned unchanged."""
    quoted = _QUOTED.fullmatch(text)
    if not quoted and "`" in text:
        return text
    name = quoted[1].replace("``", "`") if quoted else text
    return name if _BARE.match(name) and name != "with" else _in_backticks(name)


def _in_backticks(segment: str) -> str:
    return "`" + segment.replace("`", "``") + "`"


def simple_parts(text: str) -> tuple[str, str] | None:
    """The type and the name of a reference without quotes, in its canonical spelling; None for any other text."""
    simple = _SIMPLE.match(text) if len(text) <= MAX_SEGMENT_BYTES else None
    return (simple[1], simple[2]) if simple else None


def _subject_segment(name: str, text: str) -> str:
    quoted = _QUOTED.fullmatch(name)
    if quoted:
        return quoted.group(1).replace("``", "`")
    if _SUBJECT_QUOTED.search(name):
        raise InvalidReference(
            f"{short(text)}: a name with spaces, commas or backticks must be quoted with backticks; double each "
            "backtick inside it"
        )
    return name


def _segments(name: str, text: str) -> Iterator[str]:
    at = 0
    while True:
        quoted = _QUOTED.match(name, at)
        if quoted:
            yield quoted.group(1).replace("``", "`")
            at = quoted.end()
        else:
            end = name.find(".", at)
            end = len(name) if end < 0 else end
            if "*" in name[at:end]:
                raise InvalidReference(
                    f"{short(text)}: a reference names one entity, and patterns are not supported; name the object "
                    f"above instead, or quote '{short(name[at:end])}' with backticks if * is part of the name"
                )
            if not _BARE.match(name[at:end]):
                raise InvalidReference(
                    f"{short(text)}: the segment '{short(name[at:end])}' is empty or has characters other than "
                    "letters, digits, _ and -; quote it with backticks, and double each backtick inside it"
                )
            yield name[at:end]
            at = end
        if at == len(name):
            return
        if name[at] != ".":
            raise InvalidReference(f"{short(text)}: the quoted segment that ends at {at} must be followed by a dot")
        at += 1


def _check_segment(segment: str, text: str) -> None:
    if not segment:
        raise InvalidReference(f"{short(text)}: a segment is empty; write at least one character")
    if "\0" in segment:
        raise InvalidReference(f"{short(text)}: a segment contains a NUL character; remove it")
    if len(segment.encode()) > MAX_SEGMENT_BYTES:
        raise InvalidReference(
            f"{short(text)}: a segment is longer than {MAX_SEGMENT_BYTES} bytes of UTF-8; shorten it"
        )


def encodable(text: str) -> bool:
    """Can the text be encoded as UTF-8? An unpaired surrogate cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def type_of(text: str) -> str:
    """The type of a valid reference, without parsing the rest."""
    return text.partition(":")[0]


def name_of(text: str) -> str:
    """The part of a valid reference that follows the type, unparsed."""
    return text.partition(":")[2]


def path_of(ref: Reference) -> str:
    """The path with which the references below an entity begin. In these, a subject's name is quoted like that of an
    object."""
    return name_of(Reference(ref.type, ref.segments).text)


def length_of(text: str) -> int:
    """The number of segments of a valid reference in its canonical spelling, which is not that of a subject."""
    return text.count(".") + 1 if "`" not in text else len(parse(text).segments)


def loose_parts(text: str) -> list[str]:
    """The type and the segments, quotes kept, of a text that may be a reference; without a type, the text alone."""
    type_, colon, name = text.partition(":")
    return [type_, *_PARTS.findall(name)] if colon else [type_]
