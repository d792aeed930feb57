"""Roots with names of their own, which the command line lists; it does not list the tenants of tests."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from grantpath.engine import Authorizer
from grantpath.engine.cli.change.change_commands import read_statements
from grantpath.engine.policy import policy
from grantpath.engine.tenants import registry
from grantpath.graph.guard.store import Store

COMPANY = Path(__file__).parents[2] / "docs" / "examples" / "company.txt"
COMPANY_ROOT = "metalake:ml"  # its name on the pages


@contextmanager
def named_root(store: Store, policy_name: str, name: str, facts: Sequence[str]) -> Iterator[Authorizer]:
    """A new root with these facts, in place of an earlier one of this name."""
    model = policy.load(policy_name)
    root = model.root(name)
    registry.remove(store, root.text)
    registry.create(store, root.text, model, root)
    made = Authorizer(store, root.text, model, root)
    assert made.given(facts) == [None] * len(facts)
    yield made
    registry.remove(store, root.text)


@contextmanager
def company(store: Store, prefix: str) -> Iterator[str]:
    """The root of the pages' examples, under a name that begins with `prefix`."""
    name = f"metalake:{prefix}_{uuid4().hex[:8]}"
    with Authorizer.open(name, "gravitino", create=True) as auth:
        auth.change_all([text.replace(COMPANY_ROOT, name) for _, text in read_statements(str(COMPANY))])
    yield name
    registry.remove(store, name)
