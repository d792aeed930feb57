"""The plan of an import: the rows that it adds and removes, and whether the removals need consent."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from grantpath.engine.policy.policy import Policy
from grantpath.engine.transfer.rows import Edges, ResolvedRows, label_parts
from grantpath.engine.transfer.tables import TABLES, Ints, said
from grantpath.graph.errors import InvalidInput
from grantpath.graph.messages import counted

SHOWN = 5
# A replacement that removes more than this part of a table is rarely intended.
PART = 0.1


@dataclass(frozen=True)
class Removals:
    """The removals of an import, by database ids: edges, entities, and entities that remain as names. `replaced`: those
    of the edges whose facts stay, with another end."""

    edges: list[int]
    nodes: list[int]
    demotions: list[int]
    replaced: Edges


@dataclass(frozen=True)
class ImportDelta:
    """The additions of an import: entities, names that become entities, names that only have grants on them (each by
    its number), and edges; and the removals."""

    entities: Ints
    created: Ints
    names: Ints
    edges: Edges
    removals: Removals

    @property
    def added(self) -> int:
        return len(self.entities) + len(self.created) + len(self.names) + len(self.edges.start)

    @property
    def removed(self) -> int:
        """The number of removals, without those that follow from the removal of an entity."""
        return len(self.removals.edges) + len(self.removals.nodes) + len(self.removals.demotions)

    @property
    def size(self) -> int:
        return self.added + self.removed


def table_of(label: str) -> str:
    """The table of the edges that have a label of ResolvedRows; empty for the rows of entities."""
    kind, _, _ = label_parts(label)
    return {"MEMBER": "members", "OWNS": "owners", "TAGGED": "tags", "LISTED": ""}.get(kind, "grants")


class PlanListing:
    """Facts by table, stored as numbers; only the facts that are shown become texts."""

    def __init__(self, rows: ResolvedRows, policy: Policy, entities: Ints, edges: Edges) -> None:
        self._names = rows.names
        self._labels = rows.labels
        order = np.lexsort((edges.label, edges.end, edges.start))
        self._edges = edges = Edges(edges.start[order], edges.end[order], edges.label[order])
        kinds = {name: entry.kind == "object" for name, entry in policy.file.types.items()}
        objects = np.array([kinds[self._names.types[at]] for at in entities.tolist()], dtype=np.bool_)
        tables = np.array([table_of(label) for label in rows.labels], dtype=np.str_)
        table = tables[edges.label] if len(edges.label) else np.empty(0, dtype=np.str_)
        self._at: dict[str, Ints] = {
            "subjects": entities[~objects],
            "objects": entities[objects],
            **{name: np.flatnonzero(table == name) for name in ("members", "owners", "tags", "grants")},
        }

    @property
    def counts(self) -> dict[str, int]:
        """The number of rows by table."""
        return {table: len(at) for table, at in self._at.items()}

    def statements(self, table: str, first: int | None = None) -> list[str]:
        """All rows of a table, or the first ones, as statements, e.g. `add user:ann`."""
        return [said(table, self._row(table, at)) for at in self._at[table][:first].tolist()]

    def lines(self, held: Mapping[str, int] | None = None) -> Iterator[str]:
        """A line for each table: the number of rows (of the number in `held`), and the first ones."""
        for table, count in self.counts.items():
            if count:
                number = f"{count:,} of {counted(held[table], table)}" if held else counted(count, table)
                more = f", ... and {count - SHOWN:,} more" if count > SHOWN else ""
                first = ", ".join(each.removeprefix("add ") for each in self.statements(table, SHOWN))
                yield f"{number}: {first}{more}"

    def lists(self) -> dict[str, list[str]]:
        """All rows as statements, by table."""
        return {table: self.statements(table) for table in TABLES}

    def _row(self, table: str, at: int) -> Sequence[str]:
        texts = self._names.texts
        if table in ("subjects", "objects"):
            return [texts[at]]
        start, end = texts[self._edges.start[at]], texts[self._edges.end[at]]
        effect, privilege, until = label_parts(self._labels[self._edges.label[at]])
        if table in ("members", "tags"):
            return [start, end, until]
        if table == "owners":
            return [end, start]
        return [effect.lower(), privilege, end, start, until]


@dataclass(frozen=True)
class Plan:
    """The facts that an import adds and removes, without those that come with the policy. `held`: the number of rows of
    each table before the import, empty for an import that only adds. `missing`: the tables without a file."""

    added: PlanListing
    removed: PlanListing
    held: Mapping[str, int]
    missing: Sequence[str]

    @cached_property
    def counts(self) -> dict[str, int]:
        """The number of removed rows by table."""
        return self.removed.counts

    @property
    def needs_consent(self) -> bool:
        """Whether it removes more than a tenth of a table, or anything at all while a table file is missing."""
        return bool(self.reason)

    @property
    def reason(self) -> str:
        """Why it needs consent; empty if it needs none. An import that only adds removes at most former ends."""
        if not self.held:
            return ""
        much = [table for table, count in self.counts.items() if count > PART * self.held.get(table, 0)]
        if much:
            return f"that is more than a tenth of {', '.join(much)}"
        if self.missing and sum(self.counts.values()):
            return f"the folder has no file for {', '.join(self.missing)}"
        return ""

    def lines(self) -> Iterator[str]:
        """The removals, a line for each table."""
        yield from self.removed.lines(self.held)


Consent = bool | Callable[[Plan], bool]


def require_consent(plan: Plan, consent: Consent, what: str) -> None:
    """Asks for consent to the removals of a replacement. Raises InvalidInput, which lists them, if it is not given."""
    given = consent(plan) if callable(consent) else consent
    if plan.needs_consent and not given:
        raise InvalidInput(
            f"{what} would remove the rows below, and {plan.reason}; nothing is changed. Check it with --dry-run, and"
            " repeat it with --yes (in Python: consent=True) if you intend that:",
            *plan.lines(),
        )
