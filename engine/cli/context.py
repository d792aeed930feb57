"""What all commands share: the options --root, --policy, --uri and --json, and the root that they lead to."""

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

PANEL = "Which graph, and how to print"
Root = Annotated[
    str | None, typer.Option(help="the tenant, e.g. metalake:ml; else GRANTPATH_ROOT", rich_help_panel=PANEL)
]
PolicyName = Annotated[
    str | None,
    typer.Option(help="a policy's name or file; else GRANTPATH_POLICY, else the root's own", rich_help_panel=PANEL),
]
Uri = Annotated[
    str | None,
    typer.Option(
        help="a Neo4j server, e.g. bolt://HOST:7687; else NEO4J_URI, else the embedded one", rich_help_panel=PANEL
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="how long to wait for the server's next word, or for a turn among writers: 10 if not given",
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
    typer.Option("--by", metavar="SUBJECT", help="the operator for the log, e.g. user:ann; needs no authority"),
]
As = Annotated[str | None, typer.Option("--as", metavar="ROLE", help="the active role, e.g. role:SYSADMIN")]


SHOWN = 20  # of the roots there are
HELP, VERSION = ("--help", "-h"), "--version"


class Watched(Authorizer):
    """An authorizer that remembers what its last queries were asked with, and the revision of the last answer."""

    def __init__(self, store: Store, tenant: str, policy: Policy, root: Reference) -> None:
        super().__init__(store, tenant, policy, root)
        self.asked: dict[str, dict[str, Any]] = {}
        self.revision = 0
        self.log_begins: int | None = None  # where older entries were pruned
        self.made = False

    def __enter__(self) -> "Watched":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Closes it; a root that was made for what then failed goes again."""
        try:
            if self.made and error is None:
                err().print(styled(f"created the root {self.tenant} with the policy {self.policy.name}", "dim"))
            elif self.made:
                with suppress(GrantpathError):  # the error that is under way tells more
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
        """What GRANTPATH_ROOT and GRANTPATH_POLICY say; NEO4J_URI is read where the login is."""
        return cls(os.environ.get("GRANTPATH_ROOT") or None, os.environ.get("GRANTPATH_POLICY") or None)

    def but(
        self, root: str | None, policy: str | None, uri: str | None, json: bool, timeout: float | None
    ) -> "CommandContext":
        """With the options that are given. Raises InvalidInput for an empty one."""
        for option, value in (("--root", root), ("--policy", policy), ("--uri", uri)):
            if value == "":
                raise InvalidInput(f"{option} is empty; name one, or omit the option")
        seconds = self.timeout if timeout is None else timeout
        need_seconds("--timeout", seconds)
        return CommandContext(root or self.root, policy or self.policy, uri or self.uri, json or self.json, seconds)

    def at(self, root: str) -> "CommandContext":
        """The same for a root that is known to be there."""
        return replace(self, root=root, policy=None)

    def with_its_policy(self) -> "CommandContext":
        """The same, whatever policy is named: the root's own is meant."""
        return replace(self, policy=None)

    def store(self) -> Store:
        """The database. Raises Unavailable, ServerError."""
        return Store(connection(self.uri), self.timeout)

    def open(self, create: bool = False, history: bool = False, policy: Policy | None = None) -> Watched:
        """The authorizer of the root that is meant. `create`: create it where it does not exist, with `policy` if the
        options name none. One that was dropped is opened only for its `history`.

        Raises Unknown with the roots there are, Invalid, InvalidPolicy, Unavailable, ServerError.
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
        """The root that is meant, and whether it exists. One that was dropped is meant only by its name."""
        known = [root for root, dropped in listed.items() if not dropped]
        there = f"the roots are {_some(known)}" if known else "there are no roots yet"
        if self.root is None:
            if len(known) == 1:
                return known[0], True
            example = known[0] if known else "metalake:main"
            raise Unknown(f"which root? {there}; name one by --root or GRANTPATH_ROOT, as --root {example}")
        wanted = policies.load(self.policy).root(self.root).text if self.policy else self.root
        fitting = registry.named_like(listed, wanted)
        if len(fitting) == 1:
            return fitting[0], True
        if fitting:
            raise Unknown(f"--root {wanted} may be {' or '.join(fitting)}; write the type too")
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
    """In a pipe help has no frames, and its lines are not folded, so that grep finds what it says."""
    if not sys.stdout.isatty():
        command.rich_markup_mode = None
        ctx.terminal_width = WIDE
    return ctx


def _unfolded(text: str) -> str:
    """A docstring with each paragraph on one line: the terminal folds it once, where it is wide enough."""
    return "\n\n".join(" ".join(part.split()) for part in inspect.cleandoc(text).split("\n\n"))


def _unless_help(parse: Callable[[Any, list[str]], list[str]], ctx: Any, args: list[str]) -> list[str]:
    """Parses; help and version end with exit code 0 only where nothing else was asked. Raises BadParameter.

    `grantpath check "$S" "$NAME" "$REF"` is a gate: 0 means yes there, and a word from outside must not produce it.
    """
    given = list(args)
    try:
        return parse(ctx, args)
    except typer.Exit:  # the help or the version is printed
        if len(given) == 1:
            raise
        option = next((word for word in given if word in (*HELP, VERSION)), HELP[0])
        raise typer.BadParameter(
            f"{option} stands beside other words, so nothing was done; if it is one of them, write -- before them",
            ctx=ctx,
        ) from None


def command(app: typer.Typer, panel: str, example: str, name: str | None = None) -> Callable[[Any], Any]:
    """Makes a command of a function (session, its own arguments) -> exit code or None; adds the shared options."""

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
