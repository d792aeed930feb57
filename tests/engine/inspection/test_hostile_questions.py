"""Questions about what does not exist, what is hidden, and with arguments that are not valid."""

from collections.abc import Callable
from typing import Any

import pytest

from grantpath.engine import Authorizer, GrantpathError, Invalid, InvalidInput, Unknown, UnknownName

from ...conftest import Tenants
from ...support.hostile_words import BROKEN, FRAGMENTS

FACTS = [
    "add catalog:hr",
    "add schema:hr.public",
    "add table:hr.public.staff",
    "add table:hr.public.`a'b\"]) DETACH DELETE n //`",
    "add role:analyst",
    "add role:`x\ny`",
    "member user:bob of group:readers",
    "member group:readers of role:analyst",
    "member user:ops of role:service_admin",
    "owner user:ann of catalog:hr",
    "allow SELECT_TABLE on table:hr.public.staff to role:analyst",
    "deny SELECT_TABLE on table:hr.public.staff to role:`x\ny`",
]


@pytest.fixture(scope="module")
def auth(module_tenant: Tenants) -> Authorizer:
    return module_tenant("gravitino", FACTS)


@pytest.mark.parametrize(
    ("ask", "names"),
    [
        (lambda auth: auth.show("table:hr.public.stuff"), "table:hr.public.staff"),
        (lambda auth: auth.show("user:bop"), "user:bob"),
        (lambda auth: auth.members("role:analist"), "role:analyst"),
        (lambda auth: auth.memberships("user:bop", all=True), "user:bob"),
        (lambda auth: auth.grants(on="table:hr.public.stuff"), "table:hr.public.staff"),
        (lambda auth: auth.grants(to="role:analist"), "role:analyst"),
        (lambda auth: auth.grants(privilege="SELECT_TABEL"), "SELECT_TABLE"),
        (lambda auth: auth.list("tabel"), "table"),
        (lambda auth: auth.list("table", under="schema:hr.publik"), "schema:hr.public"),
        (lambda auth: auth.list("catalog", owned_by="user:anne"), "user:ann"),
        (lambda auth: auth.can("user:bop", "catalog:hr"), "user:bob"),
        (lambda auth: auth.can("role:analist", "catalog:hr"), "role:analyst"),
        (lambda auth: auth.can("user:bob", "catalog:hrr"), "catalog:hr"),
    ],
)
def test_name_that_does_not_exist_suggests_similar_names(auth: Authorizer, ask: Any, names: str) -> None:
    with pytest.raises((Unknown, UnknownName), match=rf"did you mean .*{names}"):
        ask(auth)


def test_hidden_role_is_in_no_answer(auth: Authorizer) -> None:
    for ask in (
        lambda: auth.show("role:service_admin"),
        lambda: auth.members("role:service_admin"),
        lambda: auth.grants(to="role:service_admin"),
        lambda: auth.can("role:service_admin", "catalog:hr"),
    ):
        with pytest.raises(Unknown, match="role:service_admin does not exist"):
            ask()
    assert "role:service_admin" not in auth.list("role").answer
    assert auth.memberships("user:ops", all=True).answer == ()
    view = auth.show("user:ops")
    assert (view.counts.memberships, view.memberships.answer) == (0, ())
    assert "service_admin" not in auth.show(auth.root.text).model_dump_json()


@pytest.mark.parametrize(
    "ask",
    [
        lambda auth: auth.list("table", limit=0),
        lambda auth: auth.list("table", limit=10_001),
        lambda auth: auth.list("table", limit=True),
        lambda auth: auth.list("table", limit=None),
        lambda auth: auth.list("table", after=7),
        lambda auth: auth.list("table", at="1"),
        lambda auth: auth.list("table", like=7),
        lambda auth: auth.list("table", like="\ud800"),
        lambda auth: auth.list("table", without_owner="yes"),
        lambda auth: auth.list("catalog", without_owner=True, owned_by="user:ann"),
        lambda auth: auth.grants(effect="allow"),
        lambda auth: auth.grants(after="role:analyst"),
        lambda auth: auth.grants(after="add role:analyst"),
        lambda auth: auth.grants(on=7),
        lambda auth: auth.members("role:analyst", all="yes"),
        lambda auth: auth.can("user:bob", "catalog:hr", with_="tag"),
        lambda auth: auth.can("user:bob", "catalog:hr", with_={"tag": 7}),
        lambda auth: auth.show(None),
    ],
)
def test_argument_of_another_form_is_invalid_input(auth: Authorizer, ask: Any) -> None:
    with pytest.raises(InvalidInput):
        ask(auth)


def test_question_without_meaning_is_invalid(auth: Authorizer) -> None:
    for ask, text in (
        (lambda: auth.members("table:hr.public.staff"), "is not a subject; name a "),
        (lambda: auth.can("table:hr.public.staff", "catalog:hr"), "is not a subject; name a "),
        (lambda: auth.list("user", without_owner=True), "a user has no owner in the policy gravitino"),
        (lambda: auth.can("user:bob", "catalog:hr", as_role="role:analyst"), "has no active roles"),
        (lambda: auth.can("user:bob", "user:ann", with_={"tag": "tag:x"}), "takes this second object"),
    ):
        with pytest.raises(Invalid, match=text):
            ask()


def test_hostile_words_are_names_or_errors(auth: Authorizer) -> None:
    for word in (*FRAGMENTS, *BROKEN):
        for ask in (
            lambda: auth.show(word),  # noqa: B023
            lambda: auth.list(word, under=word, owned_by=word),  # noqa: B023
            lambda: auth.list("table", like=word),  # noqa: B023
            lambda: auth.grants(on=word, to=word, privilege=word, after=word),  # noqa: B023
            lambda: auth.members(word, after=word),  # noqa: B023
            lambda: auth.memberships(word),  # noqa: B023
            lambda: auth.can(word, word, as_role=word, with_={word: word}),  # noqa: B023
        ):
            try:
                ask()
            except GrantpathError as error:
                assert isinstance(error, Invalid), error
    assert len(auth.list("table").answer) == 2


def test_odd_names_come_back_unchanged_and_pages_go_on_after_them(auth: Authorizer) -> None:
    odd = "role:x\ny"  # as it is printed
    [denied] = auth.grants(effect="DENY").answer
    assert denied.subject == odd
    assert auth.grants(after=denied.statement, limit=1).complete
    assert auth.grants(limit=1).after == "allow SELECT_TABLE on table:hr.public.staff to role:analyst"
    assert auth.list("role", like="X\nY").answer == (odd,)
    assert auth.show(auth.list("table").answer[0]).type == "table"


def test_wrong_word_of_a_question_is_named(auth: Authorizer) -> None:
    asks: dict[str, Callable[[], object]] = {
        r"^effect='allow' must be 'ALLOW' or 'DENY'; omit it if both are meant$": lambda: auth.grants(effect="allow"),  # type: ignore[arg-type]
        r"^on=7 must be a string$": lambda: auth.grants(on=7),  # type: ignore[arg-type]
        r"^all='yes' must be True or False$": lambda: auth.members("role:analyst", all="yes"),  # type: ignore[arg-type]
        r"^with_={'tag': 7} must have strings as keys": lambda: auth.can("user:bob", "catalog:hr", with_={"tag": 7}),  # type: ignore[dict-item]
        r"^with_='tag' is not a mapping; write {'KEY': 'REF'}": lambda: auth.can("user:bob", "catalog:hr", with_="tag"),  # type: ignore[arg-type]
    }
    for text, ask in asks.items():
        with pytest.raises(InvalidInput, match=text):
            ask()


def test_empty_words_are_shown_in_messages(auth: Authorizer) -> None:
    for ask in (
        lambda: auth.check("", "load_catalog", "catalog:hr"),
        lambda: auth.check("user:bob", "", "catalog:hr"),
        lambda: auth.who("load_catalog", "", type=None),
        lambda: auth.which("", "user:bob", "load_catalog"),
        lambda: auth.list(""),
        lambda: auth.grants(privilege=""),
        lambda: auth.show(""),
        lambda: auth.change("add user:x", by=""),
        lambda: auth.log(id=""),
        lambda: auth.log(actor=""),
        lambda: auth.past(""),
    ):
        with pytest.raises(Invalid, match=r"(^|[ =])''( |;)"):
            ask()
    uri = auth.store.uri
    for what, empty in (
        ("root", lambda: Authorizer.open("", uri=uri)),
        ("policy", lambda: Authorizer.open("metalake:ml", policy="", uri=uri)),
        ("uri", lambda: Authorizer.open("metalake:ml", uri="")),
        ("root", lambda: Authorizer.drop_root("", confirm="", uri=uri)),
    ):
        with pytest.raises(InvalidInput, match=f"^{what} is empty; name one"):
            empty()
