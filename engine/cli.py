"""The command line: `grantpath`. Each group of commands has its own module; here are the start and the errors."""

import logging
import os
import sys
import traceback
from datetime import UTC, datetime
from typing import Any

import typer

from grantpath.engine import (
    cli_ask,
    cli_change,
    cli_demo,
    cli_log,
    cli_policy,
    cli_roots,
    cli_server,
    cli_spark,
    cli_test,
)
from grantpath.engine.cli_output import emit_error, printable
from grantpath.engine.cli_session import Json, PolicyName, Root, Session, Uri
from grantpath.graph.cache import cache_folder
from grantpath.graph.errors import GrantpathError, Refused

HELP = """Who may do what, and why: a graph of grants in Neo4j, the same in bulk in Spark.

References are type:name, as user:bob or table:hr.public.staff. Without --uri the embedded server is used, started if
need be.
"""
UsageError: type[Exception] = typer.BadParameter.__mro__[1]

app = typer.Typer(
    help=HELP,
    epilog="Start with: grantpath demo",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


@app.callback(invoke_without_command=True)
def options(
    context: typer.Context, root: Root = None, policy: PolicyName = None, uri: Uri = None, json: Json = False
) -> None:
    context.obj = Session.from_environment().but(root, policy, uri, json)
    if context.invoked_subcommand is None:
        context.get_help()  # prints it


for module in (cli_demo, cli_ask, cli_change, cli_log, cli_roots, cli_server, cli_policy, cli_test, cli_spark):
    module.register(app)


def main(arguments: list[str] | None = None) -> int:
    """Runs a command; returns its exit code: 0 done or yes, 1 no or refused, 2 an error."""
    given = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    # Libraries log what they raise too; without a handler Python prints that at the user.
    logging.getLogger().addHandler(logging.NullHandler())
    as_json = "--json" in given
    try:
        code = int(app(given, prog_name="grantpath", standalone_mode=False) or 0)
        sys.stdout.flush()
        return code
    except Refused as error:
        return _fail(str(error), as_json, 1)
    except GrantpathError as error:
        return _fail(str(error), as_json, 2)
    except UsageError as error:
        return _fail(_usage(error), as_json, 2)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except Exception as error:
        return _fail(_unexpected(error, given), as_json, 2)


def _fail(text: str, as_json: bool, code: int) -> int:
    sys.stdout.flush()
    emit_error(text, as_json)
    return code


def _usage(error: Any) -> str:
    path = error.ctx.command_path if error.ctx else "grantpath"
    return f"{error.format_message()} See `{path} --help`."


def _unexpected(error: Exception, arguments: list[str]) -> str:
    """One line, and the details in a file."""
    now = datetime.now(UTC)
    what = f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else 'no text'}"
    file = cache_folder() / "errors" / f"{now:%Y%m%dT%H%M%S%f}.txt"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"grantpath {' '.join(arguments)}\n{''.join(traceback.format_exception(error))}")
    except OSError:
        return f"this should not happen: {printable(what)}"
    return f"this should not happen: {printable(what)}; please report it with {file}"


if __name__ == "__main__":
    sys.exit(main())
