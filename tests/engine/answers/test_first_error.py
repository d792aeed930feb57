"""If several words of a question are wrong, each verb and Spark report the error that `check` reports."""

import re
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, NamedTuple

import pytest

from grantpath.engine import Authorizer
from grantpath.engine.facts.kernel.tree_order import number
from grantpath.engine.facts.snapshot.snapshot_questions import QuestionBinder
from grantpath.engine.tenants.tenant_state import read_state
from grantpath.graph.errors import GrantpathError
from grantpath.graph.language.statement import Check, Which, Who

from ...conftest import Tenants

FACTS = ["add user:u", "add role:r", "member user:u of role:r", "add database:a", "add schema:a.b", "add store:s"]
FACTS += ["add relation:a.b.t", "add relation:a.b.source"]
Error = tuple[str, str] | None


class Words(NamedTuple):
    """A question as its caller wrote it; the first of each list is right."""

    object: Any
    with_: dict[str, Any]
    name: Any
    subject: Any
    as_role: Any


OBJECTS = ["relation:a.b.t", "relation:a.b", "relatoin:a.b.t", "relation:a.b.absent"]
SECONDS: list[dict[str, Any]] = [
    {"source": "relation:a.b.source"},
    {"source": "relation:"},
    {"source": "store:s"},
    {"source": "relation:a.b.other"},
    {"sauce": "relation:a.b.source"},
]
NAMES = ["insert_into_relation", "insert_in", "INSERTS"]
SUBJECTS = ["user:u", "user:", "store:s"]
ROLES = ["role:r", "user:u", "role:absent"]
EVERY = [Words(*words) for words in product(OBJECTS, SECONDS, NAMES, SUBJECTS, ROLES)]


@pytest.fixture(scope="module")
def auth(module_tenant: Tenants) -> Authorizer:
    return module_tenant("deltastream", FACTS)


@pytest.fixture(scope="module")
def binder(auth: Authorizer) -> QuestionBinder:
    state = read_state("state", auth)
    numbering = number(auth.policy, auth.root.text, state.entities)
    at = {ref: position for position, ref in enumerate(numbering.refs)}
    return QuestionBinder(auth.policy, auth.root, numbering, at.get)


def error(ask: Callable[..., object], *words: Any, **named: Any) -> Error:
    """The class and the text of the error, without suggestions, because Spark searches other names."""
    try:
        ask(*words, **named)
    except GrantpathError as raised:
        return type(raised).__name__, re.sub(r" \(did you mean .*?\)", "", str(raised))
    return None


def checked(auth: Authorizer, words: Words) -> Error:
    return error(auth.check, words.subject, words.name, words.object, as_role=words.as_role, with_=words.with_)


def asked(auth: Authorizer, binder: QuestionBinder, words: Words) -> Iterator[tuple[str, Error]]:
    """The errors of the other verbs for the same question."""
    object_, with_, name, subject, role = words
    check = Check(subject=subject, name=name, object=object_, as_role=role, with_=with_)
    yield "explain", error(auth.explain, subject, name, object_, as_role=role, with_=with_)
    yield "revocation", error(auth.revocation, subject, name, object_, as_role=role, with_=with_)
    yield "Spark", error(binder.bind, check)
    batch = error(auth.check_many, [check])
    yield "check_many", batch and (batch[0], batch[1].removeprefix("check 0: "))


def test_explain_batches_and_spark_report_what_check_reports(auth: Authorizer, binder: QuestionBinder) -> None:
    differing, errors = list[tuple[object, ...]](), set[Error]()
    for words in EVERY:
        first = checked(auth, words)
        errors.add(first)
        differing += [(how, words, found, first) for how, found in asked(auth, binder, words) if found != first]
    assert not differing, differing[:3]
    assert len(errors) == sum(len(choices) for choices in (OBJECTS, SECONDS, NAMES, SUBJECTS, ROLES)) - 4, errors


def test_who_reports_what_check_reports(auth: Authorizer, binder: QuestionBinder) -> None:
    for words in EVERY:
        if (words.subject, words.as_role) == (SUBJECTS[0], ROLES[0]):
            first = checked(auth, words)
            assert error(auth.who, words.name, words.object, with_=words.with_) == first, words
            who = Who(name=words.name, object=words.object, with_=words.with_)
            assert error(binder.bind, who) == first, words


def test_which_reports_what_check_reports(auth: Authorizer, binder: QuestionBinder) -> None:
    for words in EVERY:
        if words.object in (OBJECTS[0], OBJECTS[2]):
            type_, first = words.object.partition(":")[0], checked(auth, words)
            which = Which(type=type_, subject=words.subject, name=words.name, as_role=words.as_role, with_=words.with_)
            assert error(binder.bind, which) == first, words
            found = error(auth.which, type_, words.subject, words.name, as_role=words.as_role, with_=words.with_)
            assert found == first, words


@pytest.mark.parametrize("words", [{"name": 7}, {"object": 7}, {"with_": {"source": 7}}, {"with_": "x"}], ids=str)
def test_words_that_are_not_strings_are_reported_before_other_errors(auth: Authorizer, words: dict[str, Any]) -> None:
    wrong: dict[str, Any] = {"name": "insert_in", "object": "relation:", "with_": {"sauce": "relation:"}, **words}
    errors = [error(auth.check, "user:", **wrong), error(auth.explain, "user:", **wrong), error(auth.who, **wrong)]
    if "object" not in words:
        del wrong["object"]
        errors.append(error(auth.which, "relatoin", "user:", **wrong))
    assert len({raised and raised[0] for raised in errors}) == 1, errors
    assert all(raised and ("must be strings" in raised[1] or "with_='x'" in raised[1]) for raised in errors), errors
