"""Completion for bash and zsh: what can follow the words of a command line that is being typed.

The shells' functions (completion_scripts.py) start grantpath with the variable _GRANTPATH_COMPLETE. It then prints one
word per line, prints no error, starts no server, and ends after LIMIT seconds at the latest. The exit code is 2: this
variable must not make a check end with 0.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from grantpath.engine.cli.completion import completion_names
from grantpath.engine.cli.completion.completion_words import read_bash_line
from grantpath.engine.cli.start import COMPLETION

LIMIT = 0.9
CODE = 2


@dataclass
class _Place:
    """Where a command line ends: in which command, and after which words."""

    command: Any
    path: list[str] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)  # the values of the options, by name
    arguments: int = 0
    pending: Any = None  # the option whose value comes next
    only_arguments: bool = False  # after --


def main(arguments: list[str]) -> int:
    """Prints the completions for the shell that the variable names. Then ends the process, with all its threads."""
    shell, found = os.environ[COMPLETION], list[str]()

    def work() -> None:
        with suppress(BaseException):
            _without_unused_packages()
            found.extend(_for_bash(*arguments) if shell == "bash" else _for_zsh(arguments))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(LIMIT)
    with suppress(OSError, ValueError, AttributeError):
        sys.stdout.write("".join(f"{word}\n" for word in list(found)))
        sys.stdout.flush()
    os._exit(CODE)


def _without_unused_packages() -> None:
    """Hides packages that the driver would import, which takes most of a second. Other code in the process cannot
    import them afterwards."""
    import grantpath.engine.cli.main  # noqa: F401  # imported first, because it checks that they are installed

    for package in ("numpy", "pandas", "pyarrow"):
        sys.modules.setdefault(package, None)  # type: ignore[arg-type]


def _for_bash(line: str, breaks: str) -> Iterable[str]:
    """The arguments are the line up to the cursor, and COMP_WORDBREAKS. bash replaces only the end of a word."""
    typed = read_bash_line(line, breaks)
    return [typed.rest_of(word) for word in completions(typed.words[1:], typed.current)]


def _for_zsh(words: list[str]) -> Iterable[str]:
    """The arguments are the words, without their quotes; zsh quotes what it inserts."""
    return completions(words[:-1], words[-1])


def completions(words: list[str], current: str) -> list[str]:
    """The words that can be in the place of `current` after `words`. Names with control characters are omitted."""
    from typer.main import get_command

    from grantpath.engine.cli.main import app

    place = _place(get_command(app), words)
    found = _candidates(place, current) if place else []
    return [word for word in found if word.startswith(current) and word.isprintable()]


def _place(command: Any, words: list[str]) -> _Place | None:
    """The place after these words; None after a command that does not exist."""
    place, rest = _Place(command), iter(words)
    for word in rest:
        if word == "--" and not place.only_arguments:
            place.only_arguments = True
        elif word.startswith("-") and len(word) > 1 and not place.only_arguments:
            name, equals, value = word.partition("=")
            option = next((each for each in place.command.params if name in each.opts), None)
            if option is None or getattr(option, "is_flag", False):
                continue
            given = value if equals else next(rest, None)
            if given is None:
                place.pending = option
            else:
                place.options[option.name] = given
        elif commands := getattr(place.command, "commands", None):
            if word not in commands:
                return None
            place.command, place.arguments = commands[word], 0
            place.path.append(word)
        else:
            place.arguments += 1
    return place


def _candidates(place: _Place, current: str) -> Iterable[str]:
    if place.pending is not None:
        return _values(place, place.pending, current)
    name, equals, value = current.partition("=")
    if current.startswith("-") and not place.only_arguments:
        options = [each for each in place.command.params if each.param_type_name == "option"]
        if not equals:
            return [name for each in options for name in each.opts] + ["--help"]
        found = next((each for each in options if name in each.opts), None)
        return [f"{name}={word}" for word in _values(place, found, value)] if found is not None else []
    if commands := getattr(place.command, "commands", None):
        return sorted(commands)
    arguments = [each for each in place.command.params if each.param_type_name == "argument"]
    if not arguments or (place.arguments >= len(arguments) and arguments[-1].nargs != -1):
        return []
    return _values(place, arguments[min(place.arguments, len(arguments) - 1)], current)


def _values(place: _Place, param: Any, current: str) -> Iterable[str]:
    """The values of an option or an argument: its choices, or live names, by its name or metavar."""
    choices = getattr(getattr(param, "type_descriptor", None) or getattr(param, "type", None), "choices", None)
    if choices:
        return [str(each.value) if isinstance(each, Enum) else str(each) for each in choices]
    keys = (f"{' '.join(place.path)} {param.metavar}", param.name, param.metavar)
    names = next((NAMES[key] for key in keys if key in NAMES), None)
    return names(completion_names.LiveNames(place.options), current) if names else []


# By command and metavar, by metavar, or by the name of an option.
NAMES: dict[str, Callable[[completion_names.LiveNames, str], Iterable[str]]] = {
    "root": lambda names, _: names.roots(),
    "policy": lambda names, _: names.policies(),
    "profile": lambda names, _: names.profiles(),
    "policy show NAME": lambda names, _: names.policies(),
    "policy upgrade NAME": lambda names, _: names.policies(),
    "roots drop NAME": lambda names, _: names.roots(),
    "[ROOT]": lambda names, _: names.roots(),
    "TYPE": lambda names, _: names.types(),
    "NAME": lambda names, _: names.names(),
    "PRIVILEGE": lambda names, _: names.privileges(),
    "SUBJECT": lambda names, current: names.references(current, "subject"),
    "ROLE": lambda names, current: names.references(current, "role"),
    "REF": lambda names, current: names.references(current),
    "KEY=REF": lambda names, current: names.second_objects(current),
}
