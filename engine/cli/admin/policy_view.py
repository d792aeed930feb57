"""Prints a policy as text: the tree of types, privileges with their scopes, conditions, changes."""

from collections.abc import Iterable, Mapping

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from grantpath.engine.cli.output import page, styled
from grantpath.engine.policy.extend import split
from grantpath.engine.policy.policy import Policy
from grantpath.engine.policy.schema import ConditionEntry, PolicyFile, PrivilegeEntry, TagEntry, TypeEntry

LEFT = 34  # the width of names


def show_policy(policy: Policy) -> None:
    """Prints the whole policy."""
    console = page()
    file = policy.file
    console.print(Text(file.policy, "bold"), styled(f" {_flat(file.title)}"), sep="")
    console.print(styled(_flat(file.source), "dim"))
    _heading(console, "Types", "each in its parent type, with the types that can own it")
    console.print(_tree(policy))
    if file.members:
        _heading(console, "Members", "the types that can be in a group, or hold a role")
        console.print(_rows((container, ", ".join(members)) for container, members in file.members.items()))
    if file.tags:
        _heading(console, "Tags", "what can be tagged with them")
        console.print(_rows((tag, _tagged(entry)) for tag, entry in file.tags.items()))
    if file.builtin:
        _heading(console, "Built in", "subjects that exist in every root")
        console.print(_rows((ref, _builtin(file, ref)) for ref in file.builtin))
    _heading(console, "Privileges", _grant_rules(file))
    console.print(_rows(_privileges(file)))
    if file.define:
        _heading(console, "Definitions", "names that conditions use; `load(TYPE)` is the definition for that type")
        console.print(_rows(_definitions(file)))
    for types, operations in file.operations.items():
        _heading(console, f"Operations on {types}", "")
        console.print(_rows((names, _condition(entry)) for names, entry in operations.items()))
    _heading(console, "Changes", _creating(file))
    console.print(_rows(_changes(policy)))


def _tagged(entry: TagEntry) -> str:
    return f"{', '.join(entry.on)}{', and what is inside' if entry.inherited else ''}"


def _heading(console: Console, title: str, note: str) -> None:
    console.print()
    console.print(Text(title, "bold"), styled(f"  {note}", "dim"), sep="")


def _flat(text: str) -> str:
    """The text on one line."""
    return " ".join(text.split())


def _rows(rows: Iterable[tuple[str, str]]) -> Group:
    """Names with their meanings; a name that is too long for its column has its own line."""
    shown: list[RenderableType] = []
    for left, right in rows:
        name = Padding(Text(left, "cyan"), (0, 0, 0, 2))
        if len(left) > LEFT:
            shown.append(name)
            name = Padding("")
        row = Table.grid(padding=(0, 2))
        row.add_column(width=LEFT + 2)
        row.add_column(overflow="fold")
        row.add_row(name, styled(_flat(right)))
        shown.append(row)
    return Group(*shown)


def _tree(policy: Policy) -> Tree:
    """The types as a tree."""
    types = policy.file.types
    tree = Tree(_type(policy.root_type, types[policy.root_type]), guide_style="dim")
    branches = {policy.root_type: tree}
    waiting = [name for name in types if name != policy.root_type]
    while waiting:
        for name in list(waiting):
            parent = next((each for each in split(types[name].in_ or "") if each in branches), None)
            if parent is not None:
                branches[name] = branches[parent].add(_type(name, types[name]))
                waiting.remove(name)
    return tree


def _type(name: str, entry: TypeEntry) -> Text:
    notes = [] if entry.kind == "object" else [f"a {entry.kind.replace('_', ' ')}"] * (entry.kind != name)
    notes += [f"in {entry.in_}"] if "," in (entry.in_ or "") else []
    notes += [f"owned by {', '.join(entry.owned_by)}"] if entry.owned_by else []
    return Text.assemble((name, "cyan"), (f"  {'; '.join(notes)}" if notes else "", "dim"))


def _builtin(file: PolicyFile, ref: str) -> str:
    entry = file.builtin[ref]
    parts = {
        "holds": ", ".join(entry.holds),
        "owns each": ", ".join(entry.owns),
        "granted on the root:": ", ".join(entry.allow),
        "held by every": ", ".join(entry.held_by_every),
        "given to": ", ".join(entry.members),
        "omitted from answers": " " if entry.hidden else "",
    }
    return "; ".join(f"{key} {value}".strip() for key, value in parts.items() if value)


def _grant_rules(file: PolicyFile) -> str:
    rules = file.grants
    parts = [f"granted to {', '.join(rules.to)}"]
    denying = {True: "DENY overrides every ALLOW", False: "no DENY"}
    cascading = "DENY overrides every ALLOW, also of the privileges that imply the denied one"
    parts.append(cascading if rules.deny == "cascades" else denying[rules.deny])
    parts.append("a grant applies to everything below" if rules.inherit else "a grant applies to its object only")
    parts += ["also on names not yet created"] if rules.on_missing else []
    parts += ["a single held role must suffice"] if file.ask.one_role else []
    return "; ".join(parts)


def _privileges(file: PolicyFile) -> Iterable[tuple[str, str]]:
    yield from ((name, _scope(file, entry)) for name, entry in file.privileges.items())
    yield from (("ladder", f"{' < '.join(ladder)}: each implies the ones before it") for ladder in file.ladders)
    yield from ((f"in effect on {type_}", condition) for type_, condition in file.in_effect.items())


def _scope(file: PolicyFile, entry: PrivilegeEntry) -> str:
    if entry.alias_of:
        return f"another name of {entry.alias_of}"
    parts = [f"on {', '.join(entry.on)}"] if entry.on else ["cannot be granted"]
    parts += [f"in effect on {', '.join(entry.effective)}"] if entry.effective is not None else []
    parts += [f"implies {', '.join(entry.implies)}"] if entry.implies else []
    if entry.inherit is not None and entry.inherit != file.grants.inherit:
        parts.append("inherited" if entry.inherit else "not inherited")
    parts += [f"in effect when {entry.in_effect}"] if entry.in_effect else []
    parts += ["granting it makes the grantee a member"] if entry.membership else []
    return "; ".join(parts)


def _definitions(file: PolicyFile) -> Iterable[tuple[str, str]]:
    for name, value in file.define.items():
        if isinstance(value, str):
            yield name, value
        else:
            yield from ((f"{name}({type_})", condition) for type_, condition in value.items())


def _condition(entry: ConditionEntry) -> str:
    parts = [entry.if_]
    for key, second in entry.with_.items():
        optional = ", optional" if second.optional else ""
        asked = f", if given: {second.if_}" if second.if_ else ""
        parts.append(f"with {key}={second.type}:NAME{optional}{asked}")
    parts += [f"for a {on} that the same batch adds instead: {if_}" for on, if_ in entry.if_new.items()]
    parts += [f"shows {entry.returns}"] if entry.returns else []
    return "; ".join(parts)


def _creating(file: PolicyFile) -> str:
    if file.creating == ["owner"]:
        return "the creator of an object owns it"
    return f"the creator of an object gets {' or '.join(file.creating) or 'nothing'}{' on it' * bool(file.creating)}"


def _changes(policy: Policy) -> Iterable[tuple[str, str]]:
    for kind in policy.names.change_kinds:
        rules: Mapping[str, ConditionEntry] = policy.names.rules(kind)
        yield from ((f"{kind} {types}", _condition(entry)) for types, entry in rules.items())
