"""The guide and the style that Neo4j Browser shows: legend, schema, and the questions of cypher/ as cards."""

import re
from hashlib import sha256
from html import escape

from grantpath import cypher
from grantpath.cypher.catalogue import GROUPS, parameters_of

STYLE = "style.grass"  # the name of the page
BY_NAME = "Questions by name"
EXAMPLE = "'metalake:ml'"  # the root in the :params line of a query
NODES = {
    "Subject": ("#7e57c2", "a subject of another type"),
    "Securable": ("#5c6bc0", "an object of another type"),
    "User": ("#ef8e2c", "a user"),
    "ServicePrincipal": ("#c77700", "a service principal"),
    "Group": ("#26a69a", "a group"),
    "Role": ("#ab47bc", "a role"),
    "Metalake": ("#78909c", "the root object"),
    "Catalog": ("#1565c0", "a catalog"),
    "Schema": ("#1e88e5", "a schema"),
    "Table": ("#64b5f6", "a table"),
}
EDGES = {
    "ALLOW": ("#2e7d32", "{privilege}", "a grant, with its privilege"),
    "DENY": ("#c62828", "{privilege}", "a denial, with its privilege; it overrides every ALLOW"),
    "OWNS": ("#b8860b", "<type>", "ownership"),
    "TAGGED": ("#6d4c41", "<type>", "a tag of an object, from the object to the tag"),
    "MEMBER_OF": ("#90a4ae", "<type>", "membership in a group"),
    "HAS_ROLE": ("#90a4ae", "<type>", "a held role"),
    "CHILD_OF": ("#cfd8dc", "<type>", "the object tree, from an object to its parent"),
}


def style() -> str:
    """The style in the language of Neo4j Browser, GraSS. The last rule that fits a node decides."""
    base = "diameter: 50px; border-width: 2px; text-color-internal: #FFFFFF; font-size: 10px; caption: '{name}';"
    nodes = [f"node {{ color: #78909c; border-color: #546e7a; {base} }}"]
    nodes += [
        f"node.{label} {{ color: {color}; border-color: {color}; {base} }}" for label, (color, _) in NODES.items()
    ]
    thin = "shaft-width: 1px; font-size: 8px; padding: 3px; text-color-internal: #FFFFFF;"
    edges = [f"relationship {{ color: #A5ABB6; text-color-external: #000000; {thin} caption: '<type>'; }}"]
    edges += [
        f"relationship.{name} {{ color: {color}; text-color-external: {color}; {thin} caption: '{caption}'; }}"
        for name, (color, caption, _) in EDGES.items()
    ]
    return "\n".join([*nodes, *edges]) + "\n"


def page_name(root: str | None) -> str:
    """The name of the page with the guide. Each root has its own, so that an open guide keeps its root."""
    return "guide.html" if root is None else f"guide-{sha256(root.encode()).hexdigest()[:16]}.html"


def guide(pages: str, root: str | None = None) -> str:
    """The guide as HTML: a page with the legend and a link to each card, then the cards.

    `pages` is the address of the folder in which the guide and STYLE are served, e.g.
    `http://localhost:7474/browser/grantpath/`. `root` is the root that the parameters of the cards name. A click on a
    link shows the card; a click on a box of the card copies the text of the box to the editor.
    """
    shown = {BY_NAME: cypher.texts("browser")}
    questions = cypher.texts("questions")
    shown |= {group: {name: questions[name] for name in names} for group, names in GROUPS.items()}
    cards = {name: text for texts in shown.values() for name, text in texts.items()}
    slides = [
        _first(pages, page_name(root), shown, list(cards)),
        *(_card(name, text, root) for name, text in cards.items()),
    ]
    return f"<title>grantpath</title>\n{''.join(f'<slide>{each}</slide>' for each in slides)}\n"


def _first(pages: str, page: str, shown: dict[str, dict[str, str]], cards: list[str]) -> str:
    """The first slide of the page; `shown` are the names of the cards by title, `cards` all of them in their order."""
    lists = ""
    for title, names in shown.items():
        links = [f"{escape(pages + page)}#slide-{1 + cards.index(name)}" for name in names]
        items = [
            f'<li><a exec-topic="guide {to}">{_spaced(name)}</a></li>' for name, to in zip(names, links, strict=True)
        ]
        lists += f"<h4>{title}</h4><ul>{''.join(items)}</ul>"
    kinds = [(name, color, text) for name, (color, text) in NODES.items()]
    edges = [(name, color, text) for name, (color, _, text) in EDGES.items()]
    return (
        f'<h3>grantpath</h3><p>Use the colours below: <a exec-topic="style {escape(pages + STYLE)}">:style</a></p>'
        "<p>A card has two boxes. Click on the first one, put in your own names, and run it. Then click on the second "
        f"one, and run it.</p>{lists}<h4>Nodes</h4>{_table(kinds)}<h4>Relationships</h4>{_table(edges)}"
        "<p>Every node has <code>root</code>, <code>ref</code>, <code>type</code> and <code>name</code>.</p>"
    )


def _table(rows: list[tuple[str, str, str]]) -> str:
    # the text has the colour of the page, which can be read in both themes; the dot has the colour of the graph
    cells = [
        f'<tr><td><span style="color: {color}">&#9679;</span> {name}</td><td>&nbsp;{text}</td></tr>'
        for name, color, text in rows
    ]
    return f"<table>{''.join(cells)}</table>"


def _card(name: str, text: str, root: str | None) -> str:
    """The card of one query: what it answers, its parameters, its text without the header, which the card shows."""
    comment = " ".join(line[3:] for line in text.splitlines() if line.startswith("// "))
    said = comment.partition(f"{name}.cypher: ")[2].partition(" $")[0]
    parameters = re.search(r"^// (:params \{.*\})$", text, re.MULTILINE)
    if parameters is None:
        raise ValueError(f"{name}.cypher has no :params line")
    return (
        f"<h3>{_spaced(name)}</h3><p>{escape(said[:1].upper() + said[1:])}</p>{_notes(text)}"
        f'<pre class="runnable">{escape(_about(parameters[1], root))}</pre>'
        f'<pre class="runnable">{escape(text[parameters.end() :].strip())}</pre>'
    )


def _notes(text: str) -> str:
    """What the header says about the parameters besides an example."""
    notes = [(each.name, each.note) for each in parameters_of(text) if each.note]
    items = "".join(f"<li><code>{name}</code>: {escape(note)}</li>" for name, note in notes)
    return f"<ul>{items}</ul>" if items else ""


def _about(line: str, root: str | None) -> str:
    """The :params line with the chosen root. A query by name has it behind the object or the type."""
    if root is None:
        return line
    named = root.replace("\\", "\\\\").replace("'", "\\'")
    if EXAMPLE in line:
        return line.replace(EXAMPLE, f"'{named}'")
    return re.sub(r"((?:object|type): '[^']*)'", lambda found: f"{found[1]} in {named}'", line)


def _spaced(name: str) -> str:
    """The name of a query as words."""
    return escape(name.replace("_", " "))
