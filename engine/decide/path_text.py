"""The paths of explain.cypher as text: edge by edge, each in the direction that it has in the graph."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def texts(paths: Iterable[Mapping[str, Any]]) -> list[str]:
    """The paths as text, sorted, without duplicates."""
    return sorted({path(each) for each in paths})


def path(row: Mapping[str, Any]) -> str:
    """user:bob -MEMBER_OF-> group:g -HAS_ROLE-> role:r -ALLOW P-> catalog:c <-CHILD_OF- schema:c.s

    From a grant below the place, the path goes up: -ALLOW P-> dataset:n.e -CHILD_OF-> namespace:n. A path by membership
    alone has no grant and ends at the role or group.
    """
    members: Sequence[str] = row["members"]
    steps = [members[0]]
    for link, member in zip(row["links"], members[1:], strict=True):
        steps.append(f"-{link}-> {member}")
    if row["edge"] is not None:
        steps.append(f"-{row['edge']}-> {row['place']}")
    steps += [f"-CHILD_OF-> {ref}" for ref in row["up"][1:]]
    steps += [f"<-CHILD_OF- {ref}" for ref in reversed(row["down"][:-1])]
    return " ".join(steps)
