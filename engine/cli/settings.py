"""The settings of a command, and where each comes from: an option, a variable, a profile or the default."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grantpath.graph.errors import InvalidInput
from grantpath.graph.language.inputs import require_seconds
from grantpath.graph.messages import short

if TYPE_CHECKING:
    from grantpath.engine.cli.context import CommandContext

CONFIG, PROFILE = "GRANTPATH_CONFIG", "GRANTPATH_PROFILE"


@dataclass(frozen=True)
class Key:
    """A key of the configuration file: the variable that overrides it (and another one that does, too), and its
    default. `is_option`: an option of all commands overrides both. `is_path`: a path in the file is relative to the
    folder of the file. `is_login`: it belongs to the `uri` of the same table."""

    variable: str
    default: str | None = None
    other_variable: str | None = None
    is_option: bool = False
    is_path: bool = False
    is_login: bool = False


KEYS = {
    "uri": Key("NEO4J_URI", is_option=True),
    "user": Key("NEO4J_USER", "neo4j", "NEO4J_USERNAME", is_login=True),
    "password_file": Key("NEO4J_PASSWORD_FILE", None, "NEO4J_PASSWORD", is_path=True, is_login=True),
    "database": Key("NEO4J_DATABASE", "neo4j", is_login=True),
    "ca": Key("NEO4J_CA", is_path=True, is_login=True),
    "root": Key("GRANTPATH_ROOT", is_option=True),
    "policy": Key("GRANTPATH_POLICY", is_option=True),
    "timeout": Key("GRANTPATH_TIMEOUT", "10", is_option=True),
    "embedded": Key("GRANTPATH_EMBEDDED"),
    "neo4j": Key("GRANTPATH_NEO4J", "5.26"),
    "home": Key("GRANTPATH_HOME", is_path=True),
    "heap": Key("GRANTPATH_HEAP"),
    "pagecache": Key("GRANTPATH_PAGECACHE"),
    "cache": Key("GRANTPATH_CACHE", is_path=True),
    "maven": Key("GRANTPATH_MAVEN"),
    "spark_memory": Key("GRANTPATH_SPARK_MEMORY"),
}


@dataclass(frozen=True)
class Setting:
    """A setting: its key, its value (None: not set), and where it comes from. `table` is the table of the configuration
    file that contains it; None if it does not come from there."""

    key: str
    value: str | None
    source: str
    table: str | None = None


def config_path() -> Path:
    """The file that GRANTPATH_CONFIG names, else `grantpath/config.toml` in XDG_CONFIG_HOME (else ~/.config)."""
    if named := os.environ.get(CONFIG):
        return Path(named)
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "grantpath" / "config.toml"


@contextmanager
def applied(options: "CommandContext") -> Iterator["CommandContext"]:
    """The options with the values of the variables and of the profile.

    In the block, each variable that is not set has the value of the profile: the rest of the program reads the
    variables. Raises InvalidInput for a configuration file, a profile or a variable that cannot be used.
    """
    settings = effective(options)
    supplied = {KEYS[each.key].variable: each.value for each in settings if each.table and each.value}
    before = {name: os.environ.get(name) for name in supplied}
    values: dict[str, Any] = {each.key: each.value for each in settings if KEYS[each.key].is_option}
    values["timeout"] = _seconds(values["timeout"])
    del values["uri"]  # the connection reads the variable, and needs to know whether the option was given
    os.environ.update(supplied)
    try:
        yield replace(options, settings=tuple(settings), **values)
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def effective(options: "CommandContext") -> list[Setting]:
    """Every setting of a command with these options. Raises InvalidInput as `applied`."""
    supplied = _of_profile(options)
    return [_setting(key, options, supplied) for key in KEYS]


def _setting(key: str, options: "CommandContext", supplied: dict[str, tuple[str, str]]) -> Setting:
    given = getattr(options, key) if KEYS[key].is_option else None
    if given is not None:
        return Setting(key, str(given), f"--{key}")
    if named := _variable(key):
        value = "(a password)" if named == "NEO4J_PASSWORD" else os.environ[named]
        return Setting(key, value, named)
    if key in supplied:
        value, table = supplied[key]
        return Setting(key, value, f"[{table}] in {config_path()}", table)
    return Setting(key, KEYS[key].default, "default")


def _variable(key: str) -> str | None:
    """The variable that is set for a key. An empty variable counts as not set, except NEO4J_PASSWORD."""
    if os.environ.get("NEO4J_PASSWORD") is not None and key == "password_file":
        return "NEO4J_PASSWORD"
    return next(
        (name for name in (KEYS[key].variable, KEYS[key].other_variable) if name and os.environ.get(name)), None
    )


def _of_profile(options: "CommandContext") -> dict[str, tuple[str, str]]:
    """The values of the profile, which options and variables override: key -> (value, table)."""
    name, file = options.profile or os.environ.get(PROFILE) or None, config_path()
    if name is None and not os.environ.get(CONFIG) and not file.exists():
        return {}  # most commands: pydantic and tomllib need not be imported
    from grantpath.engine.cli.config_file import read_config, table
    from grantpath.graph.files.private_files import require_private

    found = table(read_config(file), file, name, options.uri or os.environ.get(KEYS["uri"].variable))
    if "password_file" in found and not _variable("password_file"):
        password_file, where = found["password_file"]
        require_private(f"{file}: [{where}] password_file", Path(password_file))
    return found


def _seconds(text: str | None) -> float:
    try:
        seconds = float(text or 0)
    except ValueError:
        given = short(repr(text))
        raise InvalidInput(f"{KEYS['timeout'].variable}={given} is not a number of seconds; write e.g. 10") from None
    require_seconds(KEYS["timeout"].variable, seconds)
    return seconds
