"""The cursor of a list: any spelling of a reference that the list can contain; anything else is an error."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from grantpath.engine import Authorizer, InvalidInput, InvalidReference, reference

from ...conftest import Tenants
from ...support.with_replica import with_replica

LOGINS = ["ann", "ann.lee@corp.example", "bob", "b c", "zoe.x", "11", "Zed"]
FACTS = [
    *("add catalog:hr", "add schema:hr.s", "add role:r", "add group:g"),
    *(f"add table:hr.s.{name}" for name in ("a", "`b.c`", "d", "`e f`")),
    *(f"add {reference('user', name)}" for name in LOGINS),
    *(f"member {reference('user', name)} of role:r" for name in LOGINS),
    "allow USE_CATALOG on catalog:hr to role:r",
    "allow USE_SCHEMA on catalog:hr to role:r",
    "allow SELECT_TABLE on catalog:hr to role:r",
    *(f"allow SELECT_TABLE on table:hr.s.{name} to role:r" for name in ("a", "`b.c`", "d")),
]
Read = Callable[..., Any]


@pytest.fixture(scope="module")
def auth(module_tenant: Tenants) -> Authorizer:
    return module_tenant("gravitino", FACTS)


def quoted(ref: str) -> str:
    """The reference with quotes around each segment."""
    type_, _, name = ref.partition(":")
    parts = [name] if type_ == "user" else name.split(".", 2)
    return f"{type_}:" + ".".join(part if part.startswith("`") else f"`{part}`" for part in parts)


def lists(auth: Authorizer) -> dict[str, Read]:
    """The lists of references: each takes limit, after and at."""
    past = auth.past(auth.revision_now())
    memory = with_replica(auth)
    return {
        "who": lambda **page: auth.who("SELECT_TABLE", "table:hr.s.a", **page).read(),
        "who of the past": lambda **page: auth.who("SELECT_TABLE", "table:hr.s.a", as_of=past, **page).read(),
        "who in memory": lambda **page: memory.who("SELECT_TABLE", "table:hr.s.a", **page).read(),
        "which": lambda **page: auth.which("table", "user:ann", "SELECT_TABLE", **page).read(),
        "which of the past": lambda **page: auth.which("table", "user:ann", "SELECT_TABLE", as_of=past, **page).read(),
        "which in memory": lambda **page: memory.which("table", "user:ann", "SELECT_TABLE", **page).read(),
        "list user": lambda **page: auth.list("user", **page),
        "list table": lambda **page: auth.list("table", **page),
        "members": lambda **page: auth.members("role:r", **page),
        "memberships": lambda **page: auth.memberships("user:ann", **page),
    }


def refs_of(page: Any) -> list[str]:
    entries: Sequence[Any] = page.answer
    is_text = not entries or isinstance(entries[0], str)
    return [*entries] if is_text else [each.member if each.member != "user:ann" else each.container for each in entries]


def test_pages_go_on_after_each_spelling_of_a_reference(auth: Authorizer) -> None:
    assert len(lists(auth)) == 10
    for name, read in lists(auth).items():
        whole = read(limit=100)
        entries = list(whole.answer)
        assert entries, name
        for at, entry in enumerate(entries):
            ref = entry if isinstance(entry, str) else entry.container if name == "memberships" else entry.member
            for spelling in (ref, quoted(ref)):
                page = read(limit=100, after=spelling, at=whole.revision)
                assert list(page.answer) == entries[at + 1 :], (name, spelling)


def test_pages_that_begin_with_none_have_every_entry_once(auth: Authorizer) -> None:
    for name, read in lists(auth).items():
        whole, found, after = list(read(limit=100).answer), [], None
        for _ in range(len(whole) + 1):
            page = read(limit=1, after=after)
            found += page.answer
            after = page.after
            if after is None:
                break
        assert (found, after) == (whole, None), name


def test_the_entity_of_a_cursor_need_not_exist(auth: Authorizer) -> None:
    assert list(auth.who("SELECT_TABLE", "table:hr.s.a", after="user:`b`")) == ["user:bob", "user:zoe.x"]
    assert auth.list("table", after="table:hr.s.c").answer == ("table:hr.s.d",)


@pytest.mark.parametrize("wrong", ["", "zzz", "USER:11", "user", "user:", "usr:ann", "schema:hr.s", "metalake:other"])
def test_what_the_list_cannot_contain_is_not_a_cursor(auth: Authorizer, wrong: str) -> None:
    for name, read in lists(auth).items():
        with pytest.raises(InvalidInput, match=r"after=.*or None for the first page") as refused:
            read(limit=2, after=wrong)
        assert refused.value.question is not None, name


def test_a_cursor_of_grants_is_a_grant_in_any_spelling(auth: Authorizer) -> None:
    whole = auth.grants()
    for at, grant in enumerate(whole.answer):
        other = f"{grant.effect.lower()} {grant.privilege} on {quoted(grant.object)} to role:`r`"
        for spelling in (grant.statement, other):
            assert auth.grants(after=spelling).answer == whole.answer[at + 1 :]
    for wrong in ("", "role:r", "allow SELECT_TABLE on table:hr.s.a to table:hr.s.a", "add role:r"):
        with pytest.raises(InvalidInput, match="after="):
            auth.grants(after=wrong)


def test_in_compares_references(auth: Authorizer) -> None:
    found = auth.who("SELECT_TABLE", "table:hr.s.a")
    assert reference("user", "ann.lee@corp.example") == "user:ann.lee@corp.example"
    assert "user:`ann.lee@corp.example`" in found and "user:ann.lee@corp.example" in found
    assert "user:nobody" not in found
    with pytest.raises(InvalidReference):
        assert "ann" in found
