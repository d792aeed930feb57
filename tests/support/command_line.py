"""Commands that run in the process of the tests, and a root for them."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest

from grantpath.engine import Authorizer
from grantpath.engine.cli import main
from grantpath.engine.tenants import registry
from grantpath.graph.guard.store import Store

STAFF = "table:hr.public.staff"
ODD = "user:`a 'quoted' \\ na``me\n\u2028😀`"
FACTS = [
    "add catalog:hr",
    "add schema:hr.public",
    f"add {STAFF}",
    "add table:hr.public.pay",
    "add user:ann",
    "add user:bob",
    f"add {ODD}",
    "add role:analyst",
    "owner user:ann of catalog:hr",
    "member user:bob of role:analyst",
    f"member {ODD} of role:analyst",
    "allow USE_CATALOG on ROOT to role:analyst",
    "allow USE_SCHEMA on catalog:hr to role:analyst",
    "allow SELECT_TABLE on schema:hr.public to role:analyst",
    "deny SELECT_TABLE on table:hr.public.pay to role:analyst",
]


@dataclass
class Ran:
    """The result of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ran]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command in this process."""
    for name in ("GRANTPATH_ROOT", "GRANTPATH_POLICY"):
        monkeypatch.delenv(name, raising=False)

    def command(*arguments: str) -> Ran:
        capsys.readouterr()
        code = main.main(list(arguments))
        return Ran(code, *capsys.readouterr())

    return command


@pytest.fixture(scope="module")
def facts(store: Store) -> Iterator[str]:
    """A root with a small company, which the command line creates; each fact is a revision."""
    root = f"metalake:command-line-{uuid4().hex[:8]}"
    first, *others = (fact.replace("ROOT", root) for fact in FACTS)
    assert main.main(["change", first, "--root", root, "--policy", "gravitino", "--create"]) == 0
    with Authorizer.open(root, timeout=60) as auth:
        for fact in others:
            auth.change(fact)
    yield root
    registry.remove(store, root)
