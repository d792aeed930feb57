"""`params --for privilege` prints the parameters of privilege.cypher, where that query answers as `check`."""

import pytest

from grantpath import cypher
from grantpath.graph.store import Store

from .test_commands import STAFF, Run, facts, run

__all__ = ["facts", "run"]


@pytest.mark.parametrize(
    ("subject", "privilege", "place"),
    [
        ("user:bob", "SELECT_TABLE", STAFF),
        ("user:bob", "MODIFY_TABLE", STAFF),
        ("user:bob", "USE_CATALOG", "catalog:hr"),
    ],
)
def test_params_for_privilege_give_the_decision_of_check(
    run: Run, facts: str, store: Store, subject: str, privilege: str, place: str
) -> None:
    words = [subject, privilege, place, "--root", facts, "--json"]
    asked = run("params", *words, "--for", "privilege").json["params"]
    [row] = cypher.load("privilege").run(store.read, **asked)
    assert row["allowed"] is run("check", *words).json["allowed"]


def test_params_for_privilege_refuse_what_other_facts_decide(run: Run, facts: str) -> None:
    ran = run("params", "user:bob", "load_table", STAFF, "--root", facts, "--for", "privilege")
    assert (ran.code, ran.out) == (2, "")
    assert "privilege.cypher cannot answer this" in ran.err
    assert "use check.cypher instead" in ran.err
