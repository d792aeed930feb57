"""The configuration file: `[default]` and `[profile.NAME]` tables of settings. It is checked as a whole."""

import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, create_model, field_validator

from grantpath.engine.cli.settings import CONFIG, KEYS, PROFILE
from grantpath.graph.client.address import require_address
from grantpath.graph.embedded.home import require_release, require_size
from grantpath.graph.errors import GrantpathError, InvalidInput
from grantpath.graph.language.inputs import require_not_named_pipe, require_seconds
from grantpath.graph.language.near_names import nearest
from grantpath.graph.messages import short

DEFAULT = "default"
MESSAGES = {
    "string_type": "it must be a string; write it in quotes",
    "string_too_short": "it is empty; give it a value, or remove it",
    "float_type": "it must be a number; write it without quotes",
    "literal_error": "it must be 'never', or be removed",
    "model_type": "it must be a table; write [default] or [profile.NAME] before the keys",
}


def _checked(check: Callable[[Any], None]) -> AfterValidator:
    """A validator with the message of `check`."""

    def work(value: Any) -> Any:
        try:
            check(value)
        except GrantpathError as error:
            raise ValueError(str(error)) from None
        return value

    return AfterValidator(work)


Text = Annotated[str, Field(min_length=1)]
Address = Annotated[Text, _checked(require_address)]
Seconds = Annotated[float, _checked(lambda value: require_seconds("timeout", value))]


Size = Annotated[Text, _checked(lambda value: require_size(short(value), value))]
TYPES: dict[str, Any] = {  # of the values of keys that are not any text
    "uri": Address,
    "timeout": Seconds,
    "embedded": Literal["never"],
    "neo4j": Annotated[Text, _checked(require_release)],
    "heap": Size,
    "pagecache": Size,
}
FIELDS: dict[str, Any] = {key: (TYPES.get(key, Text) | None, None) for key in KEYS}
STRICT = ConfigDict(extra="forbid", strict=True)
Profile = create_model("Profile", __config__=STRICT, __doc__="The settings of one table.", **FIELDS)


class ConfigFile(BaseModel):
    """The tables of a file."""

    model_config = STRICT

    default: Profile = Profile()  # type: ignore[valid-type]
    profile: dict[str, Profile] = {}  # type: ignore[valid-type]

    @field_validator("profile")
    @classmethod
    def _has_no_default(cls, profiles: dict[str, BaseModel]) -> dict[str, BaseModel]:
        if DEFAULT in profiles:
            raise ValueError(f"[profile.{DEFAULT}] is never used; write [{DEFAULT}], or give the profile another name")
        return profiles


def read_config(file: Path) -> ConfigFile:
    """The tables of `file`. A missing file has none, unless GRANTPATH_CONFIG names it.

    Raises InvalidInput with file, key, rule and remedy.
    """
    try:
        require_not_named_pipe("the configuration file", file)
        return ConfigFile.model_validate(tomllib.loads(file.read_text(encoding="utf-8-sig")))
    except FileNotFoundError:
        if not os.environ.get(CONFIG):
            return ConfigFile()
        raise InvalidInput(f"{file}: this file does not exist; correct or unset the variable {CONFIG}") from None
    except OSError as error:
        raise InvalidInput(f"{file}: it cannot be read ({error.strerror}); make it a readable file") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"{file}: it is not UTF-8; save it as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{file}: it is not valid TOML: {error}; correct it") from None
    except ValidationError as error:
        raise InvalidInput(*(f"{file}: {_problem(each)}" for each in error.errors())) from None


def table(config: ConfigFile, file: Path, name: str | None, address: str | None) -> dict[str, tuple[str, str]]:
    """The settings of a profile, with those of [default] that it does not have: key -> (value, name of the table).

    `address` is the one that an option or a variable names. A table's login is left out if the table has a `uri`, or a
    profile has that of [default], and another address is used: no other server must receive the password. Raises
    InvalidInput for an unknown profile.
    """
    found = _values(config.default, file, DEFAULT)
    general = found["uri"][0] if "uri" in found else None
    if name is None or name == DEFAULT:
        return _of_address(found, general, address)
    if name not in config.profile:
        known = f"the profiles are {', '.join(sorted(config.profile))}" if config.profile else "the file has no profile"
        raise InvalidInput(
            f"{file}: [profile.{name}] does not exist{nearest(name, config.profile)}: {known}; correct --profile or "
            f"{PROFILE}, or add this table"
        )
    own = _values(config.profile[name], file, f"profile.{name}")
    special = own["uri"][0] if "uri" in own else general
    used = address or special
    return _of_address(found, general, used) | _of_address(own, special, used)


def _of_address(values: dict[str, tuple[str, str]], of: str | None, used: str | None) -> dict[str, tuple[str, str]]:
    """The settings of a table, without its login if that belongs to another address than the one that is used."""
    if of is None or used in (None, of):
        return values
    return {key: value for key, value in values.items() if not KEYS[key].is_login}


def _values(profile: BaseModel, file: Path, name: str) -> dict[str, tuple[str, str]]:
    given = profile.model_dump(exclude_none=True)
    return {key: (_text(key, value, file), name) for key, value in given.items()}


def _text(key: str, value: Any, file: Path) -> str:
    """The value for its variable: a path is relative to the folder of the file."""
    is_path = KEYS[key].is_path or (key == "policy" and ("/" in value or value.endswith((".yaml", ".yml"))))
    if is_path:
        return str(file.parent.absolute() / Path(value).expanduser())
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _problem(error: Any) -> str:
    """A problem of pydantic in words: the table, the key, the rule and the remedy."""
    *tables, key = error["loc"]
    place = f"[{'.'.join(map(str, tables))}] {key}" if tables else str(key)
    if error["type"] == "value_error":
        return f"{place}: {error['ctx']['error']}"
    if error["type"] != "extra_forbidden":
        return f"{place}: {MESSAGES.get(error['type'], error['msg'])}"
    if not tables:
        return f"{place}: this place takes no settings; write them below [default] or [profile.NAME]"
    if key == "password":
        return (
            f"{place}: a password must not be in this file; write it into another file, and name that by password_file"
        )
    return f"{place}: this key does not exist{nearest(str(key), KEYS)}; the keys are {', '.join(KEYS)}"
