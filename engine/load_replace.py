"""What a root becomes where an import replaces all that is in it."""

from collections.abc import Iterator

import numpy as np

from grantpath.engine.load_graph import Doomed, Edges, Marks, Standing
from grantpath.engine.load_rows import NOBODY, Links
from grantpath.engine.load_table import Ints


class Replaced(Standing):
    """The graph as such an import finds it: nothing counts but the root, what came with the policy, and the tables."""

    def _read_known(self) -> None:
        fixed = {self.names.root, *(self.names.known(ref) for ref in self._policy.builtins)}
        self._fixed: Marks = np.isin(np.arange(len(self.names)), list(fixed))
        self._all: Ints | None = None
        self._unnamed: list[int] = []  # nodes of which no row says anything
        for row in self._ask("load_all", root=self._tenant):
            number = self.names.known(row["ref"])
            if number == NOBODY:
                self._unnamed.append(row["node"])
            else:
                self.node[number] = row["node"]
                self._created[number] = row["created"]

    def _staying(self) -> Marks:
        return self._fixed

    def _climb(self, above: dict[str, set[str]]) -> None:
        for start, end, label in self._presets():
            if label == "MEMBER":
                above.setdefault(start, set()).add(end)

    def _old_edges(self, starts: Ints) -> Ints:
        """All that there are."""
        if self._all is None:
            self._all = super()._old_edges(np.arange(len(self.names), dtype=np.int64))
        return self._all

    def _edges(self, added: Ints) -> tuple[Edges, Doomed]:
        edges, _ = super()._edges(added)
        said = self._said(added)
        wanted = self._key(
            *(np.concatenate([getattr(links, one) for links in said]) for one in ("start", "end", "label"))
        )
        old = self._old_edges(np.arange(0))
        names = self._wanted_names()
        stays = self._there | names
        lost = (old[:, 2] == NOBODY) | ~np.isin(self._key(old[:, 0], old[:, 1], old[:, 2]), wanted)
        lost &= stays[old[:, 0]] & stays[old[:, 1]]  # the others go with their ends
        nodes = self.node[~stays & (self.node != NOBODY)].tolist()
        unmade = self.node[names & (self.node != NOBODY) & self._created].tolist()
        return edges, Doomed(old[lost, 3].tolist(), [*self._unnamed, *nodes], unmade)

    def _said(self, added: Ints) -> list[Links | Edges]:
        everybody = np.flatnonzero(self._there)
        known = self.names.known
        presets = np.array(
            [(known(start), known(end), self._rows.label(label)) for start, end, label in self._presets()],
            dtype=np.int64,
        ).reshape(-1, 3)
        return [*super()._said(everybody), Edges(presets[:, 0], presets[:, 1], presets[:, 2])]

    def _presets(self) -> Iterator[tuple[str, str, str]]:
        """What came with the policy: start, end, label."""
        root = self.names.texts[self.names.root]
        for ref, entry in self._policy.builtins.items():
            yield from ((ref, held, "MEMBER") for held in entry.holds)
            yield from ((ref, root, f"ALLOW {self._policy.names.canonical(name)}") for name in entry.allow)
            if entry.owns:
                yield ref, root, "OWNS"
