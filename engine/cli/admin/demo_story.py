"""The demo's part in Neo4j: the worked example of the Gravitino document, and an estate of TPC tables."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from grantpath.engine.cli.admin.demo_data import STORIES
from grantpath.engine.cli.output import lines, styled
from grantpath.graph.errors import GrantpathError, Refused

if TYPE_CHECKING:
    from rich.console import Console

    from grantpath.engine.answers.decision import Decision
    from grantpath.engine.authorizer.authorizer import Authorizer

ROOT = "metalake:demo"
MARK = "made by grantpath demo"  # the id of the first change in each root that a demo creates
# Step 1 of the document: the facts after the service admin has created the metalake.
BEFORE = ["member user:admin of role:service_admin", f"owner user:admin of {ROOT}"]
SHOWN = 6  # the number of references that a list shows
PATHS = 3


@dataclass(frozen=True)
class DemoAction:
    """An action of a user: the operation that the document requires, and its statement; without one it is a check."""

    by: str
    operation: str
    object: str
    statement: str | None = None
    allowed: bool = True


@dataclass(frozen=True)
class StoryStep:
    """A step of the document's example."""

    says: str
    actions: tuple[DemoAction, ...]


def _adds(by: str, operation: str, parent: str, ref: str, allowed: bool = True) -> DemoAction:
    return DemoAction(by, operation, parent, f"add {ref}", allowed)


ADMIN, MANAGER, STAFF = "user:admin", "user:Manager", "user:Staff"
STEPS = (
    StoryStep(
        "The service admin creates the metalake.",
        (DemoAction(ADMIN, "create_metalake", ROOT),),
    ),
    StoryStep("The service admin adds the user Manager,", (_adds(ADMIN, "add_user", ROOT, MANAGER),)),
    StoryStep(
        "and makes Manager the owner of the metalake.",
        (
            _adds(MANAGER, "add_user", ROOT, STAFF, allowed=False),
            DemoAction(ADMIN, "set_owner", ROOT, f"owner {MANAGER} of {ROOT}"),
        ),
    ),
    StoryStep("Manager adds the user Staff,", (_adds(MANAGER, "add_user", ROOT, STAFF),)),
    StoryStep(
        "and a role that can create catalogs.",
        (
            _adds(MANAGER, "create_role", ROOT, "role:catalog_manager"),
            DemoAction(MANAGER, "grant_privilege", ROOT, f"allow CREATE_CATALOG on {ROOT} to role:catalog_manager"),
            _adds(STAFF, "create_catalog", ROOT, "catalog:hive", allowed=False),
        ),
    ),
    StoryStep(
        "Staff gets the role.",
        (DemoAction(MANAGER, "grant_role", ROOT, f"member {STAFF} of role:catalog_manager"),),
    ),
    StoryStep(
        "Staff creates a catalog for Hive, and owns it,", (_adds(STAFF, "create_catalog", ROOT, "catalog:hive"),)
    ),
    StoryStep(
        "a schema in it,",
        (_adds(STAFF, "create_schema", "catalog:hive", "schema:hive.hive_db"),),
    ),
    StoryStep(
        "and a table in the schema.",
        (_adds(STAFF, "create_table", "schema:hive.hive_db", "table:hive.hive_db.hive_table"),),
    ),
    StoryStep("The same for MySQL: a catalog,", (_adds(STAFF, "create_catalog", ROOT, "catalog:mysql"),)),
    StoryStep(
        "a schema,",
        (_adds(STAFF, "create_schema", "catalog:mysql", "schema:mysql.mysql_db"),),
    ),
    StoryStep(
        "a table.",
        (_adds(STAFF, "create_table", "schema:mysql.mysql_db", "table:mysql.mysql_db.mysql_table"),),
    ),
    StoryStep(
        "Staff reads the tables of both.",
        (
            DemoAction(STAFF, "load_table", "table:hive.hive_db.hive_table"),
            DemoAction(STAFF, "load_table", "table:mysql.mysql_db.mysql_table"),
        ),
    ),
)


def heading(console: "Console", title: str, note: str) -> None:
    """Prints the heading of a part of the demo."""
    console.print()
    console.print(styled(title, "bold underline"))
    for line in note.splitlines():
        console.print(styled(line, "dim"))
    console.print()


def mark(authorizer: "Authorizer") -> None:
    """Marks a root as created by a demo, so that the next demo can remove it."""
    authorizer.change("add user:admin", id=MARK)


def made_here(authorizer: "Authorizer") -> bool:
    """Whether a demo created this root. A root that was never changed counts as created by a demo."""
    return authorizer.revision_now() == 0 or bool(authorizer.log(id=MARK, limit=1))


def worked_example(authorizer: "Authorizer", console: "Console") -> None:
    """Runs the thirteen steps, each with its decision.

    Raises GrantpathError if a decision differs from the document.
    """
    from rich.text import Text

    mark(authorizer)
    authorizer.given(BEFORE)
    for number, step in enumerate(STEPS, 1):
        console.print(Text.assemble((f"{number:>2}  ", "bold cyan"), step.says))
        for action in step.actions:
            _do(authorizer, console, action)


def _do(authorizer: "Authorizer", console: "Console", action: DemoAction) -> None:
    decision = authorizer.check(action.by, action.operation, action.object)
    if decision.allowed != action.allowed:
        raise GrantpathError(f"{action}: the decision differs from the document: {decision}; please report this")
    if action.statement is None:
        _verdict(console, decision, "allowed", "denied", f"{action.operation} on {action.object} for {action.by}")
        return
    try:
        authorizer.change(action.statement, by=action.by)
    except Refused:
        if decision:
            raise
    _verdict(console, decision, "done", "refused", f"{action.statement}  (by {action.by})")


def _verdict(console: "Console", decision: "Decision", yes: str, no: str, text: str) -> None:
    from rich.table import Table

    from grantpath.engine.cli.fitted_cells import broken

    verdict, style = (yes, "bold green") if decision else (no, "bold red")
    reasons = f"because {'; '.join(decision.because)}" if decision else f"missing {'; '.join(decision.missing)}"
    grid = Table.grid(padding=(0, 1))
    head = styled(f"    {verdict:<7}", style)
    width = console.width - head.cell_len - 1
    grid.add_row(head, broken(styled(text), width))
    grid.add_row("", broken(styled(reasons, "dim"), width))
    console.print(grid)


def stories(authorizer: "Authorizer", console: "Console") -> None:
    """Three checks with their paths, a `who` and a `which`, on the estate."""
    questions: list[tuple[str, tuple[str, str, str]]] = [
        ("Allowed, with its path", STORIES["allowed"]),
        ("Denied by a DENY, with the edge that won", STORIES["denied_by_deny"]),
        ("Not allowed because a grant is missing, with the nearest remedy", STORIES["denied_missing"]),
    ]
    for title, (subject, operation, object_) in questions:
        _explain(authorizer, console, title, subject, operation, object_)
    operation, object_ = STORIES["who"]
    _list(console, f"who {operation} {object_}", list(authorizer.who(operation, object_)), "users")
    type_, subject, operation = STORIES["which"]
    _list(console, f"which {type_} {subject} {operation}", list(authorizer.which(type_, subject, operation)), "tables")


def _explain(
    authorizer: "Authorizer", console: "Console", title: str, subject: str, operation: str, object_: str
) -> None:
    console.print(styled(title, "bold"))
    _command(console, f"explain {subject} {operation} {object_}")
    explanation = authorizer.explain(subject, operation, object_)
    decision = explanation.decision
    console.print(styled("  allowed", "bold green") if decision else styled("  not allowed", "bold red"))
    lines(console, "because", decision.because, "green")
    lines(console, "missing", decision.missing, "yellow")
    lines(console, "path", explanation.paths[:PATHS], "cyan")
    console.print()


def _command(console: "Console", text: str) -> None:
    console.print(styled(f"  $ grantpath {text}", "dim"), soft_wrap=True)


def _list(console: "Console", command: str, refs: list[str], what: str) -> None:
    _command(console, command)
    more = [f"and {len(refs) - SHOWN} more"] if len(refs) > SHOWN else []
    lines(console, f"{len(refs)} {what}:", [", ".join([*refs[:SHOWN], *more])], "bold")
    console.print()
