"""Answers about wide groups and deep hierarchies stay small and quick."""

import time
from collections.abc import Callable

import pytest

from grantpath.engine import Authorizer
from grantpath.engine.transfer import importer

from ...conftest import Closing, Tenants
from ...support.table_files import Tables, write

WIDE = 10_000


@pytest.fixture(scope="module")
def wide(module_tenant: Tenants, tmp_path_factory: pytest.TempPathFactory) -> Authorizer:
    """A group with many members, which is in another group; and a role with many grants. They are loaded as tables,
    which takes less work than as many statements."""
    auth = module_tenant("lakehouse", ["add role:r", "member group:all of group:top"])
    names = [f"{number:05}" for number in range(WIDE)]
    tables = [f"table:c.s.t{name}" for name in names]
    found: Tables = {
        "subjects": [(f"user:{name}",) for name in names],
        "objects": [("catalog:c",), ("schema:c.s",), *((table,) for table in tables)],
        "members": [(f"user:{name}", "group:all") for name in names],
        "grants": [("ALLOW", "SELECT_TABLE", table, "role:r") for table in tables],
    }
    importer.load(auth, write(tmp_path_factory.mktemp("tables"), found))
    return auth


def timed(work: Callable[[], object]) -> float:
    work()  # the first time the server makes a plan
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


@pytest.mark.slow
def test_wide_answers_are_cut_and_pages_are_complete(wide: Authorizer, closing: Closing) -> None:
    view = wide.show("group:top")
    assert (view.counts.members, len(view.members.answer), view.members.complete) == (1, 50, False)
    assert wide.show("group:all").counts.members == WIDE
    role = wide.show("role:r")
    assert (role.counts.grants_to, len(role.grants_to.answer), role.grants_to.complete) == (WIDE, 50, False)
    page = wide.members("group:top", all=True, limit=10_000)
    assert (len(page.answer), page.complete) == (10_000, False)
    last = wide.members("group:top", all=True, limit=10_000, after=page.after or "", at=page.revision)
    assert len({each.member for each in (*page.answer, *last.answer)}) == WIDE + 1
    assert all(each.path[-2:] == ("group:all", "group:top") for each in page.answer if not each.direct)
    assert len(wide.list("table", under="schema:c.s", limit=10_000).answer) == WIDE
    assert len(wide.grants(to="role:r", limit=10_000).answer) == WIDE
    took = {
        "show": timed(lambda: wide.show("group:top")),
        "a page of 1,000 members": timed(lambda: wide.members("group:top", all=True)),
        "a page of 1,000 grants": timed(wide.grants),
        "a page of 1,000 tables": timed(lambda: wide.list("table")),
        "can": timed(lambda: wide.can("group:top", "table:c.s.t00000")),
    }
    closing(f"a group of {WIDE:,}: " + ", ".join(f"{what} {seconds:.2f} s" for what, seconds in took.items()))
    assert max(took.values()) < 10


@pytest.mark.slow
def test_many_grants_in_a_long_list_fit_into_the_memory_of_the_server(wide: Authorizer) -> None:
    """Neo4j counts what a row refers to in the memory of each row that it sorts: a row must not refer to all grants."""
    assert wide.given(["member user:reader of role:r"]) == [None]
    assert len(list(wide.which("table", "user:reader", "SELECT_TABLE"))) == WIDE
    assert len(list(wide.who("SELECT_TABLE", "table:c.s.t00000"))) == 1


def test_deep_and_doubled_memberships_are_visited_once(tenant: Tenants) -> None:
    """Twenty diamonds one above the other: a million paths, and 60 groups."""
    facts = []
    for level in range(20):
        for side in ("left", "right"):
            facts += [f"member group:{side}{level} of group:mid{level}"]
            facts += [f"member group:mid{level - 1} of group:{side}{level}"] if level else []
    auth = tenant("lakehouse", [*facts, "member user:u of group:left0", "member user:u of group:right0"])
    page = auth.memberships("user:u", all=True)
    assert (len(page.answer), page.complete) == (60, True)
    assert max(len(each.path) for each in page.answer) == 41
    assert len(auth.members("group:mid19", all=True).answer) == 60
    assert auth.can("user:u", "user:u").allowed == ("get_user",)
