"""The commands `policy list`, `show`, `validate`, `upgrade`, `verify` and `write`."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grantpath.engine.cli.change.change_commands import ShowEffects
from grantpath.engine.cli.change.effects_view import show_effects
from grantpath.engine.cli.context import OF_ROOTS, CommandContext, Commands, Operator, command
from grantpath.engine.cli.output import counting, emit, err, out, show_lists, styled
from grantpath.graph.messages import counted, how_many

if TYPE_CHECKING:  # its modules take long to import
    from grantpath.engine.transfer.policy_upgrade import Upgrade

Name = Annotated[str, typer.Argument(metavar="NAME", help="a built-in policy, or the path of a file")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="print what would change, without changing anything")]
RootName = Annotated[str | None, typer.Argument(metavar="[ROOT]", help="the root, e.g. metalake:ml; default: --root")]
File = Annotated[str, typer.Argument(metavar="FILE", help="the policy file")]


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    policy = typer.Typer(
        cls=Commands,
        help="List, show, validate, upgrade and verify policies: the types, privileges and operations of a system.",
        rich_markup_mode="rich",
    )
    app.add_typer(policy, name="policy", rich_help_panel="Policies")
    policy.callback(invoke_without_command=True)(_options)
    command(policy, "Commands", "grantpath policy list", name="list", unused=OF_ROOTS)(list_policies)
    command(policy, "Commands", "grantpath policy show gravitino", unused=OF_ROOTS)(show)
    command(policy, "Commands", "grantpath policy validate ./mine.yaml", unused=OF_ROOTS)(validate)
    command(policy, "Commands", "grantpath policy upgrade ./mine.yaml --root metalake:ml")(upgrade)
    command(policy, "Commands", "grantpath policy verify metalake:ml")(verify)
    command(policy, "Commands", "grantpath policy write metalake:ml")(write)


def _options(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


def list_policies(session: CommandContext) -> None:
    """List the built-in policies."""
    from grantpath.engine.policy import policy as policies
    from grantpath.engine.policy.schema import BUILT_IN

    loaded = [policies.load(path.stem) for path in sorted(BUILT_IN.glob("*.yaml"))]
    if session.json:
        answer = [{"policy": each.name, "title": each.file.title, "root": each.root_type} for each in loaded]
        emit({"answer": answer, "complete": True})
        return
    width = max(len(each.name) for each in loaded)
    for each in loaded:
        out().print(styled(f"{each.name:<{width}}", "bold"), styled(f"  {each.file.title}"), sep="")


def show(session: CommandContext, name: Name) -> None:
    """Show a policy as text; with --json, its whole source."""
    from grantpath.engine.policy import policy as policies

    policy = policies.load(name)
    if session.json:
        emit(json.loads(policy.source))
    else:
        from grantpath.engine.cli.admin.policy_view import show_policy

        show_policy(policy)


def validate(session: CommandContext, file: File) -> None:
    """Check a policy file. An error names file, line, key and remedy.

    A warning names a valid entry that may not do what its author expects. Exit code 0 if the policy is valid, otherwise
    2.
    """
    from grantpath.engine.policy import policy as policies

    # here, a name without a folder is a file, not a built-in policy
    path = str(Path(file).absolute())
    policy = policies.load(path)
    warnings = policies.warnings(path)
    counts = {
        "types": len(policy.names.types),
        "privileges": len(policy.names.privileges),
        "operations": len(policy.names.operations),
    }
    if session.json:
        emit({"valid": True, "policy": policy.name, **counts, "warnings": warnings})
        return
    words = f" {file}: the policy {policy.name} with {how_many(counts)}"
    out().print(styled("ok", "bold green"), styled(words), sep="")
    for line in warnings:
        err().print(styled("warning: ", "bold yellow"), styled(line), sep="")


def upgrade(
    session: CommandContext, name: Name, by: Operator = None, dry_run: DryRun = False, effects: ShowEffects = False
) -> int:
    """Replace the policy of a root, after checking every fact of the root against the new policy.

    If facts violate it, they are listed and nothing is changed. --dry-run lists these facts, and the built-ins, grants
    and privileges that would be added, removed or renamed. --dry-run --effects also lists who would gain and who would
    lose which privileges and operations on what. Exit code 0 if the root has the policy now (with --dry-run:
    if it could have it), otherwise 2.
    """
    from grantpath.engine.policy import policy as policies
    from grantpath.engine.transfer.policy_upgrade import upgrade as upgrade_root

    if effects and not dry_run:
        raise typer.BadParameter("--effects needs --dry-run")
    policy = policies.load(name)
    with session.with_its_policy().open() as authorizer:
        with counting() as count:
            done = upgrade_root(authorizer, policy, by, dry_run, count)
        found = None
        if effects and not done.problems:
            after = policy if done.changed else None
            found = authorizer.effects_of(done.added, done.removed, at=done.revision, policy=after)
    if session.json:
        summary = {"changed": done.changed, "policy": policy.name, "facts": done.facts, "revision": done.revision}
        told = {} if found is None else {"effects": found.model_dump(mode="json")}
        lists = {key: getattr(done, key) for key in ("problems", "renamed", "added", "removed")}
        emit({**summary, "hash": done.hash, **({"dry_run": True, **lists} if dry_run else {}), **told})
    else:
        _show_upgrade(policy.name, done, dry_run)
        if found is not None:
            show_effects(found)
    return 2 if done.problems else 0


def verify(session: CommandContext, name: RootName = None) -> int:
    """Compare the copy of the policy in the graph, which is for Neo4j Browser, with the policy of the root.

    Lists each difference. The copy differs if it was edited by hand, or if an older grantpath created the root.
    `grantpath policy write` writes the copy again. Exit code 0 if both are equal, 1 if they differ.
    """
    from grantpath.engine.tenants import policy_graph

    with _named(session, name).open() as authorizer:
        found = policy_graph.differences(authorizer.store, authorizer.tenant, authorizer.policy)
        tenant, policy = authorizer.tenant, authorizer.policy.name
    if session.json:
        emit({"equal": not found, "root": tenant, "policy": policy, "differences": found})
        return 1 if found else 0
    verdict = styled("differs", "bold red") if found else styled("equal", "bold green")
    what = (
        f"{counted(len(found), 'differences')}; `grantpath policy write {tenant}` writes it again"
        if found
        else "the same as the policy"
    )
    out().print(verdict, styled(f" the policy {policy} in the graph of {tenant}: {what}"), sep="")
    show_lists([(" ", found)])
    return 1 if found else 0


def write(session: CommandContext, name: RootName = None) -> None:
    """Write the copy of a root's policy in the graph again, for Neo4j Browser.

    Creating a root and `policy upgrade` write it automatically. Use this command for a root that an older grantpath
    created, and if `policy verify` finds differences. Decisions of grantpath do not read the copy.
    """
    from grantpath.engine.tenants import policy_graph

    with _named(session, name).open() as authorizer:
        nodes, edges = policy_graph.write(authorizer.store, authorizer.tenant, authorizer.policy)
        tenant, policy = authorizer.tenant, authorizer.policy.name
    if session.json:
        emit({"root": tenant, "policy": policy, "nodes": nodes, "edges": edges})
        return
    what = f" the policy {policy} into the graph of {tenant}: {nodes:,} nodes, {edges:,} relationships"
    out().print(styled("wrote", "bold green"), styled(what), sep="")


def _named(session: CommandContext, root: str | None) -> CommandContext:
    """The session with the root of the argument, and with the root's own policy. Raises InvalidInput if the command
    line names two roots or another policy."""
    if root is not None:
        session.require_unused("root", on=f"a command that names the root {root}")
    return replace(session.with_its_policy(), root=root or session.root)


def _show_upgrade(name: str, done: "Upgrade", dry_run: bool) -> None:
    checked = f" {name}, {counted(done.facts, 'facts')} checked; revision {done.revision}"
    if done.problems:
        violations = f" {name}: facts that violate it: {len(done.problems):,}; revision {done.revision}"
        out().print(styled("would be refused", "bold red"), styled(violations), sep="")
    else:
        changed = "would be upgraded to" if dry_run else "upgraded"
        what = changed if done.changed else "the root already has this policy"
        out().print(styled(what, "bold green"), styled(checked), sep="")
    show_lists([(" ", done.problems), ("-", done.removed), ("+", done.added)])
    for old, new in done.renamed.items():
        out().print(styled(f"  {old} is renamed to {new}"))
