"""The forms of `explain`, lists of all types, and hand-overs in a terminal."""

from ...support.command_line import ODD, STAFF, Run, facts, run

__all__ = ["facts", "run"]


def test_explain_draws_its_paths(run: Run, facts: str) -> None:
    asked = ("explain", "user:bob", "load_table", STAFF, "--root", facts)
    tree = run(*asked)
    assert tree.code == 0
    assert tree.out.splitlines()[0] == f"allowed user:bob load_table on {STAFF}"
    assert "\n  paths    user:bob\n           └─ -HAS_ROLE-> role:analyst\n" in tree.out
    assert "-ALLOW SELECT_TABLE-> schema:hr.public  *" in tree.out
    assert run(*asked, "--format", "tree").out == tree.out
    mermaid = run(*asked, "--format", "mermaid")
    assert mermaid.out.splitlines()[0] == "flowchart LR"
    assert '== "ALLOW SELECT_TABLE" ==>' in mermaid.out
    dot = run(*asked, "--format", "dot")
    assert (dot.out.splitlines()[0], dot.out.splitlines()[-1]) == ("digraph {", "}")
    both = run(*asked, "--format", "dot", "--json")
    assert (both.code, both.out) == (2, "")
    assert "--json and --format dot cannot be combined" in both.err


def test_a_drawn_refusal_shows_the_deny_and_a_name_stays_one_line(run: Run, facts: str) -> None:
    ran = run("explain", ODD, "load_table", "table:hr.public.pay", "--root", facts)
    assert ran.code == 1
    assert "-DENY SELECT_TABLE-> table:hr.public.pay  *" in ran.out
    assert "\u2028" not in ran.out
    nobody = run("explain", "user:nobody", "load_table", STAFF, "--root", facts)
    assert (nobody.code, "└─" in nobody.out) == (1, False)
    assert "these are not all paths" not in nobody.out
    for form in ("mermaid", "dot"):
        drawn = run("explain", "user:nobody", "load_table", STAFF, "--format", form, "--root", facts)
        assert (drawn.code, drawn.out) == (1, "")
        assert drawn.err == "there is no path to draw; without --format, the answer says why not\n"
    everyone = run("explain", "user:bob", "list_catalog", facts, "--format", "dot", "--root", facts)
    assert (everyone.code, everyone.out) == (0, "")
    assert everyone.err == "there is no path to draw; without --format, the answer says why\n"


def test_which_any_lists_all_types(run: Run, facts: str) -> None:
    ran = run("which", "any", "user:bob", "SELECT_TABLE", "--root", facts)
    assert ran.out.splitlines() == ["schema:hr.public", STAFF]
    assert run("which", "any", "user:bob", "nothing_such", "--root", facts).code == 2


def test_hand_over_and_drop_say_what_they_do(run: Run, facts: str) -> None:
    dry = run("change", "hand over user:ann to user:bob", "--root", facts, "--dry-run")
    assert dry.out.splitlines()[1:] == ["  - owner user:ann of catalog:hr", "  + owner user:bob of catalog:hr"]
    drop = run("change", "drop user:ann", "--root", facts, "--dry-run")
    assert "drop user:ann: no owner is left of catalog:hr; name one with `owner SUBJECT of REF`" in drop.out
    as_json = run("change", "drop user:ann", "--root", facts, "--dry-run", "--json")
    assert as_json.json["without_owner"] == ["catalog:hr"]
    wrong = run("change", "hand over user:ann to role:analyst", "--root", facts)
    assert (wrong.code, "role:analyst cannot own anything" in wrong.err) == (2, True)
