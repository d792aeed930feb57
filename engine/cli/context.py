"""The options that all commands share (--root, --policy, --uri and --json), and the root that they select."""

import inspect
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import wraps
from types import TracebackType
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from grantpath.engine.authorizer import Authorizer
from grantpath.engine.cli.output import WIDE, err, styled
from grantpath.engine.policy import policy as policies
from grantpath.engine.policy.policy import Policy
from grantpath.engine.tenants import opening, registry
from grantpath.graph.embedded.connect import connection
from grantpath.graph.errors import GrantpathError, InvalidInput, Unknown
from grantpath.graph.inputs import need_seconds
from grantpath.graph.near_names import nearest
from grantpath.graph.reference import Reference
from grantpath.graph.statement import parse_with
from grantpath.graph.store import Store

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
        help="how long to wait for the server to respond, or for other writers; default: 10",
        rich_help_panel=PANEL,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="print one JSON object", rich_help_panel=PANEL)]
Create = Annotated[
    bool,
    typer.Option("--create", help="create the root if it does not exist; --policy names its policy"),
]
With = Annotated[
    list[str], typer.Option("--with", metavar="KEY=REF", help="a second object, e.g. tag=tag:pii; may be repeated")
]
Operator = Annotated[
    str | None,
    typer.Option(
        "--by", metavar="SUBJECT", help="the operator to record in the log, e.g. user:ann; not authorized by the policy"
    ),
]
As = Annotated[str | None, typer.Option("--as", metavar="ROLE", help="the active role, e.g. role:SYSADMIN")]


SHOWN = 20  # the number of roots that a message lists
HELP, VERSION = ("--help", "-h"), "--version"


class Watched(Authorizer):
    """An authorizer that records the parameters of its last queries, and the revision of the last answer."""

    def __init__(self, store: Store, tenant: str, policy: Policy, root: Reference) -> None:
        super().__init__(store, tenant, policy, root)
        self.asked: dict[str, dict[str, Any]] = {}
        self.revision = 0
        self.log_begins: int | None = None  # the first revision in the log, if older entries were pruned
        self.made = False

    def __enter__(self) -> "Watched":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Closes the connection, and removes a root that was created for a command that failed."""
        try:
            if self.made and error is None:
                err().print(styled(f"created the root {self.tenant} with the policy {self.policy.name}", "dim"))
            elif self.made:
                with suppress(GrantpathError):  # the original error is more informative
                    registry.take_back(self.store, self.tenant)
        finally:
            super().__exit__(kind, error, at)

    def ask(self, query: str, *, at_least: int | None = None, **parameters: Any) -> Mapping[str, Any]:
        row = super().ask(query, at_least=at_least, **parameters)
        self.asked[query] = {"root": self.tenant, **parameters}
        self.revision = row["revision"]
        self.log_begins = row.get("begins")
        return row


@dataclass(frozen=True)
class CommandContext:
    """The options that every command takes."""

    root: str | None = None
    policy: str | None = None
    uri: str | None = None
    json: bool = False
    timeout: float = 10.0

    @classmethod
    def from_environment(cls) -> "CommandContext":
        """The defaults from GRANTPATH_ROOT and GRANTPATH_POLICY. NEO4J_URI is read with the login."""
        return cls(os.environ.get("GRANTPATH_ROOT") or None, os.environ.get("GRANTPATH_POLICY") or None)

    def but(
        self, root: str | None, policy: str | None, uri: str | None, json: bool, timeout: float | None
    ) -> "CommandContext":
        """A copy with the given options. Raises InvalidInput if one is empty."""
        for option, value in (("--root", root), ("--policy", policy), ("--uri", uri)):
            if value == "":
                raise InvalidInput(f"{option} is empty; name one, or omit the option")
        seconds = self.timeout if timeout is None else timeout
        need_seconds("--timeout", seconds)
        return CommandContext(root or self.root, policy or self.policy, uri or self.uri, json or self.json, seconds)

    def at(self, root: str) -> "CommandContext":
        """A copy for a root that exists."""
        return replace(self, root=root, policy=None)

    def with_its_policy(self) -> "CommandContext":
        """A copy that uses the root's own policy, whatever --policy names."""
        return replace(self, policy=None)

    def store(self) -> Store:
        """The database. Raises Unavailable, ServerError."""
        return Store(connection(self.uri), self.timeout)

    def open(self, create: bool = False, history: bool = False, policy: Policy | None = None) -> Watched:
        """The authorizer of the selected root.

        With `create` a root that does not exist is created, with `policy` if the options name none. A dropped root is
        opened only for its `history`.

        Raises Unknown with the names of the existing roots, Invalid, InvalidPolicy, Unavailable, ServerError.
        """
        store = self.store()
        try:
            known = registry.names(store)
            wanted, exists = self._find(known, create)
            if known.get(wanted) and not history:
                raise registry.dropped(wanted)
            tenant, model, reference = opening.open_root(store, wanted, self.policy, may_create=create, default=policy)
        except BaseException:
            store.close()
            raise
        opened = Watched(store, tenant, model, reference)
        opened.made = not exists
        return opened

    def _find(self, listed: Mapping[str, bool], create: bool) -> tuple[str, bool]:
        """The selected root, and whether it exists. A dropped root is selected only if it is named."""
        known = [root for root, dropped in listed.items() if not dropped]
        there = f"the roots are {_some(known)}" if known else "there are no roots yet"
        if self.root is None:
            if len(known) == 1:
                return known[0], True
            example = known[0] if known else "metalake:main"
            raise Unknown(f"no root is selected; {there}; name one by --root or GRANTPATH_ROOT, e.g. --root {example}")
        wanted = policies.load(self.policy).root(self.root).text if self.policy else self.root
        fitting = registry.named_like(listed, wanted)
        if len(fitting) == 1:
            return fitting[0], True
        if fitting:
            raise Unknown(f"--root {wanted} can mean {' or '.join(fitting)}; write the type, too")
        if create:
            return wanted, False
        near = nearest(wanted, known)
        raise Unknown(
            f"the root {wanted} does not exist{near}: {there}; check the name, or create it by `grantpath change` or "
            "`grantpath load` with --create"
        )


def _some(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN:,} more (`grantpath roots`)" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def second_objects(pairs: list[str]) -> dict[str, str]:
    """The second objects of `--with` options. Raises InvalidInput."""
    return parse_with(", ".join(pairs)) if pairs else {}


class _Command(TyperCommand):
    """One command."""

    def get_help(self, ctx: Any) -> str:
        return super().get_help(_plain_in_a_pipe(self, ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return _unless_help(super().parse_args, ctx, args)


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
    """Parses; help and version end with exit code 0 only without other arguments. Raises BadParameter.

    In `grantpath check "$S" "$NAME" "$REF"` exit code 0 means allowed, and an untrusted argument must not produce it.
    """
    given = list(args)
    try:
        return parse(ctx, args)
    except typer.Exit:  # the help or the version is printed
        if len(given) == 1:
            raise
        option = next((word for word in given if word in (*HELP, VERSION)), HELP[0])
        raise typer.BadParameter(
            f"{option} cannot be combined with other arguments; if it is one of them, write -- before them",
            ctx=ctx,
        ) from None


def command(app: typer.Typer, panel: str, example: str, name: str | None = None) -> Callable[[Any], Any]:
    """Registers a function (session, its own arguments) -> exit code or None as a command with the shared options."""

    def register(function: Callable[..., int | None]) -> Callable[..., int | None]:
        own = list(inspect.signature(function).parameters.values())[1:]

        @wraps(function)
        def run(
            context: typer.Context,
            root: str | None,
            policy: str | None,
            uri: str | None,
            json: bool,
            timeout: float | None,
            **given: Any,
        ) -> None:
            before: CommandContext = context.find_root().obj or CommandContext.from_environment()
            raise typer.Exit(function(before.but(root, policy, uri, json, timeout), **given) or 0)

        keyword = inspect.Parameter.KEYWORD_ONLY
        shared = [
            inspect.Parameter(key, keyword, default=default, annotation=kind)
            for key, kind, default in (
                ("root", Root, None),
                ("policy", PolicyName, None),
                ("uri", Uri, None),
                ("json", Json, False),
                ("timeout", Timeout, None),
            )
        ]
        context = inspect.Parameter("context", keyword, annotation=typer.Context)
        given = [parameter.replace(kind=keyword) for parameter in own]
        run.__signature__ = inspect.Signature([context, *given, *shared])  # type: ignore[attr-defined]
        run.__annotations__ = {}
        text = _unfolded(function.__doc__ or "")
        app.command(name, cls=_Command, rich_help_panel=panel, help=text, epilog=f"Example: {example}")(run)
        return function

    return register
