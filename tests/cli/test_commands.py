"""The command line: exit codes, JSON shapes, one clear line for what goes wrong, and help that teaches."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from grantpath.engine.cli import ask_commands, main
from grantpath.engine.cli.browser_params import literal
from grantpath.engine.policy.schema import BUILT_IN
from grantpath.engine.tenants import registry
from grantpath.graph.store import Store

ROOT = "metalake:command-line"
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
    f"allow USE_CATALOG on {ROOT} to role:analyst",
    "allow USE_SCHEMA on catalog:hr to role:analyst",
    "allow SELECT_TABLE on schema:hr.public to role:analyst",
    "deny SELECT_TABLE on table:hr.public.pay to role:analyst",
]
COMMANDS = ["up", "down", "status", "browser", "demo", "load", "check", "explain", "who", "which", "change", "log"]
COMMANDS += ["roots", "dump", "test", "params", "mirror", "access", "ask", "diff", "verify"]
INNER_COMMANDS = [["policy", name] for name in ("list", "show", "validate", "upgrade")]
INNER_COMMANDS += [["roots", name] for name in ("list", "drop")]


@dataclass
class Ran:
    """What a command gave back."""

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
    """A root with a small company in it, made by the command line itself."""
    registry.remove(store, ROOT)
    for fact in FACTS:
        assert main.main(["change", fact, "--root", ROOT, "--policy", "gravitino", "--create"]) == 0
    yield ROOT
    registry.remove(store, ROOT)


# ---- asking ------------------------------------------------------------------------------------------------------
def test_check_says_yes_by_exit_code_and_json(run: Run, facts: str) -> None:
    ran = run("check", "user:bob", "load_table", STAFF, "--root", facts, "--json")
    assert ran.code == 0
    assert ran.json["allowed"] is True
    assert ran.json["because"][-1] == "role:analyst has ALLOW SELECT_TABLE on schema:hr.public"
    assert ran.json.keys() == {"allowed", "because", "missing", "revision"}


def test_check_says_no_by_exit_code_and_json(run: Run, facts: str) -> None:
    ran = run("check", "user:bob", "load_table", "table:hr.public.pay", "--root", facts, "--json")
    assert ran.code == 1
    assert ran.json["allowed"] is False
    assert "revoke deny SELECT_TABLE" in ran.json["missing"][0]


def test_check_for_a_person(run: Run, facts: str) -> None:
    ran = run("check", "user:bob", "load_table", STAFF, "--root", facts)
    assert ran.out.splitlines()[0] == f"allowed user:bob load_table on {STAFF}"
    assert run("check", "user:ann", "SELECT_TABLE", STAFF, "--root", facts).out.startswith("not allowed ")


def test_explain_shows_the_path(run: Run, facts: str) -> None:
    path = "user:bob -HAS_ROLE-> role:analyst -ALLOW SELECT_TABLE-> schema:hr.public <-CHILD_OF- table:hr.public.staff"
    ran = run("explain", "user:bob", "load_table", STAFF, "--root", facts, "--json")
    assert (ran.code, path in ran.json["paths"]) == (0, True)
    assert path in run("explain", "user:bob", "load_table", STAFF, "--root", facts).out
    denied = run("explain", "user:bob", "load_table", "table:hr.public.pay", "--root", facts)
    assert denied.code == 1
    assert "-DENY SELECT_TABLE-> table:hr.public.pay" in denied.out


def test_lists_are_complete_or_say_so(run: Run, facts: str) -> None:
    who = run("who", "load_table", STAFF, "--root", facts, "--json")
    assert who.json["answer"] == [ODD, "user:ann", "user:bob"]
    assert who.json["complete"] is True
    assert who.json["revision"] == len(FACTS)
    first = run("who", "load_table", STAFF, "--root", facts, "--limit", "2", "--json").json
    assert (first["answer"], first["complete"]) == ([ODD, "user:ann"], False)
    rest = run("who", "load_table", STAFF, "--root", facts, "--after", "user:ann", "--limit", "1", "--json").json
    assert (rest["answer"], rest["complete"]) == (["user:bob"], True)


def test_which_prints_one_object_a_line(run: Run, facts: str) -> None:
    ran = run("which", "table", "user:ann", "load_table", "--root", facts)
    assert ran.out.splitlines() == ["table:hr.public.pay", STAFF]
    assert ran.err == f"2 at revision {len(FACTS)}\n"


def test_a_name_does_not_steer_the_terminal(run: Run, facts: str, store: Store) -> None:
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
def test_a_name_does_not_forge_a_line(run: Run, forged: str, words: list[str]) -> None:
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
    assert (unknown.code, "tag:pii is not there" in unknown.err) == (2, True)


# ---- where options stand -----------------------------------------------------------------------------------------
def test_options_stand_before_or_behind_the_command(run: Run, facts: str, monkeypatch: pytest.MonkeyPatch) -> None:
    question = ["check", "user:bob", "load_table", STAFF]
    behind = run(*question, "--root", facts, "--json")
    assert run("--root", facts, "--json", *question).json == behind.json
    assert run("--root", "command-line", *question, "--json").json == behind.json
    monkeypatch.setenv("GRANTPATH_ROOT", facts)
    assert run(*question, "--json").json == behind.json
    assert run(*question, "--root", "metalake:none").code == 2


def test_a_root_that_is_not_there_is_not_made_by_a_question(run: Run, facts: str, store: Store) -> None:
    ran = run("check", "user:bob", "load_table", STAFF, "--root", "metalake:typing-error")
    assert ran.code == 2
    assert "metalake:typing-error does not exist" in ran.err
    assert facts in ran.err or "more (`grantpath roots`)" in ran.err
    assert registry.find(store, "metalake:typing-error") is None


def test_an_empty_option_is_not_taken_for_none(run: Run, facts: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRANTPATH_ROOT", facts)
    for option in ("--root", "--policy", "--uri"):
        ran = run("check", "user:bob", "load_table", STAFF, option, "")
        assert (ran.code, ran.err) == (2, f"error: {option} is empty; name one, or leave it away\n")


@pytest.mark.parametrize("words", [["change", "add table:a.b.c"], ["load", "nowhere"]])
def test_a_root_made_for_what_then_fails_goes_again(run: Run, store: Store, words: list[str]) -> None:
    ran = run(*words, "--root", "metalake:typing-error", "--policy", "gravitino", "--create")
    assert (ran.code, "made" in ran.err) == (2, False)
    assert registry.find(store, "metalake:typing-error") is None


def test_nobody_acts_in_a_root_that_is_not_there(run: Run, facts: str, store: Store) -> None:
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
    assert again.json == {"done": True, "id": None, "revision": len(FACTS), "hash": None}


def test_load_says_what_it_read(run: Run, store: Store, tmp_path: Path) -> None:
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
    assert run(*words).out.startswith("nothing new 2 subjects, 1 objects, ")
    (tmp_path / "objects.csv").write_text("ref\ntabel:hr\n")
    bad = run(*words)
    assert (bad.code, f"{tmp_path / 'objects.csv'}:2: " in bad.err) == (2, True)
    registry.remove(store, root)


def test_the_log_tells_when_who_and_what(run: Run, store: Store) -> None:
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
@pytest.mark.parametrize("query", [query.value for query in ask_commands.ParamsTarget])
def test_the_params_line_is_what_python_sends(run: Run, facts: str, store: Store, query: str) -> None:
    words = ["params", ODD, "load_table", STAFF, "--for", query, "--root", facts]
    line = run(*words).out
    assert line.startswith(":params {")
    assert line.count("\n") == 1
    read = store.read(f"RETURN {line.removeprefix(':params ')} AS params", {})[0]["params"]
    told = run(*words, "--json").json
    assert read == told["params"]
    assert told["queries"] == [f"{name}.cypher" for name in query.split("-and-")]


def test_literals_are_read_back_by_the_database(store: Store) -> None:
    value: dict[str, Any] = {
        "text": "'\\\n\r\t\0\x7f\u2028😀`\"",
        "list": [1, -2, True, False, None, []],
        "odd `key`": {"a": {}},
    }
    assert store.read(f"RETURN {literal(value)} AS value", {})[0]["value"] == value


def test_what_has_no_literal_is_an_error() -> None:
    with pytest.raises(TypeError, match="object has no Cypher literal"):
        literal(object())


def test_status_and_browser_say_where_the_server_is(run: Run, facts: str) -> None:
    told = run("status", "--json").json
    assert told.keys() >= {"uri", "user", "password_file", "browser", "running", "version"}
    if told["running"]:
        assert run("browser", "--json").json == {key: told[key] for key in ("browser", "uri", "user", "password_file")}
        assert told["browser"] in run("browser").out


# ---- policies and scenarios --------------------------------------------------------------------------------------
def test_policies_are_listed_and_shown(run: Run) -> None:
    names = [each["policy"] for each in run("policy", "list", "--json").json["answer"]]
    assert names == sorted(path.stem for path in BUILT_IN.glob("*.yaml"))
    for name in names:
        source = run("policy", "show", name, "--json").json
        shown = "".join(run("policy", "show", name).out.split())
        named = [*source["types"], *source["privileges"], *source["builtin"]]
        named += [names for operations in source["operations"].values() for names in operations]
        assert [word for word in named if "".join(word.split()) not in shown] == []


def test_a_bad_policy_is_named_by_file_line_and_key(run: Run, tmp_path: Path) -> None:
    good = (BUILT_IN / "gravitino.yaml").read_text()
    file = tmp_path / "mine.yaml"
    file.write_text(good)
    assert run("policy", "validate", str(file), "--json").json["valid"] is True
    file.write_text(good.replace("{in: schema, owned_by: user}", "{in: shema, owned_by: user}", 1))
    bad = run("policy", "validate", str(file))
    line = next(at for at, text in enumerate(file.read_text().splitlines(), 1) if "shema" in text)
    assert bad.code == 2
    assert f"{file}:{line}: types.table.in: " in bad.err
    assert "did you mean schema" in bad.err


SCENARIO = """scenario: a small one
policy: gravitino
root: ml
given: [add catalog:hr, owner user:ann of catalog:hr]
then:
  - user:ann can load_catalog on catalog:hr
  - user:ann cannot alter_catalog on catalog:hr
"""


def test_scenarios_pass_fail_or_cannot_be_read(run: Run, facts: str, tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(SCENARIO)
    told = run("test", str(file), "--json")
    assert told.code == 1
    assert (told.json["passed"], told.json["failed"]) == (1, 1)
    assert told.json["results"][1] == {
        "file": str(file),
        "scenario": "a small one",
        "line": 7,
        "statement": "user:ann cannot alter_catalog on catalog:hr",
        "expected": False,
        "got": True,
        "engine": "cypher",
    }
    spoken = run("test", str(file))
    assert f"{file}:7 user:ann cannot alter_catalog" in spoken.out
    assert "user:ann owns catalog:hr" in spoken.out
    assert spoken.out.splitlines()[-1] == "1 passed, 1 failed"
    file.write_text(SCENARIO.replace("cannot alter", "can alter"))
    assert run("test", str(file)).code == 0
    file.write_text(SCENARIO.replace("user:ann cannot", "user:ann may"))
    unreadable = run("test", str(file))
    assert (unreadable.code, f"{file}:7: " in unreadable.err) == (2, True)
    file.write_text(SCENARIO + "  - {check: user:ann can load_table on catalog:hr, error: false}\n")
    message = "then.2.error: it is true or not there; write true, or take the key away"
    assert run("test", str(file)).err == f"error: {file}:8: {message}\n"


# ---- what goes wrong ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["check", "user:bob", "load_tabel", STAFF], "did you mean load_table"),
        (["check", "user:bob", "load_table", "table:hr.public.staf"], f"is not there (did you mean {STAFF}?)"),
        (["check", "user:bob", "load_catalog", "catalog:h"], "is not there (did you mean catalog:hr?); add it, or"),
        (["check", "user:bob", "get_role", "role:service_admin"], "role:service_admin is not there; add it"),
        (["check", "user:bob", "load_table", "tabel:hr.public.staff"], "the type 'tabel' is unknown"),
        (["check", "user:bob", "load_table", "staff"], "is not a reference"),
        (["check", "user:bob", "load_table"], "Missing argument 'REF'"),
        (["check", "user:bob", "load_table", STAFF, "--as", "role:analyst"], "no active roles"),
        (["chekc"], "No such command 'chekc'"),
        (["policy", "show", "gravitini"], "the policy 'gravitini' is unknown"),
        (["ask", "nowhere", "who can load_table on table:a.b.c"], "nowhere is not a snapshot"),
    ],
)
def test_errors_are_one_line_on_standard_error(run: Run, facts: str, words: list[str], text: str) -> None:
    ran = run(*words, "--root", facts) if words[0] != "chekc" else run(*words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1
    assert text in ran.err
    told = run("--json", "--root", facts, *words)
    assert (told.code, told.out) == (2, "")
    assert text in json.loads(told.err)["error"]


def test_a_server_that_is_down_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEO4J_PASSWORD", "x")
    ran = run("check", "user:bob", "load_table", STAFF, "--uri", "bolt://127.0.0.1:1", "--root", ROOT)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "bolt://127.0.0.1:1 cannot be reached" in ran.err


def test_what_nobody_expected_is_one_line_with_details_in_a_file(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("by zero\nand more")

    monkeypatch.setattr("grantpath.engine.cli.server_commands.server.status", fail)
    monkeypatch.setenv("GRANTPATH_CACHE", str(tmp_path))
    ran = run("status")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "ZeroDivisionError: by zero" in ran.err
    (file,) = (tmp_path / "errors").iterdir()
    assert str(file) in ran.err
    assert "Traceback" in file.read_text()


def test_an_interrupt_is_quiet(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("grantpath.engine.cli.server_commands.server.status", interrupt)
    assert run("status") == Ran(130, "", "")


def test_an_interrupt_that_breaks_a_connection_is_quiet_too(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise BufferError("Existing exports of data: object cannot be re-sized")

    monkeypatch.setattr("grantpath.engine.cli.server_commands.server.status", interrupt)
    assert run("status") == Ran(130, "", "")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_an_output_that_is_full_is_named(home_of_tests: Path) -> None:
    with Path("/dev/full").open("w") as full:
        words = [sys.executable, "-m", "grantpath.engine.cli", "policy", "show", "gravitino"]
        ran = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    told = "error: the output cannot be written: No space left on device; make room, or write elsewhere\n"
    assert (ran.returncode, ran.stderr) == (2, told)


@pytest.mark.slow
def test_a_reader_that_leaves_early_is_no_error(home_of_tests: Path) -> None:
    shown = subprocess.Popen(
        [sys.executable, "-m", "grantpath.engine.cli", "policy", "show", "gravitino", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert shown.stdout and shown.stderr
    shown.stdout.close()
    assert shown.stderr.read() == b""
    assert shown.wait() == 141


# ---- help --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("words", [[name] for name in COMMANDS] + INNER_COMMANDS)
def test_help_teaches_by_example(run: Run, words: list[str]) -> None:
    ran = run(*words, "--help")
    assert ran.code == 0
    assert f"Example: grantpath {' '.join(words)}" in ran.out
    assert "--json" in ran.out


def test_the_bare_command_lists_the_commands(run: Run) -> None:
    ran = run()
    assert ran.code == 0
    assert [name for name in [*COMMANDS, "policy"] if f"\n  {name} " not in ran.out] == []


# ---- Spark -------------------------------------------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.spark
def test_a_snapshot_is_mirrored_asked_compared_and_verified(run: Run, facts: str, tmp_path: Path) -> None:
    monday, tuesday = str(tmp_path / "monday"), str(tmp_path / "tuesday")
    assert run("mirror", monday, "--root", facts, "--json").json["revision"] == len(FACTS)
    assert run("mirror", monday, "--root", facts).code == 2
    access = run("access", monday, "--names", "load_table,drop_table", "--json").json
    assert {"name": "load_table", "type": "table", "pairs": 4} in access["answer"]
    who = run("ask", monday, f"who can load_table on {STAFF}", "--json").json
    assert who == {"answer": [ODD, "user:ann", "user:bob"], "complete": True, "revision": len(FACTS)}
    assert run("ask", monday, f"user:bob can drop_table on {STAFF}").code == 1
    verified = run("verify", monday, "--sample", "200", "--seed", "5", "--json")
    assert (verified.code, verified.json["compared"], verified.json["different"]) == (0, 200, [])
    run("change", "revoke deny SELECT_TABLE on table:hr.public.pay from role:analyst", "--root", facts)
    later = run("verify", monday, "--sample", "200", "--seed", "5", "--json")
    assert (later.code, later.json["different"]) == (0, [])
    assert 0 < later.json["compared"] < 200, "what the change may have touched is left out"
    run("mirror", tuesday, "--root", facts)
    changed = run("diff", monday, tuesday, "--names", "load_table", "--json").json
    assert changed["facts_removed"] == ["deny SELECT_TABLE on table:hr.public.pay to role:analyst"]
    assert changed["access"][0]["by_user"] == {ODD: [1, 0], "user:bob": [1, 0]}
    run("change", FACTS[-1], "--root", facts)


@pytest.mark.slow
@pytest.mark.spark
def test_the_demo_runs_from_end_to_end(run: Run, store: Store, tmp_path: Path) -> None:
    target = tmp_path / "demo"
    shown = run("demo", "--out", str(target), "--yes")
    assert shown.code == 0
    for text in (
        "13 Staff reads the tables of both",
        "refused add catalog:hive",
        "-DENY SELECT_TABLE-> table:retail.customer.customer",
        "500 answers compared, 0 different",
        "grantpath params",
    ):
        assert text in " ".join(shown.out.split())
    assert "\\n" not in shown.out
    assert (target / "access" / "names.parquet").is_file()
    for root in ("metalake:demo", "metalake:tpc"):
        registry.remove(store, root)


def test_the_demo_leaves_a_folder_that_is_no_snapshot_alone(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    ran = run("demo", "--out", str(tmp_path), "--yes")
    assert (ran.code, "not a snapshot" in ran.err) == (2, True)
    assert (tmp_path / "mine.txt").read_text() == "mine"
