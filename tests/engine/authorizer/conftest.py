"""A root that programs can open by its name."""

import uuid
from collections.abc import Callable, Iterable, Iterator

import pytest

from grantpath.engine import Authorizer
from grantpath.engine.tenants import registry
from grantpath.graph.guard.store import Store

from ...conftest import built_in

NewRoot = Callable[[Iterable[str]], Authorizer]


@pytest.fixture
def new_root(store: Store) -> Iterator[NewRoot]:
    """Creates roots with these facts, all of which must be valid, and removes them after the test."""
    made: list[str] = []
    model = built_in("gravitino")

    def create(facts: Iterable[str]) -> Authorizer:
        root = model.root(f"loop_{uuid.uuid4().hex[:8]}")
        made.append(root.text)
        registry.create(store, root.text, model, root)
        auth = Authorizer(store, root.text, model, root)
        assert not any(auth.given(fact.replace("metalake:ml", root.text) for fact in facts))
        return auth

    yield create
    for name in made:
        registry.remove(store, name)
