"""Generates the tables of the policies' pages from the YAML. Run it as a module to update the pages.

In a page, each table is between `<!-- table: NAME -->` and `<!-- end -->`.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from grantpath.engine.policy.extend import split
from grantpath.engine.policy.policy import Policy, load
from grantpath.engine.policy.schema import ConditionEntry, WithEntry, json_schema

PAGES = Path(__file__).parents[2] / "docs" / "policies"
SCHEMA = PAGES.parent / "policy.schema.json"
MARKED = re.compile(r"(<!-- table: ([a-z -]+) -->\n).*?(<!-- end -->)", re.DOTALL)

Rows = list[tuple[str, ...]]


def tables(policy: Policy) -> dict[str, Rows]:
    """The tables by name: a header and rows, without empty columns."""
    made: dict[str, Rows] = {
        "types": _types(policy),
        "built-in": _builtins(policy),
        "privileges": _privileges(policy),
        "in effect": [("on", "in effect if"), *((_names(on), f"`{if_}`") for on, if_ in policy.file.in_effect.items())],
        "named conditions": _definitions(policy),
        "operations": _operations(policy),
        "other names": [("name", "stands for"), *((f"`{a}`", f"`{name}`") for a, name in policy.file.aliases.items())],
        "changes": _changes(policy),
    }
    return {name: _without_empty_columns(rows) for name, rows in made.items() if len(rows) > 1}


def markdown(rows: Rows) -> str:
    """The table in Markdown."""
    header, *body = rows
    lines = [header, tuple("---" for _ in header), *body]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def tables_in(page: Path) -> dict[str, str]:
    """The marked tables of a page."""
    return {
        found[2]: found[0].removeprefix(found[1]).removesuffix(found[3])
        for found in MARKED.finditer(page.read_text(encoding="utf-8"))
    }


def schema_text() -> str:
    """The text of docs/policy.schema.json."""
    return json.dumps(json_schema(), indent=2) + "\n"


def update(page: Path) -> None:
    """Updates the tables in the page of a policy."""
    made = tables(load(page.stem))
    text = page.read_text(encoding="utf-8")
    text = MARKED.sub(lambda found: found[1] + markdown(made[found[2]]) + found[3], text)
    page.write_text(text, encoding="utf-8")


def _without_empty_columns(rows: Rows) -> Rows:
    kept = [at for at in range(len(rows[0])) if any(row[at] for row in rows[1:])]
    return [tuple(row[at] for at in kept) for row in rows]


def _names(names: str | list[str]) -> str:
    return " ".join(f"`{name}`" for name in (split(names) if isinstance(names, str) else names))


def _types(policy: Policy) -> Rows:
    rows: Rows = [("type", "in", "kind", "owned by", "members")]
    for name, entry in policy.file.types.items():
        kind = "" if entry.kind == "object" else entry.kind.replace("_", " ")
        above = _names(entry.in_) if entry.in_ else "the root"
        rows.append((f"`{name}`", above, kind, _names(entry.owned_by), _names(policy.file.members.get(name, []))))
    return rows


def _builtins(policy: Policy) -> Rows:
    rows: Rows = [("subject", "holds", "owns", f"granted on the {policy.root_type}", "held by every", "notes")]
    for name, entry in policy.builtins.items():
        held = ", ".join(f"`{type_}`" for type_ in entry.held_by_every)
        notes = f"omitted from answers; only a {', '.join(entry.members)} can hold it" if entry.hidden else ""
        rows.append((f"`{name}`", _names(entry.holds), _names(entry.owns), _names(entry.allow), held, notes))
    return rows


def _privileges(policy: Policy) -> Rows:
    rows: Rows = [("privilege", "granted on", "in effect on", "in effect if", "implied by", "another name of")]
    for name, entry in policy.names.privileges.items():
        effective = "" if entry.effective is None else _names(entry.effective)
        condition = f"`{entry.in_effect}`" if entry.in_effect else ""
        above = _names([source for source in policy.names.sources[name] if source != name])
        alias = f"`{entry.alias_of}`" if entry.alias_of else ""
        rows.append((f"`{name}`", _names(entry.on), effective, condition, above, alias))
    return rows


def _definitions(policy: Policy) -> Rows:
    rows: Rows = [("name", "on", "means")]
    for name, definition in policy.file.define.items():
        by_type = {"": definition} if isinstance(definition, str) else definition
        rows += [(f"`{name}`", _names(on) if on else "", f"`{text}`") for on, text in by_type.items()]
    return rows


def _operations(policy: Policy) -> Rows:
    rows: Rows = [("operation", "on", "second objects", "condition", "notes")]
    for types, entries in policy.file.operations.items():
        for names, entry in entries.items():
            rows.append((_names(names), _names(types), _second(entry), _condition(entry), ", ".join(_notes(entry))))
    return rows


def _changes(policy: Policy) -> Rows:
    rows: Rows = [("change", "of", "second objects", "condition for the actor")]
    for kind in policy.names.change_kinds:
        for types, entry in policy.names.rules(kind).items():
            rows.append((f"`{kind}`", _names(types), _second(entry), _condition(entry)))
    return rows


def _condition(entry: ConditionEntry) -> str:
    new = [f"; for a {on} that the same batch adds, `{if_}` instead" for on, if_ in entry.if_new.items()]
    besides = [f"; with `{key}`, also `{second.if_}`" for key, second in entry.with_.items() if second.if_]
    return f"`{entry.if_}`{''.join([*besides, *new])}"


def _second(entry: ConditionEntry) -> str:
    return ", ".join(_one_second(key, second) for key, second in entry.with_.items())


def _one_second(key: str, second: WithEntry) -> str:
    notes = (
        ["optional"] * second.optional
        + ["need not exist"] * second.new
        + [f"in the same `{second.inside}`"] * bool(second.inside)
    )
    return f"`{key}={second.type}:...`" + (f" ({', '.join(notes)})" if notes else "")


def _notes(entry: ConditionEntry) -> Iterator[str]:
    if entry.new:
        yield "the object need not exist yet"
    if entry.all_roles:
        yield "decided on all held roles together"
    if entry.returns:
        yield f"shows the {entry.returns}"


if __name__ == "__main__":
    for each in sorted(PAGES.glob("*.md")):
        update(each)
    SCHEMA.write_text(schema_text())
