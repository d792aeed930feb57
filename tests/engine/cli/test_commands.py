"""The command line: exit codes, forms of JSON, one clear line for an error."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grantpath import cypher
from grantpath.engine.cli import main
from grantpath.engine.cli.ask.browser_params import ParamsTarget, literal
from grantpath.engine.tenants import registry
from grantpath.graph.errors import GrantpathError
from grantpath.graph.guard.store import Store

from ...support.command_line import FACTS, ODD, STAFF, Run, facts, run
from ...support.named_roots import named_root

__all__ = ["facts", "run"]


# ---- asking ------------------------------------------------------------------------------------------------------
def test_allowed_check_has_exit_code_0_and_json(run: Run, facts: str) -> None:
    ran = run("check", "user:bob", "load_table", STAFF, "--root", facts, "--json")
    assert ran.code == 0
    assert ran.json["allowed"] is True
    assert ran.json["because"][-1] == "role:analyst has ALLOW SELECT_TABLE on schema:hr.public"
    assert ran.json.keys() == {"allowed", "because", "missing", "revision", "question", "ends_due"}


def test_refused_check_has_exit_code_1_and_json(run: Run, facts: str) -> None:
    ran = run("check", "user:bob", "load_table", "table:hr.public.pay", "--root", facts, "--json")
    assert ran.code == 1
    assert ran.json["allowed"] is False
    assert "revoke deny SELECT_TABLE" in ran.json["missing"][0]


def test_check_prints_text_by_default(run: Run, facts: str) -> None:
    ran = run("check", "user:bob", "load_table", STAFF, "--root", facts)
    assert ran.out.splitlines()[0] == f"allowed user:bob load_table on {STAFF}"
    assert run("check", "user:ann", "SELECT_TABLE", STAFF, "--root", facts).out.startswith("not allowed ")


def test_explain_shows_the_path(run: Run, facts: str) -> None:
    path = "user:bob -HAS_ROLE-> role:analyst -ALLOW SELECT_TABLE-> schema:hr.public <-CHILD_OF- table:hr.public.staff"
    ran = run("explain", "user:bob", "load_table", STAFF, "--root", facts, "--json")
    assert (ran.code, path in ran.json["paths"]) == (0, True)
    drawn = run("explain", "user:bob", "load_table", STAFF, "--root", facts).out
    steps = ["user:bob", "└─ -HAS_ROLE-> role:analyst", "-ALLOW SELECT_TABLE-> schema:hr.public  *"]
    at = [drawn.index(step) for step in [*steps, "└─ <-CHILD_OF- table:hr.public.staff"]]
    assert at == sorted(at)
    denied = run("explain", "user:bob", "load_table", "table:hr.public.pay", "--root", facts)
    assert denied.code == 1
    assert "-DENY SELECT_TABLE-> table:hr.public.pay" in denied.out


def test_incomplete_list_says_so(run: Run, facts: str) -> None:
    who = run("who", "load_table", STAFF, "--root", facts, "--json")
    assert who.json["answer"] == [ODD, "user:ann", "user:bob"]
    assert who.json["complete"] is True
    assert who.json["revision"] == len(FACTS)
    first = run("who", "load_table", STAFF, "--root", facts, "--limit", "2", "--json").json
    assert (first["answer"], first["complete"]) == ([ODD, "user:ann"], False)
    rest = run("who", "load_table", STAFF, "--root", facts, "--after", "user:ann", "--limit", "1", "--json").json
    assert (rest["answer"], rest["complete"]) == (["user:bob"], True)


def test_which_prints_one_object_per_line(run: Run, facts: str) -> None:
    ran = run("which", "table", "user:ann", "load_table", "--root", facts)
    assert ran.out.splitlines() == ["table:hr.public.pay", STAFF]
    assert ran.err == f"2 at revision {len(FACTS)}\n"


def test_name_cannot_control_the_terminal(run: Run, facts: str, store: Store) -> None:
    ran = run("check", "user:\x1b[31mred", "load_table", STAFF, "--root", facts)
    assert ran.code == 1
    assert "\x1b" not in ran.out + ran.err
    assert "user:\\x1b[31mred" in ran.out


FORGED = ["user:`x\nuser:admin`", "catalog:`c\nnot allowed`", "role:`r\r\nrole:all`"]


@pytest.mark.parametrize(
    "words",
    [
        *(["who", "USE_CATALOG", FORGED[1]], ["which", "catalog", FORGED[0], "USE_CATALOG"]),
        *(["check", FORGED[0], "USE_CATALOG", FORGED[1]], ["explain", FORGED[0], "USE_CATALOG", FORGED[1]]),
        *(
            ["log"],
            ["log", "--refused"],
            ["change", f"add {FORGED[1]}"],
            ["change", f"member {FORGED[0]} of {FORGED[1]}"],
        ),
        *(["change", f"drop {FORGED[1]}", "--by", FORGED[0]], ["check", "user:bob", "get_role", f"{FORGED[2][:-1]}s`"]),
    ],
)
def test_name_cannot_forge_a_line(run: Run, forged: str, words: list[str]) -> None:
    ran = run(*words, "--root", forged)
    shown = (ran.out + ran.err).splitlines()
    assert "\\n" in ran.out + ran.err or "\\r" in ran.out + ran.err
    for line in shown:
        assert not line.strip().startswith(("user:admin", "not allowed`", "role:all"))


@pytest.fixture(scope="module")
def forged(store: Store) -> Iterator[str]:
    """A root whose names look like lines of output."""
    root = "metalake:forged"
    facts = [*(f"add {name}" for name in FORGED), f"member {FORGED[0]} of {FORGED[2]}"]
    for fact in (*facts, f"allow USE_CATALOG on {FORGED[1]} to {FORGED[2]}"):
        assert main.main(["change", fact, "--root", root, "--policy", "gravitino", "--create"]) == 0
    assert main.main(["change", f"drop {FORGED[1]}", "--by", FORGED[0], "--root", root]) == 1
    yield root
    registry.remove(store, root)


def test_second_objects_are_named_with(run: Run, facts: str) -> None:
    missing = run("check", "user:ann", "associate_tag", STAFF, "--root", facts)
    assert (missing.code, "with tag=tag:NAME" in missing.err) == (2, True)
    unknown = run("check", "user:ann", "associate_tag", STAFF, "--with", "tag=tag:pii", "--root", facts)
    assert (unknown.code, "tag:pii does not exist" in unknown.err) == (2, True)


# ---- positions of options ----------------------------------------------------------------------------------------
def test_options_can_precede_or_follow_the_command(run: Run, facts: str, monkeypatch: pytest.MonkeyPatch) -> None:
    question = ["check", "user:bob", "load_table", STAFF]
    behind = run(*question, "--root", facts, "--json")
    assert run("--root", facts, "--json", *question).json == behind.json
    assert run("--root", facts.partition(":")[2], *question, "--json").json == behind.json
    monkeypatch.setenv("GRANTPATH_ROOT", facts)
    assert run(*question, "--json").json == behind.json
    assert run(*question, "--root", "metalake:none").code == 2


def test_question_does_not_create_a_missing_root(run: Run, facts: str, store: Store) -> None:
    ran = run("check", "user:bob", "load_table", STAFF, "--root", "metalake:typing-error")
    assert ran.code == 2
    assert "metalake:typing-error does not exist" in ran.err
    assert facts in ran.err or "more (`grantpath roots`)" in ran.err
    assert registry.find(store, "metalake:typing-error") is None


def test_empty_option_is_an_error(run: Run, facts: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRANTPATH_ROOT", facts)
    for option in ("--root", "--policy", "--uri"):
        ran = run("check", "user:bob", "load_table", STAFF, option, "")
        assert (ran.code, ran.err) == (2, f"error: {option} is empty; name one, or omit the option\n")


@pytest.mark.parametrize("words", [["change", "add table:a.b.c"], ["load", "nowhere"]])
def test_root_created_for_a_failed_command_is_removed(run: Run, store: Store, words: list[str]) -> None:
    ran = run(*words, "--root", "metalake:typing-error", "--policy", "gravitino", "--create")
    assert (ran.code, "made" in ran.err) == (2, False)
    assert registry.find(store, "metalake:typing-error") is None


def test_change_with_actor_does_not_create_a_missing_root(run: Run, facts: str, store: Store) -> None:
    ran = run("change", "add user:cas", "--by", "user:ann", "--root", "metalake:typing-error")
    assert ran.code == 2
    assert registry.find(store, "metalake:typing-error") is None


# ---- changes and their log ---------------------------------------------------------------------------------------
def test_change_is_done_refused_or_invalid(run: Run, facts: str) -> None:
    refused = run("change", "add catalog:mine", "--by", "user:bob", "--root", facts)
    assert refused.code == 1
    assert "allow CREATE_CATALOG" in refused.err
    invalid = run("change", "allow SELECT_TABLE on user:bob to role:analyst", "--root", facts)
    assert invalid.code == 2
    assert run("change", "give user:bob everything", "--root", facts).code == 2
    again = run("change", FACTS[-1], "--root", facts, "--json")
    assert again.code == 0
    assert again.json == {"done": True, "id": None, "changed": False, "revision": len(FACTS), "hash": None}


def test_load_reports_what_it_read(run: Run, store: Store, tmp_path: Path) -> None:
    root = "metalake:command-line-load"
    registry.remove(store, root)
    (tmp_path / "subjects.csv").write_text("ref\nuser:ann\nuser:bob\n")
    (tmp_path / "objects.csv").write_text("ref\ncatalog:hr\n")
    words = ["load", str(tmp_path), "--root", root, "--policy", "gravitino", "--create"]
    first = run(*words, "--json")
    assert (first.code, first.json["changed"]) == (0, True)
    assert first.json["rows"].items() >= {"subjects": 2, "objects": 1}.items()
    again = run(*words, "--json").json
    assert again == {**first.json, "changed": False, "added": 0, "hash": None}
    assert (first.json["added"], first.json["removed"]) == (3, 0)
    assert run(*words).out.startswith("nothing new 2 subjects, 1 object, ")
    (tmp_path / "objects.csv").write_text("ref\ntabel:hr\n")
    bad = run(*words)
    assert (bad.code, f"{tmp_path / 'objects.csv'}:2: " in bad.err) == (2, True)
    registry.remove(store, root)


def test_log_shows_time_actor_and_statement(run: Run, store: Store) -> None:
    root = "metalake:command-line-log"
    registry.remove(store, root)
    run("change", "add user:ann", "--root", root, "--policy", "gravitino", "--create")
    run("change", f"owner user:ann of {root}", "--root", root)
    done = run("change", "add user:bob", "--by", "user:ann", "--root", root, "--json").json
    log = run("log", "--root", root, "--limit", "2", "--json").json
    assert log["complete"] is False
    assert [each["statement"] for each in log["answer"]] == [f"owner user:ann of {root}", "add user:bob"]
    assert [each["actor"] for each in log["answer"]] == [None, "user:ann"]
    assert log["answer"][-1]["id"] == done["id"]
    assert log["revision"] == done["revision"] == log["answer"][-1]["revision"]
    table = run("log", "--root", root).out.splitlines()
    assert table[0].split() == ["revision", "at", "(UTC)", "by", "statement"]
    assert table[-1].rstrip().endswith("user:ann  add user:bob")
    registry.remove(store, root)


# ---- Browser -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("query", [query.value for query in ParamsTarget])
def test_params_line_has_the_parameters_that_python_sends(run: Run, facts: str, store: Store, query: str) -> None:
    words = ["params", ODD, "load_table", STAFF, "--for", query, "--root", facts]
    line = run(*words).out
    assert line.startswith(":params {")
    assert line.count("\n") == 1
    read = store.read(f"RETURN {line.removeprefix(':params ')} AS params", {})[0]["params"]
    told = run(*words, "--json").json
    assert read == told["params"]
    assert told["queries"] == [f"{name}.cypher" for name in query.split("-and-")]


def test_params_of_a_list_that_depends_on_grants_below_name_the_query(run: Run, store: Store) -> None:
    facts = ["add namespace:n", "add dataset:n.d", "add namespace:bare", "allow READ on dataset:n.d to user:u"]
    with named_root(store, "cdap", "grants-below", facts) as made:
        words = ["params", "user:u", "get_namespace", "namespace:n", "--for", "which", "--root", made.tenant]
        ran = run(*words)
        assert "for which_below.cypher" in ran.err
        assert run(*words, "--json").json["queries"] == ["which_below.cypher"]
        given = store.read(f"RETURN {ran.out.removeprefix(':params ')} AS params", {})[0]["params"]
        assert store.read(cypher.load("which_below").text, given)[0]["answer"] == ["namespace:n"]
        # the query that would not find the grant refuses these parameters
        with pytest.raises(GrantpathError, match="Expected parameter"):
            store.read(cypher.load("which").text, given)


def test_literals_are_read_back_by_the_database(store: Store) -> None:
    value: dict[str, Any] = {
        "text": "'\\\n\r\t\0\x7f\u2028😀`\"",
        "list": [1, -2, True, False, None, []],
        "odd `key`": {"a": {}},
    }
    assert store.read(f"RETURN {literal(value)} AS value", {})[0]["value"] == value


def test_value_without_cypher_literal_is_an_error() -> None:
    with pytest.raises(TypeError, match="object has no Cypher literal"):
        literal(object())


def test_status_and_browser_print_the_address(run: Run, facts: str) -> None:
    told = run("status", "--json").json
    assert told.keys() >= {"uri", "user", "password_file", "browser", "running", "version"}
    if told["running"]:
        assert run("browser", "--json").json.items() >= {(key, told[key]) for key in ("browser", "uri", "user")}
        assert told["browser"] in run("browser").out
