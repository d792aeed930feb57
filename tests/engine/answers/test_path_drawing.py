"""Paths as a tree, and as diagrams: shared steps once, deciding edges marked, names that cannot break the drawing."""

import re

import pytest

from grantpath import reference
from grantpath.engine import Authorizer, InvalidInput
from grantpath.engine.memory.memory_authorizer import authorizer

FACTS = [
    *("add catalog:hr", "add schema:hr.s", "add table:hr.s.t", "add role:r", "add group:g", "add group:h"),
    *(
        "member user:bob of group:g",
        "member user:bob of group:h",
        "member group:g of role:r",
        "member group:h of role:r",
    ),
    *("allow USE_CATALOG on catalog:hr to role:r", "allow USE_SCHEMA on catalog:hr to role:r"),
    "allow SELECT_TABLE on schema:hr.s to group:g",
]
TREE = """user:bob
├─ -MEMBER_OF-> group:g
│  ├─ -ALLOW SELECT_TABLE-> schema:hr.s  *
│  │  └─ <-CHILD_OF- table:hr.s.t
│  └─ -HAS_ROLE-> role:r
│     ├─ -ALLOW USE_CATALOG-> catalog:hr  *
│     │  └─ <-CHILD_OF- schema:hr.s
│     │     └─ <-CHILD_OF- table:hr.s.t
│     └─ -ALLOW USE_SCHEMA-> catalog:hr  *
│        └─ <-CHILD_OF- schema:hr.s
│           └─ <-CHILD_OF- table:hr.s.t
└─ -MEMBER_OF-> group:h
   └─ -HAS_ROLE-> role:r
      ├─ -ALLOW USE_CATALOG-> catalog:hr  *
      │  └─ <-CHILD_OF- schema:hr.s
      │     └─ <-CHILD_OF- table:hr.s.t
      └─ -ALLOW USE_SCHEMA-> catalog:hr  *
         └─ <-CHILD_OF- schema:hr.s
            └─ <-CHILD_OF- table:hr.s.t"""


@pytest.fixture
def auth() -> Authorizer:
    return authorizer("lakehouse", FACTS)


def test_tree_shows_shared_steps_once(auth: Authorizer) -> None:
    assert auth.explain("user:bob", "load_table", "table:hr.s.t", all=True).draw() == TREE


def test_diagrams_have_each_entity_and_edge_once(auth: Authorizer) -> None:
    found = auth.explain("user:bob", "load_table", "table:hr.s.t", all=True)
    refs = {node.ref for path in found.typed_paths for node in path.nodes}
    edges = {edge for path in found.typed_paths for edge in path.edges}
    mermaid = found.draw("mermaid").splitlines()
    assert mermaid[0] == "flowchart LR"
    assert sorted(re.findall(r'\["(.*)"\]$', "\n".join(mermaid), re.M)) == sorted(refs)
    assert sum(" --> " in line or " ==> " in line for line in mermaid) == len(edges)
    assert sum(" ==> " in line for line in mermaid) == sum("linkStyle" in line for line in mermaid) == 3
    dot = found.draw("dot")
    assert len(re.findall(r"^  \".*\";$", dot, re.M)) == len(refs)
    assert len(re.findall(r" -> ", dot)) == len(edges)
    assert '"role:r" -> "catalog:hr" [label="ALLOW USE_CATALOG", color=green, penwidth=2];' in dot


def test_a_deny_is_red_and_a_decision_without_edges_has_no_drawing(auth: Authorizer) -> None:
    auth.deny("SELECT_TABLE", on="table:hr.s.t", to="role:r")
    found = auth.explain("user:bob", "load_table", "table:hr.s.t")
    assert "-DENY SELECT_TABLE-> table:hr.s.t  *" in found.draw("tree")
    assert 'label="DENY SELECT_TABLE", color=red' in found.draw("dot")
    assert "stroke:red" in found.draw("mermaid")
    nothing = auth.explain("user:nobody", "load_table", "table:hr.s.t")
    assert [nothing.draw(form) for form in ("tree", "mermaid", "dot")] == ["", "", ""]
    with pytest.raises(InvalidInput, match="form='svg' must be one of tree, mermaid, dot"):
        found.draw("svg")  # type: ignore[arg-type]


def test_names_cannot_leave_their_labels(auth: Authorizer) -> None:
    name = 'a"]; x["b\n<b>#\\'
    odd = reference("user", name)
    auth.add(odd)
    auth.join(odd, "group:g")
    found = auth.explain(odd, "SELECT_TABLE", "table:hr.s.t")
    assert len(found.draw("tree").splitlines()) == len(found.typed_paths[0].nodes)
    mermaid = found.draw("mermaid")
    assert all(len(re.findall('"', line)) == 2 for line in mermaid.splitlines() if "n" in line[:4])
    assert "<" not in mermaid.replace("<-", "")
    assert all(re.fullmatch(r'[^"]*("(\\.|[^"\\])*"[^"]*)*', line) for line in found.draw("dot").splitlines())
