"""Settings: options override variables, which override the profile; a wrong configuration file is an error."""

import os
from pathlib import Path

import pytest

from grantpath.engine.cli.settings import KEYS
from grantpath.graph.client.connection import Connection
from grantpath.graph.embedded.connect import connection

from ...support.command_line import FACTS, Run, facts, run

__all__ = ["facts", "run"]
VARIABLES = {key: each.variable for key, each in KEYS.items()}
ALL = {**VARIABLES, "config": "GRANTPATH_CONFIG", "profile": "GRANTPATH_PROFILE"}


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of the settings is set."""
    for name in (*ALL.values(), "NEO4J_USERNAME", "NEO4J_PASSWORD"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of the configuration file, in the default folder."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "grantpath").mkdir()
    return tmp_path / "grantpath" / "config.toml"


@pytest.mark.parametrize(("number", "text"), [("5", "5"), ("5.0", "5"), ("12345.678", "12345.678"), ("0.1", "0.1")])
@pytest.mark.usefixtures("bare")
def test_number_of_the_file_keeps_its_digits(run: Run, config: Path, number: str, text: str) -> None:
    config.write_text(f"[default]\ntimeout = {number}\nuser = 'v1.0'\n")
    assert (shown(run)["timeout"][0], shown(run)["user"][0]) == (text, "v1.0")


def secret(folder: Path, text: str = "s3cret", mode: int = 0o600) -> Path:
    file = folder / "password"
    file.write_text(f"{text}\n")
    file.chmod(mode)
    return file


def shown(run: Run, *words: str) -> dict[str, tuple[str | None, str]]:
    """The effective settings: key -> (value, source)."""
    return {each["key"]: (each["value"], each["source"]) for each in run("config", "--json", *words).json["settings"]}


EVERY_KEY = {
    "uri": "bolt://a.example:7687",
    "user": "ann",
    "database": "graph",
    "root": "metalake:ml",
    "policy": "gravitino",
    "timeout": 5,
    "embedded": "never",
    "neo4j": "2026",
    "heap": "2g",
    "pagecache": "1g",
    "maven": "https://maven.example",
    "spark_memory": "8g",
    "ca": "ca.pem",
    "home": "~/data",
    "cache": "/var/cache/gp",
}


@pytest.mark.usefixtures("bare")
def test_every_setting_can_be_in_a_profile(run: Run, config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    lines = [f"{key} = {value}" if key == "timeout" else f'{key} = "{value}"' for key, value in EVERY_KEY.items()]
    lines += [f'password_file = "{secret(config.parent)}"']
    config.write_text("\n".join(["[profile.all]", *lines]))
    found = shown(run, "--profile", "all")
    assert found.keys() == VARIABLES.keys() == {*EVERY_KEY, "password_file"}
    paths = {"ca": f"{config.parent}/ca.pem", "home": "/home/ann/data", "timeout": "5"}
    source = f"[profile.all] in {config}"
    assert {key: found[key] for key in EVERY_KEY} == {
        key: (paths.get(key, value), source) for key, value in EVERY_KEY.items()
    }


@pytest.mark.usefixtures("bare")
def test_option_overrides_variable_overrides_profile_overrides_default(
    run: Run, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = {"uri": "bolt://{}:1", "root": "metalake:{}", "policy": "{}", "timeout": "{}"}
    words = {"default": ["a", "b", "c", "d"], "profile": "efgh", "variable": "ijkl", "option": "mnop"}
    number = {"d": "1", "h": "2", "l": "3", "p": "4"}

    def value(level: str, key: str) -> str:
        letter = words[level][[*values].index(key)]
        return values[key].format(number.get(letter, letter))

    def lines(level: str) -> str:
        found = {key: value(level, key) for key in values}
        return "\n".join(f"{key} = {each if key == 'timeout' else repr(each)}" for key, each in found.items())

    assert set(values) == {key for key, each in KEYS.items() if each.is_option}
    before = shown(run)
    assert {source for _, source in before.values()} == {"default"}
    config.write_text(f"[default]\n{lines('default')}\n[profile.p]\n{lines('profile')}\n")
    assert {shown(run)[key] for key in values if key != "timeout"} == {
        (value("default", key), f"[default] in {config}") for key in values if key != "timeout"
    }
    for words_of_profile in (["--profile", "p"], []):
        if not words_of_profile:
            monkeypatch.setenv("GRANTPATH_PROFILE", "p")
        found = shown(run, *words_of_profile)
        assert {found[key][1] for key in values} == {f"[profile.p] in {config}"}
    assert found["root"][0] == "metalake:f"
    for key in values:
        monkeypatch.setenv(VARIABLES[key], value("variable", key))
        assert shown(run)[key] == (value("variable", key), VARIABLES[key])
    found = shown(run, *(f"--{key}={value('option', key)}" for key in values))
    assert {found[key][1] for key in values} == {f"--{key}" for key in values}
    assert found["root"][0] == "metalake:n"
    assert shown(run, "--profile", "default")["heap"] == (None, "default")


def test_profile_selects_the_root_of_a_check(
    run: Run, facts: str, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config.write_text(f"[default]\nroot = 'metalake:no-such'\n[profile.work]\nroot = '{facts}'\n")
    question = ["check", "user:bob", "load_table", "table:hr.public.staff"]
    assert run(*question, "--profile", "work").code == 0
    assert run("--profile", "work", *question).code == 0
    assert "metalake:no-such does not exist" in run(*question).err
    monkeypatch.setenv("GRANTPATH_PROFILE", "work")
    assert run("log", "--json").json["revision"] == len(FACTS)
    assert "GRANTPATH_ROOT" not in os.environ, "the variables are as before"


def test_password_of_a_profile_is_used_and_never_shown(run: Run, server: Connection, config: Path, bare: None) -> None:
    file = secret(config.parent, str(server.password))
    config.write_text(f"[profile.work]\nuri = '{server.uri}'\nuser = '{server.user}'\npassword_file = 'password'\n")
    assert run("roots", "--profile", "work", "--json").code == 0
    for words in (["config", "--profile", "work"], ["config", "--profile", "work", "--json"]):
        ran = run(*words)
        assert str(file) in ran.out
        assert str(server.password) not in ran.out + ran.err


def test_password_of_a_variable_is_not_shown(run: Run, bare: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEO4J_PASSWORD", "s3cret")
    assert shown(run)["password_file"] == ("(a password)", "NEO4J_PASSWORD")
    assert "s3cret" not in run("config").out


@pytest.mark.usefixtures("bare")
def test_login_of_a_profile_is_sent_only_to_its_own_address(
    run: Run, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret(config.parent)
    login = "user = 'ann'\npassword_file = 'password'\ndatabase = 'd'\nca = 'ca.pem'\n"
    config.write_text(f"[default]\nuri = 'bolt://a:1'\n{login}[profile.b]\nuri = 'bolt://b:1'\n")
    keys = ("user", "password_file", "database", "ca")
    assert all("[default]" in shown(run)[key][1] for key in keys)
    other = [shown(run, "--profile", "b"), shown(run, "--uri", "bolt://c:1")]
    monkeypatch.setenv("NEO4J_URI", "bolt://c:1")
    for found in [*other, shown(run)]:
        assert {found[key][1] for key in keys} == {"default"}
    assert all("[default]" in shown(run, "--uri", "bolt://a:1")[key][1] for key in keys)


@pytest.mark.usefixtures("bare")
def test_login_without_an_address_is_of_the_address_that_is_used(run: Run, config: Path) -> None:
    secret(config.parent)
    login, keys = "user = 'ann'\npassword_file = 'password'\n", ("user", "password_file")
    config.write_text(f"[default]\ndatabase = 'd'\n{login}[profile.b]\nuri = 'bolt://b:1'\n")
    found = shown(run, "--profile", "b")
    assert {found[key][1] for key in (*keys, "database")} == {f"[default] in {config}"}
    config.write_text(f"[default]\nuri = 'bolt://b:1'\n{login}[profile.b]\nuri = 'bolt://b:1'\ndatabase = 'd'\n")
    found = shown(run, "--profile", "b")
    assert [found[key][1].split()[0] for key in (*keys, "database")] == ["[default]", "[default]", "[profile.b]"]
    config.write_text(f"[default]\nuri = 'bolt://a:1'\n[profile.b]\n{login}")
    assert all("[profile.b]" in shown(run, "--profile", "b")[key][1] for key in keys)
    found = shown(run, "--profile", "b", "--uri", "bolt://c:1")
    assert {found[key][1] for key in keys} == {"default"}, "it is the login for bolt://a:1"


@pytest.mark.parametrize(
    ("text", "words", "parts"),
    [
        (
            "[default]\nroots = 'x'\n",
            [],
            ["[default] roots", "does not exist (did you mean root?)", "the keys are"],
        ),
        ("[profile.a]\nuri = 5\n", [], ["[profile.a] uri", "it must be a string"]),
        ("[profile.a]\nroot = ''\n", [], ["[profile.a] root", "it is empty"]),
        ("[profile.a]\nuri = 'http://x'\n", [], ["[profile.a] uri", "not an address of a Neo4j server"]),
        ("[default]\ntimeout = 0\n", [], ["[default] timeout", "above 0"]),
        ("[default]\ntimeout = '5'\n", [], ["[default] timeout", "without quotes"]),
        ("[default]\npassword = 'x'\n", [], ["[default] password", "another file", "password_file"]),
        ("[default]\nembedded = 'Never'\n", [], ["[default] embedded", "it must be 'never'"]),
        ("[default]\nneo4j = '6'\n", [], ["[default] neo4j", "choose one of 5.26, 2026"]),
        ("[default]\nheap = '1 GB'\n", [], ["[default] heap", "1 GB is not a memory size", "e.g. 512m"]),
        ("[profile.default]\nroot = 'metalake:ml'\n", [], ["[profile.default] is never used", "write [default]"]),
        ("root = 'metalake:ml'\n", [], ["root", "below [default] or [profile.NAME]"]),
        ("profile = 'a'\n", [], ["profile"]),
        ("[default\n", [], ["not valid TOML", "line 1"]),
        ("[profile.work]\n", ["--profile", "wrok"], ["[profile.wrok]", "did you mean work?", "the profiles are work"]),
        ("", ["--profile", "x"], ["[profile.x] does not exist", "the file has no profile"]),
        (None, ["--profile", "x"], ["[profile.x] does not exist"]),
    ],
)
def test_error_in_the_file_names_file_key_rule_and_remedy(
    run: Run, config: Path, text: str | None, words: list[str], parts: list[str]
) -> None:
    if text is not None:
        config.write_text(text)
    ran = run("config", *words)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    for part in (str(config), *parts):
        assert part in ran.err


def test_every_key_with_a_problem_has_its_line(run: Run, config: Path) -> None:
    config.write_text("[default]\na = 1\n[profile.x]\nb = 2\n")
    assert run("config").err.count("this key does not exist") == 2


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o602])
def test_password_file_that_others_may_read_is_an_error(run: Run, config: Path, bare: None, mode: int) -> None:
    file = secret(config.parent, mode=mode)
    config.write_text("[profile.a]\nuri = 'bolt://127.0.0.1:9'\npassword_file = 'password'\n")
    ran = run("roots", "--profile", "a")
    assert (ran.code, ran.out) == (2, "")
    for part in (f"{config}: [profile.a] password_file: {file} is open to other users", f"chmod 600 {file}"):
        assert part in ran.err
    assert run("config").code == 0, "the profile is not selected"


def test_missing_password_file_is_an_error(run: Run, config: Path, bare: None) -> None:
    config.write_text("[default]\npassword_file = 'nowhere'\n")
    assert "password_file" in (ran := run("config")).err and "No such file" in ran.err and ran.code == 2


@pytest.mark.usefixtures("bare")
def test_variable_names_the_password_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEO4J_PASSWORD_FILE", str(secret(tmp_path, " with blanks ")))
    assert connection("bolt://127.0.0.1:9").password == " with blanks "
    monkeypatch.setenv("NEO4J_PASSWORD", "first")
    assert connection("bolt://127.0.0.1:9").password == "first"


def test_named_file_must_exist(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRANTPATH_CONFIG", str(tmp_path / "nowhere.toml"))
    ran = run("config")
    assert ran.code == 2
    assert "nowhere.toml: this file does not exist; correct or unset the variable GRANTPATH_CONFIG" in ran.err


def test_help_does_not_read_the_file(run: Run, config: Path) -> None:
    config.write_text("[")
    assert run("--help").code == run("check", "--help").code == run("--version").code == 0


@pytest.mark.parametrize("text", ["x", "x" * 5_000, "0", "nan"])
def test_wrong_timeout_of_the_variable_is_an_error(run: Run, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("GRANTPATH_TIMEOUT", text)
    ran = run("config")
    assert ran.code == 2 and "GRANTPATH_TIMEOUT=" in ran.err and len(ran.err) < 200
