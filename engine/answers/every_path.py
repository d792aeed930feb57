"""The paths of deciding facts: for each principal that has the fact, a shortest path and further paths."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import islice, pairwise
from typing import Any

from grantpath.engine.answers.deciding_facts import Deciding

MAX_EDGES = 50  # edges of one fact; the limit of explain.cypher
MAX_ROUTES = 10  # routes from the subject to one principal
MAX_ACTING = 10  # acting roles that are explained
Path = Mapping[str, Any]  # a path of explain.cypher


@dataclass(frozen=True)
class EveryPath:
    """The paths for one acting principal. `complete`: whether no path is missing."""

    paths: Sequence[Path]
    complete: bool


class Routes:
    """The memberships of a subject and of all that it belongs to. They have no cycles."""

    def __init__(self, links: Iterable[tuple[str, str, str, str | None]]) -> None:
        """`links`: member, type of the relationship, container, end."""
        self._up: dict[str, dict[str, str]] = defaultdict(dict)
        self._down: dict[str, list[str]] = defaultdict(list)
        self._ends: dict[tuple[str, str], str | None] = {}
        for member, link, container, until in links:
            self._ends[member, container] = until
            self._up[member][container] = link
            self._down[container].append(member)

    def links(self, route: Sequence[str]) -> list[str]:
        """The types of the relationships of a route."""
        return [self._up[member][container] for member, container in pairwise(route)]

    def ends(self, route: Sequence[str]) -> list[str | None]:
        """When the relationships of a route end."""
        return [self._ends[pair] for pair in pairwise(route)]

    def between(self, start: str, end: str) -> Iterator[tuple[str, ...]]:
        """All routes from a member to a group or role, the shortest first.

        Each step goes only to groups and roles from which the end can be reached.
        """
        distance = self._distances(end)
        waiting: list[tuple[int, int, tuple[str, ...]]] = []
        if start in distance:
            waiting.append((distance[start], 0, (start,)))
        while waiting:
            _, negative, route = heappop(waiting)
            if route[-1] == end:
                yield route
                continue
            for above in self._up[route[-1]]:
                if above in distance:  # of routes with equal totals, continue the longest one, which is finished first
                    heappush(waiting, (distance[above] - negative + 1, negative - 1, (*route, above)))

    def _distances(self, end: str) -> dict[str, int]:
        """By member: the length of its shortest route to the end."""
        found, border = {end: 0}, [end]
        while border:
            border = sorted({below for each in border for below in self._down[each] if below not in found})
            found |= dict.fromkeys(border, max(found.values()) + 1)
        return found


def with_further(
    paths: Iterable[Path], subject: str, each: Deciding, routes: Routes, most: int = MAX_ROUTES
) -> EveryPath:
    """The paths of explain.cypher, each with up to `most` routes from the subject to its principal."""
    shown = [*paths]
    edges = Counter(path["fact"] for path in shown)
    found, complete = list[Path](), not each.unshown and max(edges.values(), default=0) < MAX_EDGES
    for path in shown:
        ways = list(islice(_ways(routes, subject, each.role, path["by"]), most + 1))
        complete = complete and len(ways) <= most
        found += [{**path, "members": way, "links": routes.links(way), "ends": routes.ends(way)} for way in ways[:most]]
    return EveryPath(found, complete)


def _ways(routes: Routes, subject: str, role: str | None, principal: str) -> Iterator[tuple[str, ...]]:
    """The routes to a principal. If a role is active, all routes go through this role."""
    if role is None or principal == subject:
        yield from routes.between(subject, principal)
        return
    for first in routes.between(subject, role):
        for last in routes.between(role, principal):
            yield (*first, *last[1:])
