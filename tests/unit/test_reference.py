"""References: valid and invalid ones, and that printing and parsing are inverse."""

import unicodedata
from typing import Literal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from grantpath.graph.errors import InvalidReference
from grantpath.graph.language.reference import (
    MAX_REFERENCE_BYTES,
    MAX_SEGMENT_BYTES,
    Reference,
    canonical_name,
    parse,
    renamed,
)
from grantpath.graph.messages import indefinite

from ..support.random_names import COMPOSED, DECOMPOSED, ODD

SUBJECTS = ("user", "group", "role")
HUGE = "x" * 10_000_000
FORMS: tuple[Literal["NFC", "NFD", "NFKC", "NFKD"], ...] = ("NFC", "NFD", "NFKC", "NFKD")

# input, segments, canonical spelling
OBJECTS = [
    ("catalog:hr", ["hr"], "catalog:hr"),
    ("table:hr.public.staff", ["hr", "public", "staff"], "table:hr.public.staff"),
    ("job_template:a-b._1.2024", ["a-b", "_1", "2024"], "job_template:a-b._1.2024"),
    ("topic:kafka.default.`clicks.v1`", ["kafka", "default", "clicks.v1"], "topic:kafka.default.`clicks.v1`"),
    ("table:`hr`.`public`.staff", ["hr", "public", "staff"], "table:hr.public.staff"),
    ("table:`a``b`.`.`.c", ["a`b", ".", "c"], "table:`a``b`.`.`.c"),
    ("catalog:````", ["`"], "catalog:````"),
    ("catalog:` `", [" "], "catalog:` `"),
    ("catalog:`a:b`", ["a:b"], "catalog:`a:b`"),
    ("catalog:`\n`", ["\n"], "catalog:`\n`"),
    (f"catalog:`{COMPOSED}`", [COMPOSED], f"catalog:`{COMPOSED}`"),
    ("catalog:`\u200fright`", ["\u200fright"], "catalog:`\u200fright`"),
    ("catalog:`) DETACH DELETE n //`", [") DETACH DELETE n //"], "catalog:`) DETACH DELETE n //`"),
]
PEOPLE = [
    ("user:bob", "bob", "user:bob"),
    ("user:`bob`", "bob", "user:bob"),
    ("user:ann.lee@corp.example", "ann.lee@corp.example", "user:ann.lee@corp.example"),
    ("user:`ann.lee`", "ann.lee", "user:ann.lee"),
    ("user:`Ann Lee`", "Ann Lee", "user:`Ann Lee`"),
    ("user:`Lee, Ann`", "Lee, Ann", "user:`Lee, Ann`"),
    ("user:`o``neil`", "o`neil", "user:`o``neil`"),
    ("user:user:bob", "user:bob", "user:user:bob"),
    ("group:.", ".", "group:."),
    ("role:\u05d0\u200f", "\u05d0\u200f", "role:\u05d0\u200f"),
]
# input, the part that the error names, words of the rule or remedy
REFUSED = [
    ("", "", "write type:name"),
    ("staff", "staff", "write type:name"),
    (":staff", ":staff", "write type:name"),
    ("Table:hr", "Table:hr", "lower_snake_case"),
    ("TABLE:hr", "TABLE:hr", "lower_snake_case"),
    (" table:hr", " table:hr", "lower_snake_case"),
    ("table\n:hr", "table\\n:hr", "lower_snake_case"),
    ("1table:hr", "1table:hr", "lower_snake_case"),
    ("tablé:hr", "tablé:hr", "lower_snake_case"),
    ("`table`:hr", "`table`:hr", "lower_snake_case"),
    ("table:", "table:", "empty"),
    ("table:.", "table:.", "empty"),
    ("table:a..b", "table:a..b", "empty"),
    ("table:a.b.", "table:a.b.", "empty"),
    ("table:.a", "table:.a", "empty"),
    ("table:``", "table:``", "empty"),
    ("table:a.``.b", "table:a.``.b", "empty"),
    ("table:a b", "table:a b", "quote it with backticks"),
    ("table:a.b c.d", "b c", "quote it with backticks"),
    ("table:a.b\n", "table:a.b\\n", "quote it with backticks"),
    ("table:a/b", "a/b", "quote it with backticks"),
    ("table:a.\u200f.b", "'\\u200f'", "quote it with backticks"),
    ("table:é", "é", "quote it with backticks"),
    ("table:٣", "٣", "quote it with backticks"),
    ("table:a`b", "a`b", "backtick inside it"),
    ("table:`a", "`a", "backtick inside it"),
    ("table:`a``", "'`a``'", "backtick inside it"),
    ("table:`a`b", "table:`a`b", "must be followed by a dot"),
    ("table:`a` .b", "table:`a` .b", "must be followed by a dot"),
    ("table:`a`.`b``", "'`b``'", "backtick inside it"),
    ("table:`a\0b`", "table:`a\\x00b`", "NUL"),
    ("table:`\ud800`", "\\ud800", "UTF-8"),
    ("table:`\u200f`b", "\\u200f", "must be followed by a dot"),
    ("user:", "user:", "empty"),
    ("user:``", "user:``", "empty"),
    ("user:Ann Lee", "user:Ann Lee", "quoted with backticks"),
    ("user:a,b", "user:a,b", "quoted with backticks"),
    ("user:`a`b", "user:`a`b", "backtick inside it"),
    ("user:a`", "user:a`", "backtick inside it"),
    ("user:`a`.`b`", "user:`a`.`b`", "backtick inside it"),
    ("user:a\0", "user:a\\x00", "NUL"),
    ("user:\udfff", "\\udfff", "UTF-8"),
    ("table:hr.public.*", "table:hr.public.*", "patterns are not supported; name the object above instead"),
    ("table:hr.tmp_*.a", "table:hr.tmp_*.a", "quote 'tmp_*' with backticks"),
    (f"table:{'a' * (MAX_SEGMENT_BYTES + 1)}", "table:aaa", "255 bytes"),
    (f"user:{'é' * 128}", "user:ééé", "255 bytes"),
    (f"table:{'.'.join(['a'] * 1000)}", "table:a.a", "2000 bytes"),
    (f"table:{HUGE}", "table:xxx", "2000 bytes"),
    (f"{HUGE}:a", "xxx", "2000 bytes"),
    (HUGE, "xxx", "write type:name"),
    (f"table:{'`' * 10_000_000}", "table:```", "2000 bytes"),
    (f"user:{' ' * 10_000_000}", "user:   ", "2000 bytes"),
]

words = st.text(
    st.characters(codec="utf-8", exclude_characters="\0") | st.sampled_from(".`: ,\n\u200f"), min_size=1, max_size=63
)
types = st.from_regex(r"[a-z][a-z0-9_]{0,20}", fullmatch=True).filter(lambda type_: type_ not in SUBJECTS)
objects = st.builds(Reference, types, st.lists(words, min_size=1, max_size=6).map(tuple))
people = st.builds(Reference, st.sampled_from(SUBJECTS), st.tuples(words), st.just(True))
alike = st.lists(st.sampled_from(["a", "b-1", ".", ".", "`", "`a.b`", "`é `", "``", " ", "\0"]), max_size=5).map(
    "".join
)


def short(case: object) -> str:
    """The id of a test case: shortened, with unprintable characters escaped."""
    return ascii(case)[1:41] if isinstance(case, str) else ""


@pytest.mark.parametrize(("written", "segments", "printed"), OBJECTS, ids=short)
def test_object_reference_is_parsed_into_segments(written: str, segments: list[str], printed: str) -> None:
    ref = parse(written, SUBJECTS)
    assert (list(ref.segments), str(ref), ref.name) == (segments, printed, segments[-1])


@pytest.mark.parametrize(("written", "name", "printed"), PEOPLE, ids=short)
def test_subject_reference_is_one_segment(written: str, name: str, printed: str) -> None:
    ref = parse(written, SUBJECTS)
    assert (ref.segments, ref.text) == ((name,), printed)


@pytest.mark.parametrize(("written", "thing", "rule"), REFUSED, ids=short)
def test_invalid_reference_is_refused(written: str, thing: str, rule: str) -> None:
    with pytest.raises(InvalidReference) as refused:
        parse(written, SUBJECTS)
    text = str(refused.value)
    assert thing in text
    assert rule in text
    assert len(text) < 400
    assert text.isprintable(), "a message must not reverse the direction of the terminal"


@pytest.mark.parametrize("name", ODD, ids=short)
def test_unusual_name_is_accepted(name: str) -> None:
    quoted = "`" + name.replace("`", "``") + "`"
    for ref in (parse(f"table:a.{quoted}.b", SUBJECTS), parse(f"user:{quoted}", SUBJECTS)):
        assert name in ref.segments
        assert parse(ref.text, SUBJECTS) == ref


@pytest.mark.parametrize("name", [*ODD, "with", "bob"])
@pytest.mark.parametrize("former", ["table:hr.public.staff", "user:bob"])
def test_new_name_replaces_the_last_segment(former: str, name: str) -> None:
    ref = parse(former, SUBJECTS)
    written = canonical_name("`" + name.replace("`", "``") + "`")
    assert renamed(ref, written).segments == (*ref.segments[:-1], name)
    assert canonical_name(written) == written


@pytest.mark.parametrize("name", ["a.b", "`a`.b", "", "``", "a b", "x" * 256, "a`b"])
def test_new_name_that_is_not_one_segment_is_refused(name: str) -> None:
    with pytest.raises(InvalidReference):
        renamed(parse("table:hr.public.staff"), name)


@pytest.mark.parametrize(
    ("former", "name", "remedy"),
    [
        ("user:bob", "user:kim", "write rename user:bob to kim, or quote"),
        ("user:bob", "user:kim@example.org", "write rename user:bob to `kim@example.org`, or quote"),
        ("table:hr.public.staff", "table:hr.public.people", "write rename table:hr.public.staff to people, or quote"),
    ],
)
def test_new_name_with_the_type_is_refused_unless_it_is_quoted(former: str, name: str, remedy: str) -> None:
    ref = parse(former, SUBJECTS)
    with pytest.raises(InvalidReference, match=f"{name} begins with a type, but rename takes a name.*{remedy}"):
        renamed(ref, name)
    assert renamed(ref, f"`{name}`").name == name
    assert renamed(ref, "role:x" if ref.one_segment else "`role:x`").name == "role:x"


def test_lengths_are_counted_in_bytes() -> None:
    longest = "é" * (MAX_SEGMENT_BYTES // 2) + "x"
    assert parse(f"user:{longest}", SUBJECTS).name == longest
    full = "table:" + ".".join(["abcd"] * ((MAX_REFERENCE_BYTES - 6) // 5)) + ".abc"
    assert len(full) == MAX_REFERENCE_BYTES - 1
    assert parse(full + "d").text == full + "d"
    with pytest.raises(InvalidReference, match=f"{MAX_REFERENCE_BYTES} bytes"):
        parse(full + "de")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (f"user:{COMPOSED}", f"user:{DECOMPOSED}"),
        ("user:Bob", "user:bob"),
        ("user:straße", "user:STRASSE"),
        ("user:bob", "role:bob"),
        ("user:bob", "user:bob\u200f"),
        ("user:bob", "user:bob\n"),
        ("table:a.b", "table:`a.b`"),
        ("table:`a.b`.c", "table:a.`b.c`"),
    ],
    ids=short,
)
def test_similar_names_are_different_references(one: str, other: str) -> None:
    first, second = parse(one, SUBJECTS), parse(other, SUBJECTS)
    assert first != second
    assert first.text != second.text


def test_name_keeps_its_unicode_form() -> None:
    for form in FORMS:
        name = unicodedata.normalize(form, "e\u0301 \ufb01 \uff21")
        assert parse(f"user:`{name}`", SUBJECTS).name == name


@settings(derandomize=True, deadline=None, max_examples=300)
@given(objects | people)
@example(Reference("table", ("`", "a``b", "`.`")))
@example(Reference("user", ("`.`",), True))
def test_printing_and_parsing_are_inverse(ref: Reference) -> None:
    read = parse(ref.text, SUBJECTS)
    assert read == ref
    assert read.text == ref.text
    quoted = ".".join("`" + segment.replace("`", "``") + "`" for segment in ref.segments)
    assert parse(f"{ref.type}:{quoted}", SUBJECTS) == ref


@settings(derandomize=True, deadline=None, max_examples=300)
@given(objects | people, objects | people)
def test_different_references_have_different_spellings(one: Reference, other: Reference) -> None:
    assert (one == other) == (one.text == other.text)


def test_any_text_is_parsed_or_refused() -> None:
    """Nearly valid text is either parsed and printed unchanged, or refused; both cases occur."""
    outcomes = {"read": 0, "refused": 0}

    @settings(derandomize=True, deadline=None, max_examples=500)
    @given(st.sampled_from(["table:", "user:"]), alike)
    def attempt(start: str, rest: str) -> None:
        try:
            ref = parse(start + rest, SUBJECTS)
        except InvalidReference:
            outcomes["refused"] += 1
            return
        outcomes["read"] += 1
        assert parse(ref.text, SUBJECTS) == ref
        assert all(ref.segments)

    attempt()
    print(outcomes)
    assert min(outcomes.values()) > 50


@pytest.mark.parametrize("phrase", ["an org", "an instance", "an application", "an entity", "a user", "a table"])
def test_type_in_a_message_has_its_article(phrase: str) -> None:
    assert indefinite(phrase.split()[-1]) == phrase
