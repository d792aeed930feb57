"""An argument of another type than the method takes is an InvalidInput that names it, and never an answer."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from grantpath.engine import Authorizer, Conflict, InvalidInput
from grantpath.engine.memory.memory_authorizer import authorizer

from ...conftest import Tenants

FACTS = ["add catalog:hr", "add schema:hr.s", "add table:hr.s.t", "add role:r", "member user:bob of role:r"]
TABLE = "table:hr.s.t"
NO_MAPPINGS: list[Any] = ["tag:pii", ["tag:pii"], [("tag", "tag:pii")], (), "", 0, False]
SECOND_OBJECTS: dict[str, Callable[[Authorizer, Any], Any]] = {
    "check": lambda auth, given: auth.check("user:bob", "SELECT_TABLE", TABLE, with_=given),
    "filter": lambda auth, given: auth.filter("user:bob", "SELECT_TABLE", [TABLE], with_=given),
    "who": lambda auth, given: auth.who("SELECT_TABLE", TABLE, with_=given),
    "which": lambda auth, given: auth.which("table", "user:bob", "SELECT_TABLE", with_=given),
    "explain": lambda auth, given: auth.explain("user:bob", "SELECT_TABLE", TABLE, with_=given),
    "can": lambda auth, given: auth.can("user:bob", TABLE, with_=given),
    "add": lambda auth, given: auth.add("user:kim", with_=given),
}


@pytest.fixture(params=["database", "memory"])
def auth(request: pytest.FixtureRequest) -> Iterator[Authorizer]:
    if request.param == "memory":
        yield authorizer("gravitino", FACTS)
    else:
        make: Tenants = request.getfixturevalue("tenant")
        yield make("gravitino", FACTS)


@pytest.mark.parametrize("ask", SECOND_OBJECTS.values(), ids=SECOND_OBJECTS)
def test_second_objects_are_a_mapping(auth: Authorizer, ask: Callable[[Authorizer, Any], Any]) -> None:
    for given in NO_MAPPINGS:
        with pytest.raises(InvalidInput, match=r"^with_=.* is not a mapping; write \{'KEY': 'REF'\}"):
            ask(auth, given)
    ask(auth, {}) if ask is SECOND_OBJECTS["add"] else ask(auth, None)


def test_second_objects_of_a_batch_are_a_mapping(auth: Authorizer) -> None:
    with pytest.raises(InvalidInput, match="with_='tag:pii' is not a mapping"), auth.batch() as batch:
        batch.add("user:kim", with_="tag:pii")  # type: ignore[arg-type]


@pytest.mark.parametrize("at", ["7", "x" * 5_000, None, True, 7.0, b"7", []])
def test_revision_of_a_dry_run_is_a_number(auth: Authorizer, at: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^at=.* must be an integer") as error:
        auth.effects_of([], [], at=at)
    assert len(str(error.value)) < 500


@pytest.mark.parametrize("statements", ["add user:kim", "", b"add user:kim", 0, None])
def test_facts_of_a_dry_run_are_lists(auth: Authorizer, statements: Any) -> None:
    revision = auth.revision_now()
    for added, removed in ((statements, []), ([], statements)):
        with pytest.raises(InvalidInput, match=r"is not a list of statements for (added|removed)=; wrap a single"):
            auth.effects_of(added, removed, at=revision)


@pytest.mark.parametrize("policy", ["gravitino", 1, {}])
def test_policy_of_a_dry_run_is_a_policy(auth: Authorizer, policy: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^policy=.* is not a Policy; pass what .*\.load returns"):
        auth.effects_of([], [], at=auth.revision_now(), policy=policy)


def test_dry_run_of_another_revision_is_a_conflict(auth: Authorizer) -> None:
    with pytest.raises(Conflict, match="repeat the dry run"):
        auth.effects_of([], [], at=auth.revision_now() + 1)
