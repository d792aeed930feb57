"""The entry point of the command line, and its error handling. Each group of commands has its own module."""

import inspect
import logging
import os
import re
import shlex
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from errno import EIO, ENOSPC
from functools import cache
from importlib import metadata
from typing import Annotated, Any, TextIO

import typer

from grantpath.engine.cli.admin import (
    config_command,
    demo_command,
    doctor_command,
    log_command,
    policy_commands,
    scenario_command,
    server_commands,
    tenant_commands,
)
from grantpath.engine.cli.ask import ask_commands, browser_params, look_commands, question_command, since_command
from grantpath.engine.cli.bulk import (
    export_command,
    load_command,
    mirror_commands,
    report_command,
    spark_commands,
    sql_command,
)
from grantpath.engine.cli.change import change_commands, ending_commands, plan_commands
from grantpath.engine.cli.completion import completion_scripts
from grantpath.engine.cli.context import (
    AS_JSON,
    INSTALL_COMPLETION,
    SHARED,
    SHOW_COMPLETION,
    VERSION,
    CommandContext,
    Commands,
    is_path,
    with_shared_options,
)
from grantpath.engine.cli.context import HELP as HELP_OPTIONS
from grantpath.engine.cli.output import emit, emit_error
from grantpath.graph.errors import GrantpathError, InvalidInput, Refused
from grantpath.graph.files.private_files import create_private, make_private
from grantpath.graph.messages import printable

HELP = """Who can do what, and why: a graph of grants in Neo4j, mirrored into Spark for bulk questions.

A reference is type:name, e.g. user:bob or table:hr.public.staff.

Without --uri and NEO4J_URI the embedded server is used, and started if necessary; GRANTPATH_EMBEDDED=never prevents it.

Exit codes: 0 done or allowed, 1 refused or not allowed, 2 an error.
"""
INTERRUPTED, BROKEN_PIPE = 130, 141  # the exit codes of shells for SIGINT and SIGPIPE
REFERRING = ("REF", "SUBJECT")  # how the help calls the value of an option that is a reference
EXTRA = re.compile(r"Got unexpected extra argument\(s\) \((.*)\)", re.DOTALL)
UsageError: type[Exception] = typer.BadParameter.__mro__[1]

app = typer.Typer(
    cls=Commands,
    help=HELP,
    epilog="Start with: grantpath demo",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": list(HELP_OPTIONS)},
)


def _version(context: typer.Context, wanted: bool) -> None:
    if wanted:
        version = metadata.version("grantpath")
        if context.meta[AS_JSON]:
            emit({"version": version})
        else:
            print(f"grantpath {version}")
        raise typer.Exit


def _show_completion(wanted: bool) -> None:
    if wanted:
        print(completion_scripts.SCRIPTS[completion_scripts.shell_in_use()], end="")
        raise typer.Exit


def _install_completion(wanted: bool) -> None:
    if wanted:
        print(completion_scripts.install(completion_scripts.shell_in_use()))
        raise typer.Exit


Version = Annotated[bool, typer.Option(VERSION, help="print the version", is_eager=True, callback=_version)]
InstallCompletion = Annotated[
    bool,
    typer.Option(
        INSTALL_COMPLETION,
        help="install the completion of names for bash or zsh",
        is_eager=True,
        callback=_install_completion,
    ),
]
ShowCompletion = Annotated[
    bool, typer.Option(SHOW_COMPLETION, help="print the completion script", is_eager=True, callback=_show_completion)
]


def _ending(version: Version = False, install: InstallCompletion = False, show: ShowCompletion = False) -> None:
    """The options of the command `grantpath` itself, each of which prints something and ends it."""


def _options(context: typer.Context, **given: Any) -> None:
    context.obj = CommandContext().but(**{name: given[name] for name in SHARED})
    if context.invoked_subcommand is None:
        print(context.get_help())


with_shared_options(_options, after=[*inspect.signature(_ending).parameters.values()])
app.callback(invoke_without_command=True)(_options)


for module in (
    demo_command,
    ask_commands,
    since_command,
    browser_params,
    look_commands,
    question_command,
    load_command,
    change_commands,
    ending_commands,
    plan_commands,
    log_command,
    tenant_commands,
    server_commands,
    doctor_command,
    config_command,
    policy_commands,
    scenario_command,
    mirror_commands,
    spark_commands,
    report_command,
    export_command,
    sql_command,
):
    module.register(app)


def main(arguments: list[str] | None = None) -> int:
    """Runs a command. Returns its exit code: 0 done or allowed, 1 refused or not allowed, 2 an error, 130 interrupted,
    141 broken pipe. An error never ends with 0 or 1.
    """
    given = sys.argv[1:] if arguments is None else arguments
    _prepare_streams()
    # Libraries also log what they raise; without a handler, Python would print it.
    logging.getLogger().addHandler(logging.NullHandler())
    try:
        return _run(given, "--json" in given)
    except BaseException as error:  # the error could not be reported, e.g. because standard error is full
        with suppress(OSError, ValueError):
            print(f"error: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        _leave(sys.stdout)
        _leave(sys.stderr)
        return 2


def _prepare_streams() -> None:
    """Prepares the streams: on a terminal, what it cannot show is escaped. In a pipe or a file, input and output are
    always UTF-8, because escapes would change names and make JSON unreadable. Output to streams that were closed before
    the start is discarded."""
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            encoding = None if stream.isatty() else "utf-8"
            stream.reconfigure(encoding=encoding, errors="backslashreplace")
    with suppress(OSError, ValueError):  # it is closed, or the caller of `main` has read from it
        if hasattr(sys.stdin, "reconfigure") and not sys.stdin.isatty():
            sys.stdin.reconfigure(encoding="utf-8", errors="strict")


@cache
def _command() -> Callable[..., Any]:
    """All commands with their options, which typer derives from the signatures anew at each call of `app`."""
    return typer.main.get_command(app)


def _run(given: list[str], as_json: bool) -> int:
    try:
        code = int(_command()(given, prog_name="grantpath", standalone_mode=False) or 0)
        sys.stdout.flush()
        return code
    except GrantpathError as error:
        return _fail(error, as_json, 1 if isinstance(error, Refused) else 2)
    except UsageError as error:
        return _fail(InvalidInput(_usage(error)), as_json, 2)
    except ModuleNotFoundError as error:
        known = "pip install 'grantpath[" in str(error)  # an extra that is not installed (graph/extras.py)
        return _fail(GrantpathError(str(error)), as_json, 2) if known else _failed(error, given, as_json)
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except SystemExit as end:  # rich raises this for a broken pipe
        return BROKEN_PIPE if isinstance(end.__context__, BrokenPipeError) else _failed(end, given, as_json)
    except BaseException as error:
        return _failed(error, given, as_json)


def _failed(error: BaseException, given: list[str], as_json: bool) -> int:
    """Handles other errors: output that cannot be written, interrupts, and unexpected errors."""
    if isinstance(error, BrokenPipeError):
        _leave(sys.stdout)
        return BROKEN_PIPE
    if isinstance(error, OSError) and error.errno in (ENOSPC, EIO) and error.filename is None:
        _leave(sys.stdout)
        what = (
            f"the output cannot be written: {error.strerror}; free some space, or redirect it; a command that changes"
            " something may have done so: look before you run it again"
        )
        return _fail(GrantpathError(what), as_json, 2)
    if _is_interrupt(error):
        return INTERRUPTED
    return _fail(GrantpathError(_unexpected(error, given)), as_json, 2)


def _leave(stream: TextIO) -> None:
    """Discards unwritten output, which Python would otherwise report at exit with another exit code."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether Ctrl-C was the first cause: closing a connection that it interrupted raises another error."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _fail(error: GrantpathError, as_json: bool, code: int) -> int:
    sys.stdout.flush()
    emit_error(error, as_json)
    return code


def _usage(error: Any) -> str:
    path = error.ctx.command_path if error.ctx else "grantpath"
    message = " ".join(error.format_message().split()).rstrip(".")  # some versions of click write choices in lines
    message = message.replace(": Value error, ", ": ")  # pydantic's words before the reason
    if extra := EXTRA.fullmatch(message):
        message = _unquoted(error.ctx, extra[1])
    return f"{message}{'' if message.endswith('?') else '.'} See `{path} --help`."


def _unquoted(context: Any, extra: str) -> str:
    """The message for extra arguments: usually a statement or a name with spaces was not quoted. After a path, it is
    another path, which only an option takes."""
    arguments = [each for each in context.command.params if not each.opts[0].startswith("-")]
    taken = [context.params.get(each.name) for each in arguments]
    of_paths = bool(arguments) and is_path(arguments[-1])
    if of_paths or not taken or not isinstance(taken[-1], str):
        options = [each for each in context.command.params if each not in arguments]
        fitting = [each for each in options if (is_path(each) if of_paths else each.metavar in REFERRING)]
        named = [f"{each.opts[0]} {each.metavar}" for each in fitting]
        return f"unexpected: {extra}; remove it" + f", or give it by {' or '.join(named)}" * bool(named)
    return f"quote a statement, or a name with spaces, e.g. {shlex.quote(f'{taken[-1]} {extra}')}; or remove {extra}"


def _unexpected(error: BaseException, arguments: list[str]) -> str:
    """The message for an unexpected error. Its details are written to a file."""
    from grantpath.graph.files.private_files import cache_folder

    now = datetime.now(UTC)
    what = f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else 'no text'}"
    file = cache_folder() / "errors" / f"{now:%Y%m%dT%H%M%S%f}.txt"
    try:
        make_private(file.parent)
        with create_private(file) as out:
            report = f"grantpath {' '.join(arguments)}\n{''.join(traceback.format_exception(error))}"
            out.write(report.encode(errors="backslashreplace"))
    except OSError:
        return f"internal error: {printable(what)}; please report it"
    return f"internal error: {printable(what)}; please report it with {file}"


if __name__ == "__main__":
    sys.exit(main())
