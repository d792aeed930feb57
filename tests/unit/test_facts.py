"""Facts as texts: every printed fact can be parsed, whatever names it contains."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grantpath.engine.policy.facts import ALL, Fact, FactKind, place_prefix, place_type, second_object
from grantpath.graph.language.reference import reference

types = st.from_regex(r"[a-z][a-z0-9_]*", fullmatch=True) | st.sampled_from(["below", "with", "every", "grantee"])
privileges = st.from_regex(r"[A-Z][A-Z0-9_]*", fullmatch=True) | st.sampled_from(["ALLOW", "DENY", "EVERY", "BELOW"])
names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=40)
odd = st.sampled_from(["a below b", " ", ",", "=", "`", "a.b", "ALLOW P table", "=role:x", "\n", "with.x.y"])
entities = st.builds(reference, types, names | odd)
places = st.one_of(types, st.builds("with.{}.{}".format, types, types), types.map("grantee.{}".format))
several = st.lists(types, min_size=1, max_size=3).map(tuple)
facts = st.one_of(
    st.builds(
        Fact, st.sampled_from([FactKind.OWNS, FactKind.IS, FactKind.HOLDS, FactKind.EXISTS, FactKind.BUILTIN]), places
    ),
    st.builds(Fact.holds, entities),
    st.builds(Fact, st.sampled_from([FactKind.ALLOW, FactKind.DENY]), places, st.tuples(privileges)),
    st.builds(Fact, st.just(FactKind.ALLOW_BELOW), places, st.tuples(privileges), several),
    st.builds(Fact, st.just(FactKind.EVERY_BELOW), places, st.lists(privileges, min_size=1).map(tuple), several),
    st.just(ALL),
)


def parts(fact: Fact) -> tuple[object, ...]:
    return fact.kind, fact.place, fact.entity, fact.privileges, fact.types, fact.below


@settings(max_examples=50, deadline=None)
@given(facts)
def test_fact_is_parsed_as_it_was_printed(fact: Fact) -> None:
    read = Fact.parse(str(fact))
    assert read == fact and hash(read) == hash(fact)
    assert parts(read) == parts(fact)


@settings(max_examples=50, deadline=None)
@given(facts, facts)
def test_facts_are_equal_and_sorted_as_their_texts(one: Fact, other: Fact) -> None:
    assert (one == other) == (str(one) == str(other)) == (parts(one) == parts(other))
    assert (one < other) == (str(one) < str(other))


@settings(max_examples=50, deadline=None)
@given(st.text() | st.lists(st.sampled_from(["ALLOW", "EVERY", "OWNS", "P", "t", "below", ""])).map(" ".join))
def test_any_other_text_is_refused(text: str) -> None:
    try:
        fact = Fact.parse(text)
    except ValueError as error:
        assert str(error) == f"{text!r} is not a fact"
    else:
        assert str(fact) == text


def test_facts_are_printed_as_the_queries_expect_them() -> None:
    written = {
        "ALLOW SELECT_TABLE table": Fact(FactKind.ALLOW, "table", ("SELECT_TABLE",)),
        "DENY SELECT_TABLE with.tag.tag": Fact(FactKind.DENY, "with.tag.tag", ("SELECT_TABLE",)),
        "OWNS schema": Fact(FactKind.OWNS, "schema"),
        "IS grantee.user": Fact(FactKind.IS, "grantee.user"),
        "HOLDS role": Fact(FactKind.HOLDS, "role"),
        "HOLDS =role:`a below b`": Fact.holds("role:`a below b`"),
        "EXISTS table": Fact(FactKind.EXISTS, "table"),
        "BUILTIN role": Fact(FactKind.BUILTIN, "role"),
        "ALLOW READ dataset below namespace": Fact(FactKind.ALLOW_BELOW, "namespace", ("READ",), ("dataset",)),
        "EVERY ADMIN,READ dataset,stream below namespace": Fact(
            FactKind.EVERY_BELOW, "namespace", ("ADMIN", "READ"), ("dataset", "stream")
        ),
        "ALL": ALL,
    }
    assert {text: str(fact) for text, fact in written.items()} == {text: text for text in written}
    assert {Fact(FactKind.HOLDS, "role").entity, Fact.holds("role:PUBLIC").entity} == {None, "role:PUBLIC"}


@pytest.mark.parametrize(
    ("place", "parted"),
    [
        ("table", ("table", "", None)),
        ("with.tag.tag", ("tag", "with.tag", "tag")),
        ("grantee.user", ("user", "grantee", None)),
    ],
)
def test_facts_name_their_places(place: str, parted: tuple[str, str, str | None]) -> None:
    assert (place_type(place), place_prefix(place), second_object(place)) == parted


def test_grant_has_a_matching_denial() -> None:
    assert str(Fact.parse("ALLOW READ dataset").denial) == "DENY READ dataset"
    others = ["DENY READ dataset", "OWNS dataset", "ALLOW READ dataset below namespace"]
    assert {Fact.parse(text).denial for text in others} == {None}
