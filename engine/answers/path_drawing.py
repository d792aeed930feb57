"""Paths as pictures: a tree of text, and diagrams for Mermaid and Graphviz.

The deciding edges, which are grants and ownerships, are marked; entities and edges that several paths share are drawn
once.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from grantpath.engine.answers.graph_path import GraphPath, PathEdge
from grantpath.graph.errors import InvalidInput
from grantpath.graph.messages import printable, short

DECIDING = ("ALLOW", "DENY", "OWNS")
COLORS = {"ALLOW": "green", "DENY": "red", "OWNS": "green"}


def draw(paths: Sequence[GraphPath], form: str) -> str:
    """The paths in this form, without a line break at the end; an empty text if there are none. Raises InvalidInput for
    an unknown form."""
    drawers: dict[str, Callable[[Sequence[GraphPath]], Iterator[str]]] = {
        "tree": _tree,
        "mermaid": _mermaid,
        "dot": _dot,
    }
    if form not in drawers:
        raise InvalidInput(f"form={short(repr(form))} must be one of {', '.join(drawers)}")
    return "\n".join(drawers[form](paths)) if paths else ""


# ---- a tree ----------------------------------------------------------------------------------------------------------
@dataclass
class _Branch:
    """The steps that follow an entity, by the text of the step."""

    steps: dict[str, "_Branch"] = field(default_factory=dict)


def _tree(paths: Sequence[GraphPath]) -> Iterator[str]:
    roots: dict[str, _Branch] = {}
    for path in paths:
        branch = roots.setdefault(printable(path.nodes[0].ref), _Branch())
        for edge, node in zip(path.edges, path.nodes[1:], strict=True):
            mark = "  *" if edge.relationship in DECIDING else ""
            note = path.note if mark else ""
            arrow = f"-{edge.label}->" if edge.end == node.ref else f"<-{edge.label}-"
            branch = branch.steps.setdefault(f"{arrow} {printable(node.ref)}{mark}{note}", _Branch())
    for ref, branch in roots.items():
        yield ref
        yield from _below(branch, "")


def _below(branch: _Branch, indent: str) -> Iterator[str]:
    last = len(branch.steps) - 1
    for at, (text, inner) in enumerate(branch.steps.items()):
        yield f"{indent}{'└─ ' if at == last else '├─ '}{text}"
        yield from _below(inner, indent + ("   " if at == last else "│  "))


# ---- diagrams --------------------------------------------------------------------------------------------------------
def _mermaid(paths: Sequence[GraphPath]) -> Iterator[str]:
    numbers = {ref: f"n{at}" for at, ref in enumerate(_refs(paths))}
    yield "flowchart LR"
    for ref, number in numbers.items():
        yield f'  {number}["{_entities(printable(ref))}"]'
    for at, edge in enumerate(_edges(paths)):
        line = ("==", "==>") if edge.relationship in DECIDING else ("--", "-->")
        yield f'  {numbers[edge.start]} {line[0]} "{edge.label}" {line[1]} {numbers[edge.end]}'
        if edge.relationship in DECIDING:
            yield f"  linkStyle {at} stroke:{COLORS[edge.relationship]}"


def _entities(text: str) -> str:
    """A text for a label of Mermaid, in which quotes, marks of Markdown and markup are numbered entities."""
    return "".join(each if each.isalnum() or each in " :.,-_@$'()" else f"#{ord(each)};" for each in text)


def _dot(paths: Sequence[GraphPath]) -> Iterator[str]:
    yield "digraph {"
    yield "  rankdir=LR; node [shape=box];"
    for ref in _refs(paths):
        yield f"  {_quoted(printable(ref))};"
    for edge in _edges(paths):
        style = f", color={COLORS[edge.relationship]}, penwidth=2" if edge.relationship in DECIDING else ""
        ends = f"{_quoted(printable(edge.start))} -> {_quoted(printable(edge.end))}"
        yield f"  {ends} [label={_quoted(edge.label)}{style}];"
    yield "}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _refs(paths: Sequence[GraphPath]) -> list[str]:
    return [*dict.fromkeys(node.ref for path in paths for node in path.nodes)]


def _edges(paths: Sequence[GraphPath]) -> list[PathEdge]:
    return [*dict.fromkeys(edge for path in paths for edge in path.edges)]
