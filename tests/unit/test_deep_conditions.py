"""Conditions that name each other in a long chain end with an error that says so, never with Python's own."""

from pathlib import Path

import pytest

from grantpath.engine.policy.index import Lengths
from grantpath.engine.policy.policy import load
from grantpath.graph.errors import Invalid

from ..support.bad_policies import refused

CHAIN = """policy: chain
types:
  site: {{}}
  user: {{in: site, kind: user}}
grants: {{to: user}}
privileges:
  READ: {{on: site}}
define:
{definitions}
operations:
  site:
    enter: d0
"""
WAY = """policy: way
types:
  org: {}
  folder: {in: "org, folder"}
  user: {in: org, kind: user}
grants: {to: user}
privileges:
  USE: {on: "org, folder"}
define:
  way:
    org: USE
    folder: ((((((way(parent) and USE) and everyone) and USE) and everyone) and USE) and everyone)
operations:
  folder:
    enter: way
"""


@pytest.mark.parametrize("names", [60, 100, 300])
def test_definitions_that_name_each_other_too_often_are_refused(names: int, tmp_path: Path) -> None:
    lines = [f"  d{at}: everyone and (READ or (READ and d{at + 1}))" for at in range(names)]
    text = CHAIN.format(definitions="\n".join([*lines, f"  d{names}: READ"]))
    assert "conditions are nested 60 deep; write some of them out" in refused(text, tmp_path)[1]


def test_a_type_in_itself_repeats_a_definition_at_any_depth_or_says_that_it_is_too_large(tmp_path: Path) -> None:
    path = tmp_path / "way.yaml"
    path.write_text(WAY)
    policy = load(str(path))
    assert len(policy.question("enter", "folder", frozenset(), Lengths(20)).clauses) == 1
    with pytest.raises(Invalid, match=r"enter on a folder .* the condition is too large when expanded"):
        policy.question("enter", "folder", frozenset(), Lengths(64))
