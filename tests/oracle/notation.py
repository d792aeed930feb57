"""The oracle's own parser of references, statements, checks and questions, by the scenario format's text."""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

SUBJECT_TYPES = {"user", "group", "role", "service_principal"}
TYPE_NAME = re.compile(r"[a-z][a-z0-9_]*")
BARE_SEGMENT = re.compile(r"[A-Za-z0-9_-]+")
LONGEST_SEGMENT = 255
LONGEST_REFERENCE = 2000


class Malformed(Exception):
    """The text does not follow the format."""


class Ref(NamedTuple):
    """A reference, compared by its type and its segments."""

    type: str
    segments: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.type}:{'.'.join(printed_segment(self.type, each) for each in self.segments)}"


def printed_segment(type_: str, segment: str) -> str:
    """The printed form of the segment, quoted only if necessary."""
    if type_ in SUBJECT_TYPES:
        bare = not any(character in segment for character in " ,`")
    else:
        bare = BARE_SEGMENT.fullmatch(segment) is not None
    return segment if bare else "`" + segment.replace("`", "``") + "`"


def read_reference(text: str) -> Ref:
    """Parses `type:name`; raises Malformed. Does not check that the type exists."""
    type_, colon, name = text.partition(":")
    if not colon or not TYPE_NAME.fullmatch(type_):
        raise Malformed(f"{text!r} is not type:name")
    if type_ in SUBJECT_TYPES and not name.startswith("`"):
        if any(character in name for character in " ,`"):
            raise Malformed(f"{text!r}: spaces, commas and backticks need quotes")
        segments = [name]
    else:
        segments = read_segments(name)
        if type_ in SUBJECT_TYPES and len(segments) != 1:
            raise Malformed(f"{text!r}: a subject has one segment")
    for segment in segments:
        if not segment or len(segment.encode()) > LONGEST_SEGMENT:
            raise Malformed(f"{text!r}: a segment is empty or too long")
    ref = Ref(type_, tuple(segments))
    if len(str(ref).encode()) > LONGEST_REFERENCE:
        raise Malformed(f"{text[:40]!r}...: the reference is too long")
    return ref


def read_segments(name: str) -> list[str]:
    """The dotted path of an object, quoted segments without their quotes."""
    segments = []
    rest = name
    while True:
        if rest.startswith("`"):
            segment, rest = read_quoted(rest)
        else:
            found = BARE_SEGMENT.match(rest)
            if found is None:
                raise Malformed(f"{name!r}: {rest!r} must be quoted")
            segment, rest = found.group(), rest[found.end() :]
        segments.append(segment)
        if rest == "":
            return segments
        if not rest.startswith("."):
            raise Malformed(f"{name!r}: a dot is expected before {rest!r}")
        rest = rest[1:]


def read_quoted(text: str) -> tuple[str, str]:
    """The quoted segment at the start of the text, and the rest."""
    segment = ""
    position = 1
    while position < len(text):
        if text[position] != "`":
            segment += text[position]
            position += 1
        elif text[position + 1 : position + 2] == "`":
            segment += "`"
            position += 2
        else:
            return segment, text[position + 1 :]
    raise Malformed(f"{text!r}: the quote is not closed")


def split_outside_quotes(text: str, separator: str) -> list[str]:
    """The non-empty parts between separators outside backticks."""
    parts = [""]
    quoted = False
    for character in text:
        if character == "`":
            quoted = not quoted
        if character == separator and not quoted:
            parts.append("")
        else:
            parts[-1] += character
    if quoted:
        raise Malformed(f"{text!r}: the quote is not closed")
    return [part for part in parts if part]


@dataclass(frozen=True)
class Statement:
    """A fact or change. `subject` and `object` are written references; for `member` and `remove` the object
    is the container."""

    verb: str
    object: str
    subject: str = ""
    effect: str = ""
    privilege: str = ""
    to: str = ""  # the new name of `rename`, the new parent of `move`, the tag of `tag` and `untag`
    with_: dict[str, str] = field(default_factory=dict)


def read_statement(text: str) -> Statement:
    """Parses a line of `given`, or the value of `do:`; raises Malformed."""
    match split_outside_quotes(text, " "):
        case ["add", ref]:
            return Statement("add", ref)
        case ["add", ref, "with", *pairs]:
            return Statement("add", ref, with_=read_with(pairs))
        case ["drop", ref]:
            return Statement("drop", ref)
        case ["member", subject, "of", container]:
            return Statement("member", container, subject)
        case ["remove", subject, "from", container]:
            return Statement("remove", container, subject)
        case ["owner", subject, "of", ref]:
            return Statement("owner", ref, subject)
        case ["hand", "over", former, "to", subject]:
            return Statement("hand over", former, subject)
        case [("rename" | "move") as verb, ref, "to", to] if to != "with":  # which would begin second objects
            return Statement(verb, ref, to=to)
        case ["tag", ref, "with", tag]:
            return Statement("tag", ref, to=tag)
        case ["untag", ref, "from", tag]:
            return Statement("untag", ref, to=tag)
        case [("allow" | "deny") as effect, privilege, "on", ref, "to", subject]:
            return Statement("grant", ref, subject, effect, privilege)
        case ["revoke", ("allow" | "deny") as effect, privilege, "on", ref, "from", subject]:
            return Statement("revoke", ref, subject, effect, privilege)
    raise Malformed(f"{text!r} is not a statement")


def read_with(words: list[str]) -> dict[str, str]:
    """The unparsed references by key in `k=REF, k2=REF`, which is already split at spaces."""
    pairs: dict[str, str] = {}
    for part in split_outside_quotes(" ".join(words), ","):
        key, equals, ref = part.strip(" ").partition("=")
        if not equals or not TYPE_NAME.fullmatch(key) or not ref or key in pairs:
            raise Malformed(f"{part!r} is not key=REF, or the key is a duplicate")
        pairs[key] = ref
    if not pairs:
        raise Malformed("nothing follows with")
    return pairs
