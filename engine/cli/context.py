"""The options that all commands share (--root, --policy, --uri, --json and others), and the root that they select."""

import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, fields, replace
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer
from typer.core import TyperCommand, TyperGroup

from grantpath.engine.cli.output import WIDE, quietly, starting
from grantpath.engine.cli.settings import Setting, applied
from grantpath.graph.errors import InvalidInput
from grantpath.graph.language.inputs import require_seconds
from grantpath.graph.messages import read_printed

# A command imports its part of the engine when it runs: `--help` would be slow otherwise.
if TYPE_CHECKING:
    from grantpath.engine.authorizer.authorizer import Authorizer
    from grantpath.engine.cli.command_authorizer import CommandAuthorizer
    from grantpath.engine.past.past_root import PastRoot
    from grantpath.engine.policy.policy import Policy
    from grantpath.graph.guard.store import Store

PANEL = "Graph and output"
Root = Annotated[
    str | None, typer.Option(help="the root, e.g. metalake:ml; default: GRANTPATH_ROOT", rich_help_panel=PANEL)
]
PolicyName = Annotated[
    str | None,
    typer.Option(help="a policy's name or file; default: GRANTPATH_POLICY, then the root's own", rich_help_panel=PANEL),
]
Uri = Annotated[
    str | None,
    typer.Option(
        help="a Neo4j server, e.g. bolt://HOST:7687; default: NEO4J_URI, then the embedded server",
        rich_help_panel=PANEL,
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="how long to wait for the server to respond, or for other writers; default: GRANTPATH_TIMEOUT, then 10",
        rich_help_panel=PANEL,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="print one JSON object", rich_help_panel=PANEL)]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", help="print no progress and no notes, only answers, warnings and errors", rich_help_panel=PANEL
    ),
]
Profile = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="a profile of the configuration file; default: GRANTPATH_PROFILE, then its table named default",
        rich_help_panel=PANEL,
    ),
]
Create = Annotated[
    bool,
    typer.Option("--create", help="create the root if it does not exist; --policy names its policy"),
]
At = Annotated[
    int | None, typer.Option(metavar="REVISION", help="the revision that the page must have: that of the previous page")
]
AtLeast = Annotated[
    int | None, typer.Option("--at-least", metavar="REVISION", help="answer from this revision or a later one")
]
AsOf = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        metavar="REVISION|TIME",
        help="answer about the past: a revision, or a time in ISO 8601, e.g. 2026-01-31T12:00Z (UTC without an offset)",
    ),
]
Snapshots = Annotated[
    list[str],
    typer.Option(
        "--snapshot",
        metavar="SNAPSHOT",
        help="with --as-of: a snapshot to start from if it is nearer than the present; may be repeated",
    ),
]
With = Annotated[
    list[str], typer.Option("--with", metavar="KEY=REF", help="a second object, e.g. tag=tag:pii; may be repeated")
]
Operator = Annotated[
    str | None,
    typer.Option(
        "--by",
        metavar="SUBJECT",
        help="the operator to record in the log, e.g. user:ann; not checked against the policy",
    ),
]
As = Annotated[str | None, typer.Option("--as", metavar="ROLE", help="the active role, e.g. role:SYSADMIN")]


HELP, VERSION = ("--help", "-h"), "--version"
INSTALL_COMPLETION, SHOW_COMPLETION = "--install-completion", "--show-completion"
# the metavars of arguments and options whose value is a path, or the URI of one
PATHS = ("DIR", "FILE", "OUT", "SNAPSHOT", "A", "B", "OTHER")
AS_JSON = "grantpath.json"  # in the data of click's context: whether --json is given
ENDING = (*HELP, VERSION, INSTALL_COMPLETION, SHOW_COMPLETION)  # options that print something and end the command


@dataclass(frozen=True)
class CommandContext:
    """The options that every command takes, and the settings that result. None: not given.

    The command `grantpath` takes them, too, before the name of the command.
    """

    root: Root = None
    policy: PolicyName = None
    uri: Uri = None
    json: Json = False
    quiet: Quiet = False
    timeout: Timeout = None
    profile: Profile = None
    settings: tuple[Setting, ...] = ()

    def but(self, **options: Any) -> "CommandContext":
        """A copy with the given options, by name. Raises InvalidInput if one is empty or not valid."""
        for option, value in options.items():
            if value == "":
                raise InvalidInput(f"--{option} is empty; name one, or omit the option")
        if options.get("timeout") is not None:
            require_seconds("--timeout", options["timeout"])
        return replace(self, **{option: value for option, value in options.items() if value not in (None, False)})

    @contextmanager
    def running(self) -> Iterator["CommandContext"]:
        """Applies the variables, the profile and --quiet while a command runs. Yields the resulting options.

        Raises InvalidInput for a configuration file that cannot be used.
        """
        with quietly(self.quiet), applied(self) as session:
            yield session

    def gives(self, key: str) -> bool:
        """Whether the command line itself has this option, and not only a variable or a profile."""
        return any((each.key, each.source) == (key, f"--{key}") for each in self.settings)

    def require_unused(self, *options: str, on: str = "this command") -> None:
        """Raises InvalidInput if the command line has one of these options, which would be ignored."""
        for option in options:
            if self.gives(option):
                raise InvalidInput(f"--{option} has no effect on {on}; omit it")

    def at(self, root: str) -> "CommandContext":
        """A copy that selects this root, which must exist, with its own policy. Raises as `with_its_policy`."""
        return replace(self.with_its_policy(), root=root)

    def with_its_policy(self) -> "CommandContext":
        """A copy that uses the root's own policy. Raises InvalidInput if the command line names another one."""
        self.require_unused("policy", on="this command, which uses the policy of the root")
        return replace(self, policy=None)

    def store(self, keep_plans: bool = False) -> "Store":
        """The database; `keep_plans`: see `Store`. Raises Unavailable, ServerError."""
        from grantpath.graph.embedded.connect import connection
        from grantpath.graph.guard.store import Store

        return Store(connection(self.uri, progress=starting()), self.timeout or 10.0, keep_plans=keep_plans)

    def open(
        self,
        create: bool = False,
        history: bool = False,
        policy: "Policy | None" = None,
        by: str | None = None,
        dry_run: bool = False,
    ) -> "CommandAuthorizer":
        """The authorizer of the selected root.

        With `create` a root that does not exist is created, with `policy` if the options name none, and as the actor
        `by`. In a dry run the root is created under a hidden key and removed on close. A dropped root is opened only
        for its `history`.

        Raises Unknown with the names of the existing roots, Invalid, InvalidPolicy, Unavailable, ServerError.
        """
        from grantpath.engine.cli.command_authorizer import open_selected

        return open_selected(self, create, history, policy, by, dry_run)


A_ROOT = ("root", "policy")  # the options that select a root
OF_ROOTS = (*A_ROOT, "uri")  # and its database
SHARED = {field.name: field for field in fields(CommandContext) if field.name != "settings"}


def with_shared_options(
    function: Callable[..., Any],
    before: Sequence[inspect.Parameter] = (),
    after: Sequence[inspect.Parameter] = (),
    unused: Sequence[str] = (),
) -> None:
    """Gives a function for Typer, which takes keywords, the options of CommandContext, and others before or after. The
    help does not show the `unused` ones."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    shared = [
        inspect.Parameter(
            name, keyword, default=field.default, annotation=_hidden(field.type) if name in unused else field.type
        )
        for name, field in SHARED.items()
    ]
    context = inspect.Parameter("context", keyword, annotation=typer.Context)
    ordered = [each.replace(kind=keyword) for each in (*before, *shared, *after)]
    function.__signature__ = inspect.Signature([context, *ordered])  # type: ignore[attr-defined]
    function.__annotations__ = {}


def _hidden(annotation: Any) -> Any:
    """The annotation of an option that is accepted, and is not in the help."""
    type_, option = get_args(annotation)
    hidden = copy(option)
    hidden.hidden = True
    return Annotated[type_, hidden]


def second_objects(pairs: list[str]) -> dict[str, str]:
    """The second objects of `--with` options. Raises InvalidInput."""
    from grantpath.graph.language.statement import parse_with

    return parse_with(", ".join(pairs)) if pairs else {}


def split_names(values: list[str]) -> list[str]:
    """The names in the values of an option, which commas separate."""
    return [word.strip() for each in values for word in each.split(",") if word.strip()]


def past(authorizer: "Authorizer", as_of: str | None, snapshots: list[str]) -> "PastRoot | None":
    """The state that --as-of names, with --snapshot; None without --as-of. Raises InvalidInput, Inconsistent."""
    if as_of is not None:
        return authorizer.past(as_of, snapshots=snapshots)
    if snapshots:
        raise InvalidInput("--snapshot needs --as-of: name a revision or a time, or omit --snapshot")
    return None


class _Command(TyperCommand):
    """One command."""

    def get_help(self, ctx: Any) -> str:
        return super().get_help(_plain_in_a_pipe(self, ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        given = [*args]
        rest = _unless_help(super().parse_args, ctx, args)
        if not ctx.resilient_parsing:  # as the completion of a shell parses
            _require_paths(self, ctx, given)
        return rest


class Commands(TyperGroup):
    """A group of commands."""

    def get_help(self, ctx: Any) -> str:
        return super().get_help(_plain_in_a_pipe(self, ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return _unless_help(super().parse_args, ctx, args)


def _plain_in_a_pipe(command: TyperCommand | TyperGroup, ctx: Any) -> Any:
    """Removes frames and line breaks from help in a pipe, so that grep finds its text."""
    if not sys.stdout.isatty():
        command.rich_markup_mode = None
        ctx.terminal_width = WIDE
    return ctx


def _unfolded(text: str) -> str:
    """A docstring with each paragraph on one line, so that only the terminal wraps it."""
    return "\n\n".join(" ".join(part.split()) for part in inspect.cleandoc(text).split("\n\n"))


def _unless_help(parse: Callable[[Any, list[str]], list[str]], ctx: Any, args: list[str]) -> list[str]:
    """Parses the arguments. An option of ENDING ends with exit code 0 only if it is alone; --version may have --json.
    Raises BadParameter.

    In `grantpath check "$S" "$NAME" "$REF"` exit code 0 means allowed, and an untrusted argument must not produce it.
    """
    given = list(args)
    ctx.meta[AS_JSON] = "--json" in given
    try:
        return parse(ctx, args)
    except typer.Exit:  # the help or the version is printed
        if len(given) == 1 or {*given} == {VERSION, "--json"}:
            raise
        option = next((word for word in given if word in ENDING), HELP[0])
        raise typer.BadParameter(
            f"{option} cannot be combined with other arguments; to pass it as an argument, write -- before it",
            ctx=ctx,
        ) from None


def is_path(parameter: Any) -> bool:
    """Whether the value of an argument or an option is the path of a file or a folder, or the URI of one."""
    return (parameter.metavar or "").removesuffix("...") in PATHS


def _require_paths(command: TyperCommand, ctx: Any, args: list[str]) -> None:
    """Raises InvalidInput for a path that is empty, e.g. because a variable of the shell is not set: `Path("")` is the
    current folder. The words are read again, because what they become no longer shows it."""
    given, _, _ = command.make_parser(ctx).parse_args([*args])
    for each in filter(is_path, command.params):
        value = given.get(each.name or "")
        if "" in (value if isinstance(value, list | tuple) else [value]):
            if each.param_type_name == "argument":
                raise InvalidInput(f"the argument {each.metavar} is empty; name one")
            raise InvalidInput(f"{each.opts[0]} is empty; name one, or omit the option")


def _read(value: Any) -> Any:
    """The value of an argument; a text in its printed form is read back."""
    if isinstance(value, list):
        return [_read(each) for each in value]
    return read_printed(value) if type(value) is str else value


def command(
    app: typer.Typer, panel: str, example: str, name: str | None = None, unused: Sequence[str] = ()
) -> Callable[[Any], Any]:
    """Registers a function (session, its own arguments) -> exit code or None as a command with the shared options.
    The `unused` ones have no effect on it: they are not in its help, and an error on its command line."""

    def register(function: Callable[..., int | None]) -> Callable[..., int | None]:
        own = list(inspect.signature(function).parameters.values())[1:]

        @wraps(function)
        def run(context: typer.Context, **given: Any) -> None:
            given = {name: _read(value) for name, value in given.items()}
            shared = {name: given.pop(name) for name in SHARED}
            before: CommandContext = context.find_root().obj or CommandContext()
            with before.but(**shared).running() as session:
                session.require_unused(*unused)
                raise typer.Exit(function(session, **given) or 0)

        with_shared_options(run, own, unused=unused)
        text = _unfolded(function.__doc__ or "")
        app.command(name, cls=_Command, rich_help_panel=panel, help=text, epilog=f"Example: {example}")(run)
        return function

    return register
