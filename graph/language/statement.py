"""Parses the lines of the scenario format (statements, checks and questions) into pydantic models.

References stay text here: only a policy defines the types, and which of them are subjects.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, Literal

from pydantic import Field

from grantpath.graph.errors import InvalidInput
from grantpath.graph.frozen import Frozen, unchecked
from grantpath.graph.language.ends import end_text
from grantpath.graph.language.reference import canonical_name
from grantpath.graph.messages import short

Kind = Literal[
    "add", "drop", "member", "remove", "owner", "hand over", "rename", "move", "tag", "untag", "grant", "revoke"
]
Effect = Literal["ALLOW", "DENY"]

_QUOTED = r"`(?:[^`]|``)*+`"  # possessive, so that a doubled backtick never closes the segment
_TOKEN = re.compile(rf"(?:{_QUOTED}|[^ `])+")
_WITH = re.compile(rf" *([a-z][a-z0-9_]*)=({_TOKEN.pattern}) *\Z")
_COMMA = re.compile(rf"(?:{_QUOTED}|[^,`])*")
_HALF = re.compile(r"[\ud800-\udfff]")
MAX_LINE = 20_000
MAX_SHOWN = 80  # of a line in a message


class Statement(Frozen):
    """A fact or a change. It is about the entity `object`; `subject` is who gains or loses something, or None. In
    `hand over A to B` the object is A, which loses what it owns. `to` is the new name in `rename`, with its quotes,
    the new parent in `move`, and the tag in `tag` and `untag`."""

    kind: Kind
    object: str
    subject: str | None = None
    effect: Effect | None = None
    privilege: str | None = None
    to: str | None = None
    until: str | None = None
    with_: dict[str, str] = Field(default={})
    text: str

    def spelled(self, spell: Callable[[str], str]) -> "Statement":
        """The statement with each reference as `spell` writes it, and the text that the parts then give."""
        object_, subject = spell(self.object), None if self.subject is None else spell(self.subject)
        with_ = {key: spell(ref) for key, ref in sorted(self.with_.items())}
        to = self.to and (canonical_name(self.to) if self.kind == "rename" else spell(self.to))
        effect = (self.effect or "").lower()
        text = {
            "add": f"add {object_}",
            "drop": f"drop {object_}",
            "member": f"member {subject} of {object_}",
            "remove": f"remove {subject} from {object_}",
            "owner": f"owner {subject} of {object_}",
            "hand over": f"hand over {object_} to {subject}",
            "rename": f"rename {object_} to {to}",
            "move": f"move {object_} to {to}",
            "tag": f"tag {object_} with {to}",
            "untag": f"untag {object_} from {to}",
            "grant": f"{effect} {self.privilege} on {object_} to {subject}",
            "revoke": f"revoke {effect} {self.privilege} on {object_} from {subject}",
        }[self.kind]
        if self.until:
            text += f" until {self.until}"
        if with_:
            text += f" with {', '.join(f'{key}={ref}' for key, ref in with_.items())}"
        if text == self.text:
            return self
        return self.model_copy(update={"object": object_, "subject": subject, "to": to, "with_": with_, "text": text})


class Check(Frozen):
    """One yes-or-no question: may `subject` use `name` (a privilege or an operation) on `object`?"""

    subject: str
    name: str
    object: str
    with_: dict[str, str] = Field(default={})
    as_role: str | None = None


class Who(Frozen):
    """Which subjects of `type` (None: users and service principals) can use `name` on `object`?"""

    name: str
    object: str
    with_: dict[str, str] = Field(default={})
    type: str | None = None


class Which(Frozen):
    """On which objects of `type` can `subject` use `name`?"""

    type: str
    subject: str
    name: str
    with_: dict[str, str] = Field(default={})
    as_role: str | None = None


def check_of(subject: Any, name: Any, object_: Any) -> Check:
    """The check of three words. Raises ValueError if one of them is not a string."""
    if type(subject) is type(name) is type(object_) is str and (subject + name + object_).isascii():
        words: dict[str, object] = {"subject": subject, "name": name, "object": object_, "with_": {}, "as_role": None}
        return unchecked(Check, words)  # nothing can be wrong, and validation would take longer
    return Check(subject=subject, name=name, object=object_, with_={})  # a default would be copied


def parse_statement(text: str) -> Statement:
    """Parses a statement. Raises InvalidInput, which lists the accepted forms."""
    words, with_ = _split(text)
    until = None
    if words[:1] in (["allow"], ["deny"], ["member"]) and words[-2:-1] == ["until"]:
        *words, _, until = words
        until = end_text(until)
    match words:
        case ["add" | "drop" as kind, ref]:
            return Statement(kind=kind, object=ref, with_=with_, text=text)
        case ["member", subject, "of", ref]:
            return Statement(kind="member", object=ref, subject=subject, until=until, with_=with_, text=text)
        case ["remove", subject, "from", ref]:
            return Statement(kind="remove", object=ref, subject=subject, with_=with_, text=text)
        case ["owner", subject, "of", ref]:
            return Statement(kind="owner", object=ref, subject=subject, with_=with_, text=text)
        case ["hand", "over", former, "to", subject]:
            return Statement(kind="hand over", object=former, subject=subject, with_=with_, text=text)
        case ["rename" | "move" as kind, ref, "to", to]:
            return Statement(kind=kind, object=ref, to=to, with_=with_, text=text)
        case ["tag", ref, "with", to] | ["untag", ref, "from", to]:
            return Statement(kind="tag" if words[0] == "tag" else "untag", object=ref, to=to, with_=with_, text=text)
        case ["allow" | "deny" as effect, privilege, "on", ref, "to", subject]:
            return _grant("grant", effect, privilege, ref, subject, with_, text, until)
        case ["revoke", "allow" | "deny" as effect, privilege, "on", ref, "from", subject]:
            return _grant("revoke", effect, privilege, ref, subject, with_, text)
    raise InvalidInput(
        f"{_shown(text)} is not a statement: write add REF, drop REF, member S of S [until TIME], remove S from S, "
        "owner S of REF, hand over S to S, rename REF to NAME, move REF to REF, tag REF with REF, untag REF from REF, "
        "allow P on REF to S [until TIME], deny P on REF to S [until TIME], "
        "revoke allow P on REF from S, revoke deny P on REF from S"
    )


def statement(*words: str) -> str:
    """The statement of these words: `statement("member", reference("user", login), "of", reference("group", team))`.

    Each argument must be a single word, so that input from outside cannot extend the statement. Raises InvalidInput
    if an argument is not a string or is more than one word, or if the words are not a statement.
    """
    for word in words:
        if not isinstance(word, str):
            raise InvalidInput(f"{short(repr(word))} is not a string; make names by reference(...)")
    text = " ".join(words)
    if _tokens(text) != [*words]:
        raise InvalidInput(
            f"{text[:120]!r}: each argument must be one word of the statement; make references by reference(...), and"
            " write a name that is not one word in backticks"
        )
    parse_statement(text)
    return text


def _grant(
    kind: Literal["grant", "revoke"],
    effect: str,
    privilege: str,
    ref: str,
    subject: str,
    with_: dict[str, str],
    text: str,
    until: str | None = None,
) -> Statement:
    verdict: Effect = "ALLOW" if effect == "allow" else "DENY"
    return Statement(
        kind=kind,
        object=ref,
        subject=subject,
        effect=verdict,
        privilege=privilege,
        until=until,
        with_=with_,
        text=text,
    )


def parse_check(text: str) -> tuple[Check, bool]:
    """A check line and its expectation: `S [as R] can|cannot NAME on REF [with k=REF]`. Raises InvalidInput."""
    words, with_ = _split(text)
    subject, as_role, rest = _actor_words(words)
    match rest:
        case ["can" | "cannot" as verb, name, "on", ref]:
            check = Check(subject=subject, name=name, object=ref, with_=with_, as_role=as_role)
            return check, verb == "can"
    raise InvalidInput(
        f"{_shown(text)} is not a check: write SUBJECT can NAME on REF, or cannot; "
        "add `as role:X` after the subject and `with k=REF` at the end if needed"
    )


def parse_asked(text: str) -> Check:
    """A check without an expectation: `SUBJECT [as ROLE] NAME OBJECT [with k=REF]`. Raises InvalidInput."""
    words, with_ = _split(text)
    subject, as_role, rest = _actor_words(words)
    match rest:
        case [name, ref]:
            return Check(subject=subject, name=name, object=ref, with_=with_, as_role=as_role)
    raise InvalidInput(
        f"{_shown(text)} is not a check: write SUBJECT NAME OBJECT, e.g. user:bob load_table table:a.b.c; "
        "add `as role:X` after the subject and `with k=REF` at the end if needed"
    )


def parse_question(text: str) -> Who | Which:
    """A question: `who can NAME on REF [with ..]` or `which TYPE can S [as R] NAME [with ..]`. Raises InvalidInput."""
    words, with_ = _split(text)
    match words:
        case ["who", "can", name, "on", ref]:
            return Who(name=name, object=ref, with_=with_)
        case ["which", type_, "can", subject, "as", role, name]:
            return Which(type=type_, subject=subject, name=name, with_=with_, as_role=role)
        case ["which", type_, "can", subject, name]:
            return Which(type=type_, subject=subject, name=name, with_=with_)
    raise InvalidInput(f"{_shown(text)} is not a question: write who can NAME on REF, or which TYPE can SUBJECT NAME")


def parse_actor(text: str) -> tuple[str, str | None]:
    """`user:bob` or `user:bob as role:X`: the acting user and the active role. Raises InvalidInput."""
    words, with_ = _split(text)
    subject, role, rest = _actor_words(words)
    if rest or with_:
        raise InvalidInput(f"{_shown(text)} is not an actor: write user:bob, or user:bob as role:X")
    return subject, role


def parse_with(pairs: str) -> dict[str, str]:
    """The second objects in `k=REF, k2=REF`. Raises InvalidInput."""
    _check(pairs)
    with_: dict[str, str] = {}
    for part in _split_commas(pairs):
        found = _WITH.match(part)
        if not found or found[1] in with_:
            raise InvalidInput(f"{_shown(pairs)}: after `with` write key=REF, each key once, separated by commas")
        with_[found[1]] = found[2]
    return with_


def _actor_words(words: list[str]) -> tuple[str, str | None, list[str]]:
    match words:
        case [subject, "as", role, *rest]:
            return subject, role, rest
        case [subject, *rest]:
            return subject, None, rest
    raise InvalidInput("the line is empty; name a subject, e.g. user:bob")


def _split(text: str) -> tuple[list[str], dict[str, str]]:
    words = _tokens(text)
    if "with" not in words or words[0] == "tag":  # `tag REF with REF` has no second objects
        return words, {}
    at = words.index("with")
    pairs = " ".join(words[at + 1 :])
    if not pairs:
        raise InvalidInput(f"{_shown(text)}: after `with` write key=REF, separated by commas")
    return words[:at], parse_with(pairs)


def _tokens(text: str) -> list[str]:
    _check(text)
    return _TOKEN.findall(text)


def _check(text: str) -> None:
    """Raises InvalidInput for a line that is not a string, is too long, or has an unpaired surrogate or backtick."""
    if not isinstance(text, str):
        raise InvalidInput(f"{_shown(repr(text))} is not a string; write a line, e.g. 'add user:bob'")
    if len(text) > MAX_LINE:
        raise InvalidInput(
            f"{_shown(text)} has {len(text)} characters; at most {MAX_LINE} are allowed; shorten its names"
        )
    if _HALF.search(text):
        raise InvalidInput(f"{_shown(text)} contains an unpaired surrogate; write whole characters")
    if text.count("`") % 2:
        raise InvalidInput(f"{_shown(text)}: a backtick is not closed; close it, or double it if it is part of a name")


def _split_commas(text: str) -> Iterator[str]:
    """The parts between unquoted commas."""
    at = 0
    while at <= len(text):
        part = _COMMA.match(text, at)
        assert part, "the pattern also matches the empty text"
        yield part[0]
        at = part.end() + 1


def _shown(text: str) -> str:
    """A text for a message: quoted, and shortened to MAX_SHOWN characters."""
    return repr(text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 3]}...")
