"""Suggested names: similar ones only, and looked up for errors and explanations."""

import pickle
import time

import pytest

from grantpath.engine import Authorizer, Unavailable, Unknown, UnknownName
from grantpath.graph.guard.store import Store
from grantpath.graph.language.near_names import close

from ...conftest import Closing, Tenants

TABLES = ["table:hr.public.staff", "table:hr.public.orders", "table:hr.public.customers", "table:hr.private.staff"]


@pytest.fixture
def auth(tenant: Tenants) -> Authorizer:
    facts = ["add catalog:hr", "add schema:hr.public", "add schema:hr.private", *(f"add {table}" for table in TABLES)]
    return tenant("gravitino", [*facts, "add role:analyst", "member user:bob of role:analyst", "add user:zoe"])


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("table:hr.public.stuff", ["table:hr.public.staff"]),
        ("table:hr.public.STAFF", ["table:hr.public.staff"]),
        ("table:hr.publik.staff", ["table:hr.public.staff"]),
        ("table:hr.public.invoices", []),
        ("table:crm.public.staff", []),
        ("table:hr.public", []),
    ],
)
def test_name_with_only_the_same_parents_is_not_suggested(word: str, meant: list[str]) -> None:
    assert close(word, TABLES)[:1] == meant
    assert "table:hr.public.orders" not in close(word, TABLES)


# ---- where they appear --------------------------------------------------------------------------------------------
def test_answer_about_a_misspelled_user_suggests_the_existing_one(auth: Authorizer) -> None:
    checked = auth.check("user:bobb", "load_table", TABLES[0])
    assert not checked and checked.missing[0].startswith("user:bobb does not exist: add")
    explained = auth.explain("user:bobb", "load_table", TABLES[0])
    assert explained.decision.missing[0].startswith("user:bobb does not exist (did you mean user:bob?): add")
    assert (
        auth.check("user:somebody", "load_table", TABLES[0]).missing[0].startswith("user:somebody does not exist: add")
    )


@pytest.mark.parametrize("dry_run", [False, True])
def test_change_of_a_misspelled_role_suggests_the_existing_one(auth: Authorizer, dry_run: bool) -> None:
    wrong = "member user:zoe of role:analist"
    with pytest.raises(Unknown) as one:
        auth.change(wrong, dry_run=dry_run)
    assert str(one.value) == "role:analist does not exist (did you mean role:analyst?); add it first, or check the name"
    with pytest.raises(Unknown) as many:
        auth.change_all(["add user:yan", wrong], dry_run=dry_run)
    assert str(many.value).startswith("statement 1: role:analist does not exist (did you mean role:analyst?)")


@pytest.mark.parametrize(("name", "meant"), [("select_table", "SELECT_TABLE"), ("LOAD_TABLE", "load_table")])
def test_name_in_another_case_is_suggested(auth: Authorizer, name: str, meant: str) -> None:
    with pytest.raises(UnknownName, match=rf"did you mean {meant}"):
        auth.check("user:bob", name, TABLES[0])


# ---- their cost ---------------------------------------------------------------------------------------------------
def test_only_an_error_and_an_explanation_look_for_suggestions(
    auth: Authorizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, asked = Store.read, []

    def counted(self: Store, text: str, *rest: object) -> object:
        asked.append(text.split(".cypher")[0].removeprefix("// "))
        return read(self, text, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Store, "read", counted)
    with pytest.raises(Unknown) as told:
        auth.check("user:bob", "load_table", "table:hr.public.stuff")
    assert asked == ["entity_exists", "similar_names"]
    decision = auth.check("user:bobb", "load_table", TABLES[0])
    assert "does not exist" in decision.missing[0]
    assert asked == ["entity_exists", "similar_names"]
    assert "(did you mean table:hr.public.staff?)" in str(told.value)
    again = pickle.loads(pickle.dumps(told.value))
    assert (type(again), str(again)) == (Unknown, str(told.value))


def test_error_without_suggestions_is_complete(auth: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(self: Store, text: str, *rest: object) -> object:
        if "similar_names" in text.partition("\n")[0]:
            raise Unavailable("the database is gone")
        return read(self, text, *rest)  # type: ignore[arg-type]

    read = Store.read
    monkeypatch.setattr(Store, "read", gone)
    with pytest.raises(Unknown) as told:
        auth.check("user:bob", "load_table", "table:hr.public.stuff")
    assert str(told.value) == "table:hr.public.stuff does not exist; add it, or check the name"


def test_adversarial_names_are_fast_to_compare(tenant: Tenants, closing: Closing) -> None:
    names = [f"user:{'ab' * 40}{'ba' * (number % 9)}{number:04d}" for number in range(2_000)]
    auth = tenant("gravitino", [f"add {name}" for name in names])
    asked = f"user:{'ba' * 47}"
    began = time.process_time()  # other tests share the machine
    texts = [auth.explain(asked, "load_metalake", "metalake:ml").missing[0] for _ in range(10)]
    took = (time.process_time() - began) / 10
    closing(f"suggestions among 2,000 names made to be slow: {1000 * took:.0f} ms with the explanation")
    assert texts[0].startswith(f"{asked} does not exist")
    assert took < 0.5
    began = time.process_time()
    close(asked, names)
    assert time.process_time() - began < 1


# ---- remedies that need the operator ---------------------------------------------------------------------------------
def test_remedy_that_no_actor_can_apply_names_the_operator(tenant: Tenants) -> None:
    auth, asked = tenant("github", ["add org:hr", "add repository:hr.public"]), ("push", "repository:hr.public")
    explained = auth.explain("user:new", *asked)
    assert explained.remedy[0] == "add user:new"
    expected = "the policy github allows no actor to make this change; the operator must write it as a fact: "
    assert explained.decision.missing[-1].startswith(f"{expected}add user:new")
    assert auth.check("user:new", *asked).missing[-1] == f"{expected}add user:new"
    other = tenant("gravitino", ["add catalog:c"])
    assert not any(
        "no actor" in text for text in other.explain("user:new", "USE_CATALOG", "catalog:c").decision.missing
    )
