"""Paths of the graph as data: nodes and edges, from the subject of a question to its object."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Literal

from grantpath.engine.answers.evaluation import Evaluation
from grantpath.engine.policy.facts import FactKind, effect_and_privilege, of_tag
from grantpath.graph.frozen import Frozen
from grantpath.graph.language.statement import Effect

Relationship = Literal["MEMBER_OF", "HAS_ROLE", "ALLOW", "DENY", "OWNS", "TAGGED", "CHILD_OF"]
CHILD_OF, TAGGED = "CHILD_OF", FactKind.TAGGED.value


class PathNode(Frozen):
    """An entity on a path: its reference, its type and its name, the last segment of the reference without quotes."""

    ref: str
    type: str
    name: str


class PathEdge(Frozen):
    """A relationship on a path, in the direction that it has in the graph: `start` and `end` are references.

    `privilege` is set for ALLOW and DENY only, `until` for a grant or a membership that ends. A path can pass CHILD_OF
    and TAGGED against their direction: then `end` is the node before it, and `start` the node after it.
    """

    start: str
    relationship: Relationship
    end: str
    privilege: str | None = None
    until: str | None = None

    @property
    def effect(self) -> Effect | None:
        """ALLOW or DENY for a grant, None for other relationships."""
        match self.relationship:
            case "ALLOW" | "DENY":
                return self.relationship
            case _:
                return None

    @property
    def label(self) -> str:
        """The relationship with its privilege, e.g. `ALLOW SELECT_TABLE`."""
        parts = [self.relationship, self.privilege, self.until and f"until {self.until}"]
        return " ".join(part for part in parts if part)


class GraphPath(Frozen):
    """A path: its nodes, and between each two neighbours an edge. Its `str()` is one line of text.

    `note` says that the privilege of the grant itself is denied, so that only what it implies is granted.
    """

    nodes: tuple[PathNode, ...]
    edges: tuple[PathEdge, ...]
    note: str = ""

    def __str__(self) -> str:
        """user:bob -MEMBER_OF-> group:g -HAS_ROLE-> role:r -ALLOW P-> catalog:c <-CHILD_OF- schema:c.s

        From a grant below the place, the path goes up: -ALLOW P-> dataset:n.e -CHILD_OF-> namespace:n. From a grant on
        a tag it goes to what has the tag: -ALLOW P-> tag:t <-TAGGED- schema:c.s. A path by membership alone has no
        grant and ends at the role or group.
        """
        steps = [self.nodes[0].ref]
        for edge, node in zip(self.edges, self.nodes[1:], strict=True):
            steps.append(f"-{edge.label}-> {node.ref}" if edge.end == node.ref else f"<-{edge.label}- {node.ref}")
        return " ".join(steps) + self.note


class PathBuilder:
    """Makes paths from the rows of explain.cypher. Paths of one builder share their nodes and edges."""

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation
        self._nodes: dict[str, PathNode] = {}
        self._edges: dict[tuple[str, str, str], PathEdge] = {}

    def path(self, row: Mapping[str, Any], note: str) -> GraphPath:
        """The path of one row: memberships, the grant or the ownership, and the tree."""
        refs: list[str] = [*row["members"]]
        ends = row.get("ends") or [None] * len(row["links"])  # a path in memory does not say when its edges end
        steps = zip(row["links"], ends, pairwise(refs), strict=True)
        edges = [self._edge(start, link, end, until) for link, until, (start, end) in steps]
        if row["edge"] is not None:
            edges.append(self._edge(refs[-1], row["edge"], row["place"], row.get("until")))
            refs.append(row["place"])
        edges += [self._edge(child, CHILD_OF, parent) for child, parent in pairwise(row["up"])]
        refs += row["up"][1:]
        down = [*reversed(row["down"])]
        by_tag = len(down) > 1 and bool(of_tag(row["fact"])[1])
        upward = [TAGGED if by_tag and not at else CHILD_OF for at in range(len(down))]
        edges += [
            self._edge(child, step, parent) for step, (parent, child) in zip(upward, pairwise(down), strict=False)
        ]
        refs += down[1:]
        return GraphPath(nodes=tuple(map(self._node, refs)), edges=tuple(edges), note=note)

    def _node(self, ref: str) -> PathNode:
        if ref not in self._nodes:
            named = self._evaluation.policy.reference(ref, self._evaluation.root)
            self._nodes[ref] = PathNode(ref=ref, type=named.type, name=named.name)
        return self._nodes[ref]

    def _edge(self, start: str, label: str, end: str, until: str | None = None) -> PathEdge:
        found = self._edges.get((start, label, end))
        if found is None:
            relationship, privilege = effect_and_privilege(label)
            found = PathEdge.model_validate(
                {
                    "start": start,
                    "relationship": relationship,
                    "end": end,
                    "privilege": privilege or None,
                    "until": until,
                }
            )
            self._edges[start, label, end] = found
        return found
