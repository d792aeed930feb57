"""Statements, checks and questions: how each line is parsed, and the messages for invalid lines."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grantpath.graph.errors import InvalidInput
from grantpath.graph.language.reference import Reference
from grantpath.graph.language.statement import (
    MAX_LINE,
    Check,
    Which,
    Who,
    parse_actor,
    parse_check,
    parse_question,
    parse_statement,
    parse_with,
    statement,
)

from ..support.random_names import ODD

STAFF = "table:hr.public.staff"
ODD_USER, ODD_TABLE = "user:`on, with ``x`` to`", "table:`a.b`.` can `.`k=v, as`"
HUGE = "x" * 10_000_000

# line, then kind, object, subject, effect, privilege, second objects
STATEMENTS = [
    ("add catalog:hr", "add", "catalog:hr", None, None, None, {}),
    ("drop catalog:hr", "drop", "catalog:hr", None, None, None, {}),
    ("member user:bob of group:g", "member", "group:g", "user:bob", None, None, {}),
    ("remove user:bob from group:g", "remove", "group:g", "user:bob", None, None, {}),
    ("owner user:bob of catalog:hr", "owner", "catalog:hr", "user:bob", None, None, {}),
    ("rename catalog:hr to `a b`", "rename", "catalog:hr", None, None, None, {}),
    (f"move {STAFF} to schema:hr.old", "move", STAFF, None, None, None, {}),
    (f"allow SELECT on {STAFF} to user:bob", "grant", STAFF, "user:bob", "ALLOW", "SELECT", {}),
    (f"deny SELECT on {STAFF} to user:bob", "grant", STAFF, "user:bob", "DENY", "SELECT", {}),
    (f"revoke allow SELECT on {STAFF} from user:bob", "revoke", STAFF, "user:bob", "ALLOW", "SELECT", {}),
    (f"revoke deny SELECT on {STAFF} from user:bob", "revoke", STAFF, "user:bob", "DENY", "SELECT", {}),
    ("  add   catalog:hr ", "add", "catalog:hr", None, None, None, {}),
    ("add user:with", "add", "user:with", None, None, None, {}),
    (f"member {ODD_USER} of group:of", "member", "group:of", ODD_USER, None, None, {}),
    (f"allow P on {ODD_TABLE} to {ODD_USER}", "grant", ODD_TABLE, ODD_USER, "ALLOW", "P", {}),
    ("add relation:d.s.c with store=store:k", "add", "relation:d.s.c", None, None, None, {"store": "store:k"}),
    (
        "add x:a with b=x:`c, d`,e=x:f, g_1=x:h=i",
        "add",
        "x:a",
        None,
        None,
        None,
        {"b": "x:`c, d`", "e": "x:f", "g_1": "x:h=i"},
    ),
]
CHECKS: list[tuple[str, Check, bool]] = [
    (f"user:bob can SELECT on {STAFF}", Check(subject="user:bob", name="SELECT", object=STAFF), True),
    (f"user:bob cannot drop_table on {STAFF}", Check(subject="user:bob", name="drop_table", object=STAFF), False),
    (f"user:b as role:x can P on {STAFF}", Check(subject="user:b", name="P", object=STAFF, as_role="role:x"), True),
    ("user:can can can on can:can", Check(subject="user:can", name="can", object="can:can"), True),
    (f"{ODD_USER} cannot P on {ODD_TABLE}", Check(subject=ODD_USER, name="P", object=ODD_TABLE), False),
    (
        "user:b can p on x:a with k=x:b, l=x:c",
        Check(subject="user:b", name="p", object="x:a", with_={"k": "x:b", "l": "x:c"}),
        True,
    ),
]
QUESTIONS = [
    (f"who can SELECT on {STAFF}", Who(name="SELECT", object=STAFF)),
    (f"who can p on {ODD_TABLE} with k={ODD_TABLE}", Who(name="p", object=ODD_TABLE, with_={"k": ODD_TABLE})),
    ("which table can user:bob load_table", Which(type="table", subject="user:bob", name="load_table")),
    (f"which table can {ODD_USER} P", Which(type="table", subject=ODD_USER, name="P")),
    ("which t can user:b as role:x p", Which(type="t", subject="user:b", name="p", as_role="role:x")),
    ("which t can user:b p with k=x:b", Which(type="t", subject="user:b", name="p", with_={"k": "x:b"})),
]
ACTORS = [("user:bob", "user:bob", None), ("user:bob as role:X", "user:bob", "role:X"), (ODD_USER, ODD_USER, None)]

FORMS = "write add REF"
BAD_STATEMENTS = [
    ("", FORMS),
    (" ", FORMS),
    ("\n", FORMS),
    ("add", FORMS),
    ("add a b", FORMS),
    ("ADD catalog:hr", FORMS),
    ("add\tcatalog:hr", FORMS),
    ("add\u00a0catalog:hr", FORMS),
    ("member user:bob in group:g", FORMS),
    ("remove user:bob of group:g", FORMS),
    ("owner of catalog:hr", FORMS),
    ("rename catalog:hr to a b", FORMS),
    ("move catalog:hr", FORMS),
    ("rename catalog:hr to with", "key=REF"),
    (f"allow SELECT on {STAFF} from user:bob", FORMS),
    (f"allow on {STAFF} to user:bob", FORMS),
    (f"revoke SELECT on {STAFF} from user:bob", FORMS),
    (f"revoke allow SELECT on {STAFF} to user:bob", FORMS),
    ("add catalog:hr; drop catalog:hr", FORMS),
    ("add catalog:hr // MATCH (n) DETACH DELETE n", FORMS),
    ("\u202eadd catalog:hr", FORMS),
    ("add catalog:`hr", "backtick is not closed"),
    ("member user:`a of group:g", "backtick is not closed"),
    ("add x:a with", "key=REF"),
    ("add x:a with k", "key=REF"),
    ("add x:a with k=", "key=REF"),
    ("add x:a with =x:b", "key=REF"),
    ("add x:a with K=x:b", "key=REF"),
    ("add x:a with k=x:b with l=x:c", "separated by commas"),
    ("add x:a with k=x:b l=x:c", "separated by commas"),
    ("add x:a with k=x:b,", "separated by commas"),
    ("add x:a with ,k=x:b", "separated by commas"),
    ("add x:a with k=x:b,,l=x:c", "separated by commas"),
    ("add x:a with k=x:b, k=x:c", "each key once"),
    ("add catalog:\ud800", "whole characters"),
    ("member user:\udcff of group:g", "whole characters"),
    (f"add catalog:{HUGE}", f"at most {MAX_LINE}"),
    ("`" * 10_000_000, f"at most {MAX_LINE}"),
    (" " * 10_000_000, f"at most {MAX_LINE}"),
]
BAD_CHECKS = [
    ("", "name a subject"),
    ("user:bob", "SUBJECT can NAME on REF"),
    ("user:bob may P on x:a", "SUBJECT can NAME on REF"),
    ("user:bob can P", "SUBJECT can NAME on REF"),
    ("user:bob can P on", "SUBJECT can NAME on REF"),
    ("user:bob can P on x:a as role:r", "SUBJECT can NAME on REF"),
    ("user:bob as can P on x:a", "SUBJECT can NAME on REF"),
    ("can P on x:a", "SUBJECT can NAME on REF"),
    ("with k=x:a", "name a subject"),
    ("user:bob can P on x:a with k", "key=REF"),
    ("user:b`ob can P on x:a", "backtick is not closed"),
    ("user:\udfff can P on x:a", "whole characters"),
    (HUGE, f"at most {MAX_LINE}"),
]
BAD_QUESTIONS = [
    ("", "who can NAME on REF"),
    ("who P on x:a", "who can NAME on REF"),
    ("who can P", "who can NAME on REF"),
    ("who as role:r can P on x:a", "who can NAME on REF"),
    ("which can user:bob P", "which TYPE can SUBJECT NAME"),
    ("which t can user:bob as role:r", "which TYPE can SUBJECT NAME"),
    ("which t can user:bob P on x:a", "which TYPE can SUBJECT NAME"),
    ("which t can user:\ud800 P", "whole characters"),
    (HUGE, f"at most {MAX_LINE}"),
]
BAD_ACTORS = [
    ("", "name a subject"),
    ("user:bob role:X", "write user:bob"),
    ("user:bob as", "write user:bob"),
    ("user:bob as role:X role:Y", "write user:bob"),
    ("user:bob with k=x:a", "write user:bob"),
    (HUGE, f"at most {MAX_LINE}"),
]
BAD = [
    (parse, line, rule)
    for parse, lines in (
        (parse_statement, BAD_STATEMENTS),
        (parse_check, BAD_CHECKS),
        (parse_question, BAD_QUESTIONS),
        (parse_actor, BAD_ACTORS),
    )
    for line, rule in lines
]


def short(case: object) -> str:
    """The id of a test case: shortened, with unprintable characters escaped."""
    return ascii(case)[1:41] if isinstance(case, str) else getattr(case, "__name__", "")


@pytest.mark.parametrize(("line", "kind", "object_", "subject", "effect", "privilege", "with_"), STATEMENTS, ids=short)
def test_statement_is_parsed_into_its_parts(
    line: str, kind: str, object_: str, subject: str, effect: str, privilege: str, with_: dict[str, str]
) -> None:
    parsed = parse_statement(line)
    assert (parsed.kind, parsed.object, parsed.subject) == (kind, object_, subject)
    assert (parsed.effect, parsed.privilege, parsed.with_, parsed.text) == (effect, privilege, with_, line)


@pytest.mark.parametrize(("line", "check", "expected"), CHECKS, ids=short)
def test_check_is_parsed_into_its_parts(line: str, check: Check, expected: bool) -> None:
    assert parse_check(line) == (check, expected)


@pytest.mark.parametrize(("line", "question"), QUESTIONS, ids=short)
def test_question_is_parsed_into_its_parts(line: str, question: Who | Which) -> None:
    assert parse_question(line) == question


@pytest.mark.parametrize(("line", "subject", "role"), ACTORS, ids=short)
def test_actor_is_parsed_into_subject_and_role(line: str, subject: str, role: str | None) -> None:
    assert parse_actor(line) == (subject, role)


@pytest.mark.parametrize(("parse", "line", "rule"), BAD, ids=short)
def test_meaningless_line_is_refused(parse: Callable[[str], Any], line: str, rule: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse(line)
    text = str(refused.value)
    assert rule in text
    assert len(text) < 500
    assert text.isprintable(), "a message must not reverse the direction of the terminal"


@pytest.mark.parametrize("pairs", ["", " ", ",", "k", "k=x:`a", "k=x:a\0b c=d", "k=x:a;l=x:b l"])
def test_second_objects_are_parsed_as_pairs(pairs: str) -> None:
    with pytest.raises(InvalidInput):
        parse_with(pairs)


segment = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=40) | st.sampled_from(ODD)
subjects = st.builds(Reference, st.sampled_from(["user", "group"]), st.tuples(segment), st.just(True)).map(str)
objects = st.builds(Reference, st.sampled_from(["table", "x_1"]), st.lists(segment, min_size=1, max_size=4).map(tuple))
refs = objects.map(str)
keys = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(subjects, subjects, refs, st.dictionaries(keys, refs, max_size=3))
def test_every_reference_is_parsed_unchanged(one: str, other: str, ref: str, with_: dict[str, str]) -> None:
    tail = " with " + ", ".join(f"{key}={value}" for key, value in with_.items()) if with_ else ""
    parsed = parse_statement(f"revoke deny P on {ref} from {one}{tail}")
    assert (parsed.object, parsed.subject, parsed.with_) == (ref, one, with_)
    parsed = parse_statement(f"member {one} of {other}{tail}")
    assert (parsed.subject, parsed.object, parsed.with_) == (one, other, with_)
    check, _ = parse_check(f"{one} as {other} can P on {ref}{tail}")
    assert check == Check(subject=one, as_role=other, name="P", object=ref, with_=with_)
    assert parse_question(f"which t can {one} P{tail}") == Which(type="t", subject=one, name="P", with_=with_)


@pytest.mark.parametrize("word", [5, None, b"user:a"])
def test_statement_is_made_of_strings(word: object) -> None:
    with pytest.raises(InvalidInput, match="is not a string"):
        statement("add", word)  # type: ignore[arg-type]
