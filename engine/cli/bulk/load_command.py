"""The command `load`."""

import sys
from dataclasses import replace as replace_fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grantpath.engine.cli.change.change_commands import PANEL, ShowEffects
from grantpath.engine.cli.change.effects_view import show_effects
from grantpath.engine.cli.context import CommandContext, Create, Operator, command, split_names
from grantpath.engine.cli.output import counting, emit, note, out, signed, styled, warn
from grantpath.graph.errors import InvalidInput
from grantpath.graph.messages import how_many, short

if TYPE_CHECKING:  # the modules of a load take long to import
    from grantpath.engine.cli.command_authorizer import CommandAuthorizer
    from grantpath.engine.transfer.import_plan import Consent, Plan
    from grantpath.engine.transfer.importer import LoadReport

Directory = Annotated[Path, typer.Argument(metavar="DIR", help="the folder with the tables")]
Replace = Annotated[bool, typer.Option("--replace", help="remove what the folder does not list")]
Only = Annotated[
    list[str],
    typer.Option(
        "--only", metavar="TABLE,TABLE", help="load only these tables; the facts of the others stay as they are"
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="list what would be added and removed, without changing anything")
]
Yes = Annotated[bool, typer.Option("--yes", help="with --replace: remove more than a tenth of a table without asking")]


def register(app: typer.Typer) -> None:
    """Adds the command."""
    command(app, PANEL, "grantpath load ./estate --root metalake:tpc --policy gravitino --create")(load)


def load(
    session: CommandContext,
    directory: Directory,
    replace: Replace = False,
    only: Only = [],  # noqa: B006
    dry_run: DryRun = False,
    effects: ShowEffects = False,
    yes: Yes = False,
    create: Create = False,
    by: Operator = None,
) -> None:
    """Load a folder of tables into a root: the whole folder, or nothing.

    The folder has one .parquet, .csv or .jsonl file (.ndjson, .json; text also as .gz or .zst), or one folder of such
    part files, per table: subjects(ref), objects(ref), members(member, of), owners(object, owner), grants(effect,
    privilege, object, subject), tags(object, tag); members and grants can have a column until. Another file that could
    be a table is refused. Loading it a second time changes nothing.
    A load only adds; with --replace it also removes everything that the folder does not list, and prints what it
    removes. If that is more than a tenth of a table, or if a table file is missing, it asks first; without a terminal,
    --yes must confirm it. --create creates a new root; with --dry-run, none is left. --dry-run --effects also lists
    who would gain and who would lose which privileges and operations on what.
    --only subjects,members loads these two tables and no other one, e.g. those of an identity provider. With
    --replace, it removes the subjects and memberships that they do not list; a subject with grants or ownerships stays,
    and is printed.

    A folder that `grantpath dump` wrote is restored with its policy, revision, history, refused attempts and request
    ids. --create restores it as a new root with the dumped name, or with the name that --root gives.
    """
    from grantpath.engine.policy import policy as policies

    if effects and not dry_run:
        raise typer.BadParameter("--effects needs --dry-run")
    from grantpath.engine.transfer.dump_meta import read_meta
    from grantpath.engine.transfer.table_files import chosen

    tables = chosen(split_names(only)) if only else None
    policy = None
    if meta := read_meta(directory):
        policy = policies.from_source(meta.policy.source)
        session = replace_fields(session, root=_root_of_dump(session, directory, meta.root))
    with session.open(create, policy=policy, dry_run=dry_run) as authorizer:
        report = _loaded(authorizer, directory, replace, tables, dry_run, yes, by, effects)
        found = None
        if report.delta:
            found = authorizer.effects_of(report.delta.added, report.delta.removed, at=report.revision)
    if session.json:
        emit({**_as_json(report), **({} if found is None else {"effects": found.model_dump(mode="json")})})
    else:
        _show(report, replace)
        if found is not None:
            show_effects(found)


def _root_of_dump(session: CommandContext, directory: Path, dumped: str) -> str:
    """The root into which a dump is loaded. Raises InvalidInput if a variable or a profile names another root than the
    dumped one: only --root says that the dump is meant for another one."""
    from grantpath.engine.tenants.registry import named_like

    chosen = next((each for each in session.settings if each.key == "root"), None)
    if chosen is None or chosen.value is None:
        return dumped
    if chosen.source == "--root":
        return chosen.value
    if not named_like([dumped], chosen.value):
        raise InvalidInput(
            f"{short(str(directory))} is a dump of {dumped}, but {chosen.source} names {short(chosen.value)}; write "
            f"--root {dumped}, or --root {short(chosen.value)} to load it into that root"
        )
    return dumped


def _loaded(
    authorizer: "CommandAuthorizer",
    directory: Path,
    replace: bool,
    only: list[str] | None,
    dry_run: bool,
    yes: bool,
    by: str | None,
    list_facts: bool,
) -> "LoadReport":
    from grantpath.engine.transfer.importer import load as load_directory

    asks = sys.stdin.isatty() and not yes
    seen: list[Plan] = []

    def look(plan: "Plan") -> bool:
        seen.append(plan)
        if asks or yes or not plan.needs_consent:  # otherwise the error contains the list
            for line in plan.lines():
                (warn if asks else note)(f"removing {line}", "yellow")
        return yes

    def run(consent: "Consent") -> "LoadReport":
        with counting() as count:
            return load_directory(
                authorizer,
                directory,
                count,
                replace,
                dry_run=dry_run,
                consent=consent,
                by=by,
                list_facts=list_facts,
                only=only,
            )

    try:
        return run(look)
    except InvalidInput:
        if not (asks and seen and seen[-1].needs_consent):  # it is an error of another kind
            raise
    # ask without holding the root's lock, which blocks all writers
    if not typer.confirm("Remove all of these?", err=True):
        raise InvalidInput("nothing was changed")
    agreed = seen[-1].removed.lists()
    return run(lambda plan: plan.removed.lists() == agreed)


def _as_json(report: "LoadReport") -> dict[str, Any]:
    summary = {
        "rows": report.rows,
        "duplicates": report.duplicates,
        "changed": report.changed,
        "restored": report.restored,
        "note": report.note,
        "revision": report.revision,
        "added": report.added,
        "removed": report.removed,
        "hash": report.hash,
        "kept_grants": report.kept_grants,
        "kept_memberships": report.kept_memberships,
        "staying": report.staying,
        "past": report.past,
    }
    if report.plan:
        summary |= {
            "dry_run": True,
            "would_add": report.plan.added.lists(),
            "would_remove": report.plan.removed.lists(),
        }
    return summary


def _show(report: "LoadReport", replace: bool) -> None:
    text = how_many(report.rows) + ";"
    if report.changed:
        text += f" {report.added:,} added,{f' {report.removed:,} removed,' if replace else ''}"
    if report.duplicates:
        text += f" {how_many({f'duplicate {table}': count for table, count in report.duplicates.items()})},"
    if report.restored:
        text += " with history, refused attempts and request ids,"
    if report.plan:
        verdict = f"would {'restore' if report.restored else 'load'}" if report.changed else "nothing new"
    else:
        verdict = ("restored" if report.restored else "loaded") if report.changed else "nothing new"
    if report.note:
        why = f"history, refused attempts and request ids are not restored: {report.note}"
        warn(why, "yellow")
    out().print(styled(verdict, "bold green"), styled(f" {text} revision {report.revision}"), sep="")
    for told in filter(None, (report.taken_over, report.stays, report.omitted)):
        out().print(styled(f"  {told}", "yellow"))
    if report.plan:
        for sign, listing in (("+", report.plan.added), ("-", report.plan.removed)):
            for line in listing.lines():
                out().print(signed(f"  {sign}", line))
