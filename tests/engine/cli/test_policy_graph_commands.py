"""`grantpath policy verify` and `policy write`: exit codes, differences by name, JSON."""

from grantpath.graph.guard.store import Store

from ...support.command_line import Run, facts, run

__all__ = ["facts", "run"]
VERIFY = ["policy", "verify"]


def test_manual_edit_is_named_and_overwritten(run: Run, facts: str, store: Store) -> None:
    assert run("--root", facts, *VERIFY).code == 0
    assert "equal the policy gravitino" in run(*VERIFY, facts).out
    edit = "MATCH (f:RuleFact {root: $root, fact: 'DENY SELECT_TABLE table'}) SET f.place = 'schema'"
    store.execute(edit, {"root": facts})
    told = run(*VERIFY, facts)
    assert told.code == 1
    assert f"`grantpath policy write {facts}` writes it again" in told.out
    assert "RuleFact DENY SELECT_TABLE table: place is schema, but table in the policy" in told.out
    found = run("--json", *VERIFY, facts)
    assert (found.code, found.json["equal"], len(found.json["differences"])) == (1, False, 1)
    written = run("--json", "policy", "write", facts)
    assert (written.code, written.json["policy"], written.json["nodes"]) == (0, "gravitino", 760)
    assert run("--json", *VERIFY, facts).json == {
        "equal": True,
        "root": facts,
        "policy": "gravitino",
        "differences": [],
    }


def test_a_root_that_does_not_exist_is_an_error(run: Run, facts: str) -> None:
    for words in (VERIFY, ["policy", "write"]):
        told = run(*words, "metalake:not-there")
        assert told.code == 2
        assert "metalake:not-there does not exist" in told.err
