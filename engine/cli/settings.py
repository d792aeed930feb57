"""The settings of a command, and where each comes from: an option, a variable, a profile or the default."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from grantpath.graph.errors import InvalidInput
from grantpath.graph.language.inputs import require_seconds
from grantpath.graph.messages import short

if TYPE_CHECKING:
    from grantpath.engine.cli.context import CommandContext

CONFIG, PROFILE = "GRANTPATH_CONFIG", "GRANTPATH_PROFILE"
# Each key of the configuration file, with the variable that overrides it.
VARIABLES = {
    "uri": "NEO4J_URI",
    "user": "NEO4J_USER",
    "password_file": "NEO4J_PASSWORD_FILE",
    "database": "NEO4J_DATABASE",
    "ca": "NEO4J_CA",
    "root": "GRANTPATH_ROOT",
    "policy": "GRANTPATH_POLICY",
    "timeout": "GRANTPATH_TIMEOUT",
    "embedded": "GRANTPATH_EMBEDDED",
    "neo4j": "GRANTPATH_NEO4J",
    "home": "GRANTPATH_HOME",
    "heap": "GRANTPATH_HEAP",
    "pagecache": "GRANTPATH_PAGECACHE",
    "cache": "GRANTPATH_CACHE",
    "maven": "GRANTPATH_MAVEN",
    "spark_memory": "GRANTPATH_SPARK_MEMORY",
}
OTHER_VARIABLES = {"user": "NEO4J_USERNAME", "password_file": "NEO4J_PASSWORD"}  # they override these keys, too
OPTIONS = ("uri", "root", "policy", "timeout")
DEFAULTS = {"user": "neo4j", "database": "neo4j", "timeout": "10", "neo4j": "5.26"}
LOGIN = ("user", "password_file", "database", "ca")  # they belong to the `uri` of the same table


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
    supplied = {VARIABLES[each.key]: each.value for each in settings if each.table and each.value}
    before = {name: os.environ.get(name) for name in supplied}
    values = {each.key: each.value for each in settings}
    os.environ.update(supplied)
    try:
        yield replace(
            options,
            root=values["root"],
            policy=values["policy"],
            timeout=_seconds(values["timeout"]),
            settings=tuple(settings),
        )
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def effective(options: "CommandContext") -> list[Setting]:
    """Every setting of a command with these options. Raises InvalidInput as `applied`."""
    supplied = _of_profile(options)
    return [_setting(key, options, supplied) for key in VARIABLES]


def _setting(key: str, options: "CommandContext", supplied: dict[str, tuple[str, str]]) -> Setting:
    given = getattr(options, key) if key in OPTIONS else None
    if given is not None:
        return Setting(key, str(given), f"--{key}")
    if named := _variable(key):
        value = "(a password)" if named == "NEO4J_PASSWORD" else os.environ[named]
        return Setting(key, value, named)
    if key in supplied:
        value, table = supplied[key]
        return Setting(key, value, f"[{table}] in {config_path()}", table)
    return Setting(key, DEFAULTS.get(key), "default")


def _variable(key: str) -> str | None:
    """The variable that is set for a key. An empty variable counts as not set, except NEO4J_PASSWORD."""
    if os.environ.get("NEO4J_PASSWORD") is not None and key == "password_file":
        return "NEO4J_PASSWORD"
    return next((name for name in (VARIABLES[key], OTHER_VARIABLES.get(key, "")) if os.environ.get(name)), None)


def _of_profile(options: "CommandContext") -> dict[str, tuple[str, str]]:
    """The values of the profile, which options and variables override: key -> (value, table)."""
    name, file = options.profile or os.environ.get(PROFILE) or None, config_path()
    if name is None and not os.environ.get(CONFIG) and not file.exists():
        return {}  # most commands: pydantic and tomllib need not be imported
    from grantpath.engine.cli.config_file import read_config, table
    from grantpath.graph.files.private_files import require_private

    found = table(read_config(file), file, name, options.uri or os.environ.get(VARIABLES["uri"]))
    if "password_file" in found and not _variable("password_file"):
        password_file, where = found["password_file"]
        require_private(f"{file}: [{where}] password_file", Path(password_file))
    return found


def _seconds(text: str | None) -> float:
    try:
        seconds = float(text or 0)
    except ValueError:
        given = short(repr(text))
        raise InvalidInput(f"{VARIABLES['timeout']}={given} is not a number of seconds; write e.g. 10") from None
    require_seconds(VARIABLES["timeout"], seconds)
    return seconds
