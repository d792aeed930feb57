"""`question` asks the questions of the catalogue: the rows of the pasted query, as data, at one revision."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import pytest

from grantpath import cypher
from grantpath.cypher.catalogue import GROUPS, catalogue
from grantpath.engine import Authorizer, CatalogueAnswer, GraphPath, Inconsistent, InvalidInput, UnknownName
from grantpath.engine.tenants import policy_graph

from ...conftest import Tenants

FACTS = [
    "add catalog:hr",
    "add schema:hr.public",
    "add table:hr.public.staff",
    "add table:hr.public.pay",
    "add tag:pii",
    "tag table:hr.public.staff with tag:pii",
    "add user:ann",
    "add user:bob",
    "add user:`odd.name`",
    "add role:analyst",
    "add role:empty",
    "add group:readers",
    "owner user:ann of catalog:hr",
    "member user:bob of group:readers",
    "member user:`odd.name` of group:readers",
    "member group:readers of role:analyst",
    "allow USE_CATALOG on metalake:ml to role:analyst",
    "allow USE_SCHEMA on catalog:hr to role:analyst",
    "allow SELECT_TABLE on schema:hr.public to role:analyst",
    "deny SELECT_TABLE on table:hr.public.pay to role:analyst",
]
GIVEN = {"subject": "user:bob", "other": "user:ann", "group": "role:analyst", "actor": "user:ann"}
GIVEN |= {"object": "table:hr.public.staff", "operation": "load_table", "privilege": "SELECT_TABLE"}
GIVEN |= {"second": "USE_SCHEMA", "gate": "USE_CATALOG", "grant_with": "MANAGE_GRANTS", "join_with": "MANAGE_GROUPS"}
GIVEN |= {"tag_with": "MODIFY_TABLE"}
GIVEN |= {"tag": "tag:pii"}
# the type of the object, by question, where another one than a table shows more
TYPES = {"which_operations_a_grant_opens": "schema", "grants_behind_a_closed_gate": "catalog"}


@pytest.fixture(scope="module")
def auth(module_tenant: Tenants) -> Authorizer:
    made = module_tenant("lakehouse", FACTS)
    policy_graph.write(made.store, made.tenant, made.policy)
    made.change("revoke allow USE_SCHEMA on catalog:hr from role:analyst", by="user:ann")
    made.change("allow USE_SCHEMA on catalog:hr to role:analyst", by="user:ann")
    return made


def given(name: str) -> dict[str, Any]:
    """Values for the parameters of a question."""
    known = GIVEN | {"type": TYPES.get(name, "table")}
    return {key: known[key] for key in catalogue()[name].parameters if key != "limit"}


def plain(value: Any) -> Any:
    """A value of the driver, or of an answer, for a comparison."""
    match value:
        case GraphPath():
            return [node.ref for node in value.nodes]
        case list() | tuple():
            return [*map(plain, value)]
        case datetime() | str() | int() | None:
            return value
    return value.to_native() if hasattr(value, "to_native") else [node["ref"] for node in value.nodes]


def test_the_catalogue_has_every_query_of_its_folder_once() -> None:
    names = [name for group in GROUPS.values() for name in group]
    assert sorted(names) == sorted(cypher.texts("questions"))


@pytest.mark.parametrize("name", list(catalogue()))
def test_answer_has_the_rows_of_the_pasted_query(auth: Authorizer, name: str) -> None:
    found = auth.question(name, **given(name))
    sent: dict[str, Any] = given(name) | ({"limit": 10} if "limit" in catalogue()[name].parameters else {})
    pasted = cypher.load(name).run(auth.store.read_values, root=auth.tenant, **sent)
    columns = catalogue()[name].columns
    rows = [{key: plain(row[key]) for key in columns} for row in pasted if found.reason is None]
    assert [{key: plain(row[key]) for key in columns} for row in found] == rows
    assert (len(found) == 0) == (found.reason is not None)
    assert found.revision == auth.revision_now()
    assert CatalogueAnswer.model_validate_json(found.model_dump_json()) == found
    assert found.to_arrow().column_names == list(columns)
    assert found.to_arrow().num_rows == len(found)


def test_questions_of_the_company_have_answers(auth: Authorizer) -> None:
    """The comparison above is worth little without rows."""
    answered = [name for name in catalogue() if auth.question(name, **given(name)).answer]
    assert len(answered) > len(catalogue()) / 2
    [first, *_] = auth.question("who_is_in_a_group", group="role:analyst")
    assert first == {
        "member": "group:readers",
        "type": "group",
        "direct": True,
        "path": first["path"],
    }
    assert str(first["path"]) == "group:readers -HAS_ROLE-> role:analyst"


def test_reason_says_why_there_is_no_row(auth: Authorizer) -> None:
    found = auth.question("who_is_in_a_group", group="role:empty")
    assert (found.answer, found.reason, found.complete) == ((), "role:empty has no members", True)
    missing = auth.question("who_is_in_a_group", group="role:none")
    assert missing.reason == f"role:none does not exist in {auth.tenant}"


def test_limit_cuts_the_rows_and_says_so(auth: Authorizer) -> None:
    whole = auth.question("who_is_in_a_group", group="role:analyst")
    assert (len(whole), whole.complete) == (3, True)
    part = auth.question("who_is_in_a_group", group="role:analyst", limit=2)
    assert (part.answer, part.complete) == (whole.answer[:2], False)
    for limit, complete in ((1, False), (10_000, True)):  # a limit of the query itself
        changes = auth.question("recent_changes", limit=limit)
        assert (changes.complete, len(changes) == limit) == (complete, not complete)


def test_each_spelling_of_a_reference_has_the_same_answer(auth: Authorizer) -> None:
    one = auth.question("what_a_user_belongs_to", subject="user:`odd.name`")
    assert len(one) == 2
    assert auth.question("what_a_user_belongs_to", subject="user:odd.name") == one
    assert auth.question("what_a_user_belongs_to", subject="user:`bob`").question.parameters == {"subject": "user:bob"}


@pytest.mark.parametrize(
    ("name", "parameters", "error", "message"),
    [
        ("who_is_in_a_grup", {}, UnknownName, r"no question 'who_is_in_a_grup' \(did you mean who_is_in_a_group\?\)"),
        (7, {}, UnknownName, "no question 7"),
        ("who_is_in_a_group", {}, InvalidInput, r"group is missing; give it, e.g. group=group:readers \(or a role"),
        ("who_is_in_a_group", {"group": 7}, InvalidInput, "group must be a string, not 7; give it, e.g."),
        ("who_is_in_a_group", {"group": "role:a", "grup": "x"}, InvalidInput, r"'grup' \(did you mean group\?\)"),
        ("recent_changes", {"subject": "user:bob"}, InvalidInput, "no parameter 'subject'; it takes none"),
        ("recent_changes", {"root": "metalake:x"}, InvalidInput, "no parameter 'root'; it takes none"),
        ("recent_changes", {"limit": 0}, InvalidInput, "limit=0 must be from 1 to 10,000; omit it"),
        ("who_is_in_a_group", {"group": "rle:analyst"}, UnknownName, r"did you mean role\?"),
    ],
)
def test_wrong_questions_are_errors(
    auth: Authorizer, name: Any, parameters: Mapping[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        auth.question(name, **parameters)


def test_question_is_asked_again_if_the_root_changes_meanwhile(
    auth: Authorizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, changes = auth.store.read_values, iter(["add user:first", "add user:second"])

    def disturbed(text: str, parameters: Mapping[str, Any]) -> Any:
        rows = read(text, parameters)
        if "users_without_a_group" in text and (change := next(changes, None)):
            auth.change(change)
        return rows

    monkeypatch.setattr(auth.store, "read_values", disturbed)
    found = auth.question("users_without_a_group")
    assert found.revision == auth.revision_now()
    assert {"user:first", "user:second"} < {str(row["user"]) for row in found}
    changes = (f"add user:more{number}" for number in range(100))
    with pytest.raises(Inconsistent, match="changed during each"):
        auth.question("users_without_a_group")
