"""Cases of cases/*.yaml: a query runs in a small world, and its rows and all that it changes must be those listed.

A world has two tenants with the same facts, so that a query that reaches the other one is noticed; facts after `other`
are only in that one. `;` separates facts: entities (`table:c.t`, with `?` a name that was never created; `table:c.t <
catalog:c` is below its parent) and edges (`user:u ALLOW SELECT table:c.t`, `user:u MEMBER_OF group:g`). Other nodes are
maps (`Change: {revision: 1}`, three alike as `Change * 3`). What is removed and added has the same form. A text that
begins with @ names the node whose id in the database is meant, `now` is a time of the last hour, and `uuid` is any new
id. `user:u MEMBER_OF group:g until E` is an edge that ends; the clock is at second 5. Columns that are null are left
out.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from neo4j.time import DateTime

from grantpath import cypher
from grantpath.graph.guard.store import Store

from .probe import Probe, always

FILES = sorted((Path(__file__).parent / "cases").glob("*.yaml"))
ROOT, OTHER = "metalake:m", "metalake:other"
SUBJECTS = ("user", "group", "role")
IDS = ("node", "nodes", "names", "ends", "edges")  # columns and properties that hold ids of the database
UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
BUILD = """CALL () { UNWIND $entities AS row
  CREATE (made:Entity:$(row.labels)) SET made = row.properties }
CALL () { UNWIND $edges AS row
  MATCH (start:Entity {root: row.root, ref: row.start}) MATCH (end:Entity {root: row.root, ref: row.end})
  CREATE (start)-[made:$(row.type)]->(end) SET made = row.properties }
CALL () {
  UNWIND range(1, size($nodes)) AS number CREATE (made)
  // the database gives the numbers of removed nodes again, in any order: here they are in the order of the case
  WITH made ORDER BY toInteger(substring(elementId(made), 39)) WITH collect(made) AS made
  UNWIND range(0, size(made) - 1) AS at WITH made[at] AS node, $nodes[at] AS row
  SET node:$(row.label) SET node = row.properties }
"""
STATE = """CALL () { MATCH (node)
  WITH node, toInteger(substring(elementId(node), 39)) AS id
  RETURN collect({id: id, labels: labels(node), properties: properties(node)}) AS nodes }
CALL () { MATCH (start)-[edge]->(end)
  WITH edge, [each IN [elementId(edge), elementId(start), elementId(end)] | toInteger(substring(each, 39))] AS ids
  RETURN collect({id: ids[0], start: ids[1], end: ids[2], type: type(edge), name: edge.privilege,
    until: edge.until, root: edge.root}) AS edges }
RETURN nodes, edges"""


def probes(store: Store) -> Iterator[Probe]:
    """One probe of each case."""
    for file in FILES:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
        for number, case in enumerate(content["cases"], 1):
            given = [*([] if case.get("replaces") else content["world"]), *case.get("given", [])]
            rows = _plain(case.get("rows", []), case.get("ordered", False))
            wanted = rows, *(sorted(_texts(case, *names)) for names in (("removed", "also removed"), ("added",)))
            what = f"case {number} of {file.stem}"
            yield Probe(what, case["query"], partial(_outcome, store, case, given), always(wanted))


def _outcome(store: Store, case: Mapping[str, Any], given: list[Any]) -> tuple[list[Any], list[str], list[str]]:
    store.execute("MATCH (node) DETACH DELETE node", {})
    before = _State(store.execute(BUILD + STATE, _world(given))[0])
    query = cypher.load(case["query"])
    parameters = {"root": ROOT, "now": 5, **before.with_ids(case.get("with", {}))}
    rows = query.run(store.execute, **{name: parameters[name] for name in query.parameters})
    after = _State(store.execute(STATE, {})[0])
    found = [after.shown(dict(row)) for row in rows]
    if case.get("sizes"):  # of the lists of each row, and how many rows
        found = [{name: len(value) for name, value in row.items() if isinstance(value, list)} for row in found]
    lost, new = (
        sorted(text + (f" * {count}" if count > 1 else "") for text, count in changed.items())
        for changed in (before.texts - after.texts, after.texts - before.texts)
    )
    return _plain(found, case.get("ordered", False)), lost, new


def _texts(case: Mapping[str, Any], *names: str) -> list[str]:
    return [text for name in names if name in case for text in case[name].split("; ")]


def _world(given: list[Any]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {"entities": [], "edges": [], "nodes": []}
    lines = [each for line in given for each in (line.split("; ") if isinstance(line, str) else [line])]
    for root in (ROOT, OTHER):
        for line in lines:
            if isinstance(line, dict):
                [(label, properties)] = line.items()
                label, _, count = label.partition(" * ")
                if properties.get("root", root) == root:
                    node = {"label": label, "properties": {"root": root, **properties}}
                    found["nodes"] += [node] * int(count or 1)
                continue
            if line.startswith("other ") and root == ROOT:
                continue
            line, _, end = line.partition(" until ")
            first, *others = line.removeprefix("other ").split()
            if not others or others[0] == "<":
                found["entities"].append(_entity(root, first))
            if others:
                type_ = "CHILD_OF" if others[0] == "<" else others[0]
                properties = {"until": end, "root": root} if end else {}
                properties |= {"privilege": others[1]} if len(others) == 3 else {}
                ends = {"start": first.rstrip("?"), "end": others[-1]}
                found["edges"].append({"root": root, "type": type_, "properties": properties, **ends})
    return found


def _entity(root: str, text: str) -> dict[str, Any]:
    ref, exists = text.rstrip("?"), False if text.endswith("?") else None
    type_, _, path = ref.partition(":")
    properties = {"root": root, "ref": ref, "type": type_, "name": path.split(".")[-1], "exists": exists}
    labels = ["Subject" if type_ in SUBJECTS else "Securable", type_.title()]
    return {"labels": labels, "properties": {name: value for name, value in properties.items() if value is not None}}


class _State:
    """All nodes and edges, as texts."""

    def __init__(self, row: Mapping[str, Any]) -> None:
        nodes = {node["id"]: node for node in row["nodes"]}
        self._names = {id_: _name(node) for id_, node in nodes.items()}
        self._edges = {edge["id"]: " ".join(filter(None, self._parts(edge))) for edge in row["edges"]}
        self.texts = Counter([*map(self._node, nodes.values()), *self._edges.values()])

    def _parts(self, edge: Mapping[str, Any]) -> tuple[str, str, str | None, str, str]:
        return self._names[edge["start"]], edge["type"], edge["name"], self._names[edge["end"]], _end(edge)

    def _node(self, node: Mapping[str, Any]) -> str:
        properties, labels = dict(node["properties"]), sorted(set(node["labels"]) - {"Entity"})
        usual = _entity(properties.get("root", ""), properties.get("ref", ""))
        if "Entity" in node["labels"] and labels == sorted(usual["labels"]):
            name = _name(node) + ("?" if properties.get("exists") is False else "")
            names = {*properties, *usual["properties"]}
            rest = {
                each: properties.get(each) for each in names if usual["properties"].get(each) != properties.get(each)
            }
            rest.pop("exists", None)
        else:
            name = _name(node)
            rest = {each: value for each, value in properties.items() if each not in ("root", "id")}
        shown = self.shown(rest)
        return " ".join([name, *(f"{each}={shown[each]}" for each in sorted(shown))])

    def shown(self, value: Any, names: Mapping[int, str] | None = None) -> Any:
        """A value of a row or a property, with texts for times and ids."""
        if isinstance(value, dict):
            ids = {each: self._edges if each == "edges" else self._names for each in IDS}
            return {each: self.shown(inner, ids.get(each)) for each, inner in value.items()}
        if isinstance(value, list):
            return [self.shown(inner, names) for inner in value]
        if isinstance(value, DateTime):
            at = value.to_native()
            return "now" if abs(at - datetime.now(UTC)) < timedelta(hours=1) else at.strftime("%Y-%m-%d")
        if isinstance(value, str) and UUID.fullmatch(value):
            return "uuid"
        return names.get(value, value) if names and isinstance(value, int) else value

    def with_ids(self, value: Any) -> Any:
        """A parameter, with database ids for texts that begin with @."""
        if isinstance(value, dict):
            return {each: self.with_ids(inner) for each, inner in value.items()}
        if isinstance(value, list):
            return [self.with_ids(inner) for inner in value]
        if isinstance(value, str) and value.startswith("@"):
            return next(id_ for id_, name in self._names.items() if name == value[1:])
        return value


def _end(edge: Mapping[str, Any]) -> str:
    """When an edge ends. Its root is stored beside it, and with nothing else."""
    if edge["until"] is None:
        return "" if edge["root"] is None else f"of {edge['root']}"
    return f"until {edge['until']}" + ("" if edge["root"] in (ROOT, OTHER) else f" of {edge['root']}")


def _name(node: Mapping[str, Any]) -> str:
    properties = node["properties"]
    if "Entity" in node["labels"]:
        name = properties.get("ref", "Entity")
    else:
        name = " ".join([*node["labels"], *([properties["id"]] if "id" in properties else [])])
    root = properties.get("root")
    return str(name) if root == ROOT else f"{'other' if root == OTHER else root} {name}"


def _plain(value: Any, ordered: bool) -> Any:
    """Without nulls; if the order does not matter, with all lists in the same one."""
    if isinstance(value, dict):
        return {each: _plain(value[each], ordered) for each in sorted(value) if value[each] is not None}
    if isinstance(value, list):
        items = [_plain(each, ordered) for each in value]
        return items if ordered else sorted(items, key=str)
    return value
