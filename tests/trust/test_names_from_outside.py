"""Names from outside: references and statements that are built from them mean exactly those names."""

from functools import cache

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from grantpath.engine import InvalidInput, InvalidReference, reference, statement
from grantpath.engine.policy import policy
from grantpath.engine.policy.schema import BUILT_IN
from grantpath.graph.language.reference import parse
from grantpath.graph.language.statement import parse_statement

from ..support.sizes import size

pytestmark = pytest.mark.trust

settings.register_profile("names", max_examples=size(1000, 40), deadline=None)
long = settings.get_profile("names")
SUBJECTS = ("user", "group", "role")
ODD = [
    "`bob`",
    "`",
    "``",
    "a.b",
    "a b",
    "a,b",
    "bob\u00a0",
    "\u200b",
    "with",
    "of",
    "\n",
    "'",
    "\\",
    "#",
    "*",
    "a`.`b",
    "user:bob",
]
name = st.one_of(
    st.sampled_from(ODD),
    st.text(st.sampled_from("ab`. ,:\t\n\u00a0é\\"), min_size=1, max_size=8),
    st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1, max_size=60),
)


@long
@given(name)
@example("`bob`")
def test_subject_reference_has_the_given_name(raw: str) -> None:
    for type_ in SUBJECTS:
        read = parse(reference(type_, raw), SUBJECTS)
        assert (read.type, read.segments) == (type_, (raw,))


@long
@given(st.lists(name, min_size=1, max_size=4))
def test_object_reference_has_the_given_names(raw: list[str]) -> None:
    read = parse(reference("table", *raw))
    assert (read.type, read.segments) == ("table", tuple(raw))


@long
@given(name, name)
@example("bob", "`bob`")
@example("a.b", "`a.b`")
def test_different_names_are_different_references(one: str, other: str) -> None:
    canonical = {parse(reference("user", raw), SUBJECTS).text for raw in (one, other)}
    assert len(canonical) == len({one, other})
    assert len({reference("catalog", one), reference("catalog", other)}) == len({one, other})


@long
@given(st.lists(name, min_size=2, max_size=4), st.lists(name, min_size=2, max_size=4))
@example(["a", "b.c"], ["a.b", "c"])
def test_adjacent_names_stay_separate(one: list[str], other: list[str]) -> None:
    assert (reference("table", *one) == reference("table", *other)) == (one == other)


@long
@given(name, name, name)
def test_statement_of_references_names_the_same_entities(user: str, group: str, table: str) -> None:
    text = statement("member", reference("user", user), "of", reference("group", group))
    read = parse_statement(text)
    assert (read.kind, read.subject, read.object) == ("member", reference("user", user), reference("group", group))
    granted = statement(
        "allow", "SELECT_TABLE", "on", reference("table", "a", table, "c"), "to", reference("user", user)
    )
    assert parse(parse_statement(granted).object).segments == ("a", table, "c")


loaded = cache(policy.load)


@pytest.mark.parametrize("path", sorted(BUILT_IN.glob("*.yaml")), ids=lambda path: path.stem)
@long
@given(raw=name)
def test_every_policy_parses_the_given_name(path: object, raw: str) -> None:
    model = loaded(getattr(path, "stem", ""))
    for type_ in model.names.one_segment:
        if type_ != model.root_type:
            assert model.reference(reference(type_, raw), model.root("ml")).segments == (raw,)


def test_plain_names_are_not_quoted() -> None:
    assert reference("user", "bob") == "user:bob"
    assert reference("table", "hr", "public", "staff") == "table:hr.public.staff"
    assert reference("table", "hr", "v1.2", "my table") == "table:hr.`v1.2`.`my table`"


@pytest.mark.parametrize("wrong", ["", "a\0b", "x" * 256, "\ud800", None, 5])
def test_impossible_name_is_refused(wrong: str) -> None:
    with pytest.raises(InvalidReference):
        reference("user", wrong)


def test_invalid_type_is_refused() -> None:
    for wrong in ("user:x", "User", "", "a b", None):
        with pytest.raises(InvalidReference, match="is not a type"):
            reference(wrong, "bob")  # type: ignore[arg-type]
    with pytest.raises(InvalidReference, match="one or more"):
        reference("user")


@pytest.mark.parametrize("word", ["SELECT_TABLE on table:a.b.c to user:eve with", "A B", "", " X", "`"])
def test_argument_of_a_statement_is_one_word(word: str) -> None:
    with pytest.raises(InvalidInput):
        statement("allow", word, "on", "table:hr.public.staff", "to", "user:bob")
