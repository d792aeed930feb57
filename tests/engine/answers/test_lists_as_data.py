"""Lists as data: models with question, revision and completeness, tables of pyarrow, and HTML for notebooks."""

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from grantpath.engine import AsyncAuthorizer, Authorizer, Logged, ReferencePage
from grantpath.graph.client.connection import Connection
from grantpath.graph.guard.async_store import AsyncStore
from grantpath.graph.language.statement import Who

from ...conftest import Tenants

HOSTILE = "user:<script>alert(1)</script>"
FACTS = [
    *(
        "add catalog:c",
        "add catalog:d",
        "add role:a",
        "member user:u of role:a",
        "member user:v of role:a until 2100-01-01T00:00:00Z",
    ),
    *("allow USE_CATALOG on catalog:c to role:a", "allow USE_CATALOG on catalog:d to user:u"),
    *(f"add {HOSTILE}", f"allow USE_CATALOG on catalog:c to {HOSTILE}"),
]
USERS = [HOSTILE, "user:u", "user:v"]
LISTS: dict[str, Callable[[Authorizer], Any]] = {
    "list": lambda auth: auth.list("catalog"),
    "grants": lambda auth: auth.grants(),
    "members": lambda auth: auth.members("role:a"),
    "memberships": lambda auth: auth.memberships("user:u"),
    "ending": lambda auth: auth.ending(),
    "can": lambda auth: auth.can("user:u", "catalog:c"),
    "who": lambda auth: auth.who("USE_CATALOG", "catalog:c").read(),
    "which": lambda auth: auth.which("catalog", "user:u", "USE_CATALOG", limit=1).read(),
    "log": lambda auth: auth.log(limit=2, since=datetime(2020, 1, 1, tzinfo=UTC)).read(),
}
COLUMNS = {
    "list": ["ref"],
    "grants": ["effect", "privilege", "object", "subject", "until"],
    "members": ["member", "container", "path", "until"],
    "memberships": ["member", "container", "path", "until"],
    "ending": ["until", "statement", "subject", "object"],
    "can": ["name", "allowed", "needs"],
    "who": ["ref"],
    "which": ["ref"],
    "log": [*Logged.model_fields],
}


@pytest.fixture(scope="module")
def auth(module_tenant: Tenants) -> Authorizer:
    return module_tenant("lakehouse", FACTS)


@pytest.mark.parametrize("name", LISTS)
def test_arrow_table_has_the_columns_and_the_rows_of_the_list(auth: Authorizer, name: str) -> None:
    found = LISTS[name](auth)
    table = found.to_arrow()
    assert table.column_names == COLUMNS[name]
    assert table.num_rows == len(found.answer) > 0


@pytest.mark.parametrize("name", LISTS)
def test_arrow_schema_names_question_revision_and_completeness(auth: Authorizer, name: str) -> None:
    found = LISTS[name](auth)
    metadata = found.to_arrow().schema.metadata
    assert json.loads(metadata[b"question"]) == found.question.model_dump(mode="json")
    assert int(metadata[b"revision"]) == found.revision
    assert metadata[b"complete"] == (b"true" if found.complete else b"false")


def test_arrow_table_has_the_values_of_the_grants(auth: Authorizer) -> None:
    found = auth.grants()
    assert found.to_arrow().to_pylist() == [each.model_dump() for each in found.answer]


def test_arrow_table_of_an_empty_list_has_its_columns(auth: Authorizer) -> None:
    table = auth.grants(to="user:v").to_arrow()
    assert (table.column_names, table.num_rows) == (COLUMNS["grants"], 0)


@pytest.mark.parametrize("name", LISTS)
def test_lists_survive_json(auth: Authorizer, name: str) -> None:
    found = LISTS[name](auth)
    assert type(found).model_validate_json(found.model_dump_json()) == found


@pytest.mark.parametrize("limit", range(1, 5))
def test_a_limited_list_says_whether_more_follow(auth: Authorizer, limit: int) -> None:
    listing = auth.who("USE_CATALOG", "catalog:c", limit=limit)
    page = listing.read()
    assert [*page.answer] == [*listing] == USERS[:limit]
    assert page.complete == listing.complete == (limit >= len(USERS))


def test_pages_that_follow_each_other_are_the_whole_list(auth: Authorizer) -> None:
    found, page = list[str](), auth.who("USE_CATALOG", "catalog:c", limit=2).read()
    found += page.answer
    assert page.after is not None
    last = auth.who("USE_CATALOG", "catalog:c", limit=2, after=page.after, at=page.revision).read()
    assert ([*found, *last.answer], last.complete, last.after) == (USERS, True, None)


def test_page_contains_its_question(auth: Authorizer) -> None:
    page = auth.who("USE_CATALOG", "catalog:c").read()
    assert page.question == Who(name="USE_CATALOG", object="catalog:c")


def test_list_on_an_event_loop_reads_the_same_page(auth: Authorizer, server: Connection) -> None:
    async def read() -> ReferencePage:
        store = AsyncStore(server, 60.0)
        async with AsyncAuthorizer(Authorizer(store, auth.tenant, auth.policy, auth.root), store) as loop:
            return await loop.who("USE_CATALOG", "catalog:c", limit=2).read()

    assert asyncio.run(read()) == auth.who("USE_CATALOG", "catalog:c", limit=2).read()


def test_arrow_table_of_the_log_has_its_types(auth: Authorizer) -> None:
    log = auth.log(limit=1)
    [row] = log.to_arrow().to_pylist()
    assert row == log[0].model_dump()
    assert (type(row["revision"]), row["at"].tzinfo is not None) == (int, True)


@pytest.mark.parametrize("limit", range(1, 4))
def test_pages_of_the_log_are_the_whole_log(auth: Authorizer, limit: int) -> None:
    whole = auth.log()
    assert (whole.complete, whole.read().before, whole.revision) == (True, None, whole[-1].revision)
    first = auth.log(limit=limit)
    assert (first.complete, [*first]) == (False, whole[len(whole) - limit :])
    assert [*auth.log(before=first.read().before), *first] == whole


# ---- notebooks -------------------------------------------------------------------------------------------------------
SHOWN: dict[str, Callable[[Authorizer], Any]] = {
    "decision": lambda auth: auth.check(HOSTILE, "USE_CATALOG", "catalog:c"),
    "explanation": lambda auth: auth.explain(HOSTILE, "USE_CATALOG", "catalog:c"),
    "refusal": lambda auth: auth.explain(HOSTILE, "USE_CATALOG", "catalog:d"),
    "listing": lambda auth: auth.who("USE_CATALOG", "catalog:c"),
    "page": lambda auth: auth.who("USE_CATALOG", "catalog:c").read(),
    "grants": lambda auth: auth.grants(),
    "entity": lambda auth: auth.show("catalog:c"),
    "revocation": lambda auth: auth.revocation(HOSTILE, "USE_CATALOG", "catalog:c"),
    "dry run": lambda auth: auth.change(f"revoke allow USE_CATALOG on catalog:c from {HOSTILE}", dry_run=True),
    "log": lambda auth: auth.log(),
    "entry of the log": lambda auth: auth.log()[-1],
}


@pytest.mark.parametrize("what", SHOWN)
def test_html_escapes_names(auth: Authorizer, what: str) -> None:
    shown = SHOWN[what](auth)._repr_html_()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown
    assert "<script" not in shown


def test_html_of_a_cut_listing_says_that_there_are_more(auth: Authorizer) -> None:
    assert "there are more" in auth.who("USE_CATALOG", "catalog:c", limit=1)._repr_html_()
    assert "complete" in auth.who("USE_CATALOG", "catalog:c", limit=3)._repr_html_()


def test_html_of_an_explanation_has_its_paths(auth: Authorizer) -> None:
    shown = auth.explain("user:u", "USE_CATALOG", "catalog:c")._repr_html_()
    assert "user:u -HAS_ROLE-&gt; role:a -ALLOW USE_CATALOG-&gt; catalog:c" in shown


def test_truth_value_of_a_list_is_whether_it_has_any_reference(tenant: Tenants) -> None:
    auth = tenant("gravitino", ["add catalog:hr", "add user:ann", "owner user:ann of catalog:hr"])
    assert auth.who("load_catalog", "catalog:hr")
    assert not auth.who("USE_CATALOG", "catalog:hr")
    assert not auth.which("catalog", "user:ann", "USE_CATALOG", limit=5)
