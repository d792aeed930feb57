"""Resolves the rows of a bulk import by the policy's rules; every reference gets a number."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from grantpath.engine.policy.policy import Policy
from grantpath.engine.policy.statement_rules import ResolvedStatement, Rules
from grantpath.engine.transfer.reference_numbers import ABSENT, ReferenceNumbers
from grantpath.engine.transfer.tables import Ints, Problems, Table
from grantpath.graph.distinct_numbers import distinct
from grantpath.graph.errors import GrantpathError, Invalid
from grantpath.graph.language.ends import end_text
from grantpath.graph.language.reference import Reference, type_of
from grantpath.graph.language.statement import Effect, Statement
from grantpath.graph.language.stored_fact import fact_text
from grantpath.graph.messages import indefinite


@dataclass(frozen=True)
class Links:
    """Rows of a table as edges: start, end, label (an index of `labels`), and the row's index in the table."""

    table: Table
    rows: Ints
    start: Ints
    end: Ints
    label: Ints

    def only(self, chosen: npt.NDArray[np.bool_]) -> "Links":
        """The chosen rows."""
        return Links(self.table, self.rows[chosen], self.start[chosen], self.end[chosen], self.label[chosen])


@dataclass(frozen=True)
class Edges:
    """Edges without duplicates: start, end, and the number of the label."""

    start: Ints
    end: Ints
    label: Ints

    def only(self, chosen: npt.NDArray[np.bool_] | slice) -> "Edges":
        """The chosen edges."""
        return Edges(self.start[chosen], self.end[chosen], self.label[chosen])


@dataclass(frozen=True)
class Listed:
    """Rows of `subjects` or `objects`."""

    table: Table
    rows: Ints
    refs: Ints


class ResolvedRows:
    """All tables, resolved by the policy's rules. Rows that break a rule are reported to `problems` and omitted."""

    def __init__(
        self,
        policy: Policy,
        root: Reference,
        tables: dict[str, Table],
        problems: Problems,
        done: Callable[[str], None],
        now: str | None,
    ) -> None:
        """Rows whose end is not after `now` are omitted, too; None for a dump, which keeps them."""
        self.names = ReferenceNumbers(policy, root)
        self._policy = policy
        self._rules = Rules(policy, root)
        self._problems = problems
        self.tables = tables
        self._numbers: dict[tuple[str, str], Ints] = {}
        # The labels of edges: MEMBER, OWNS, TAGGED, ALLOW P, DENY P, some with ` until END`; and LISTED, for the
        # rows of subjects and objects.
        self.labels: list[str] = []
        self._label_numbers: dict[str, int] = {}
        self._now = now
        self.past: list[str] = []  # the statements of the rows whose end is past
        self.ending: set[str] = set()  # the tables in which a row has an end
        self.of_dump = False  # a dump says of each fact whether it ends
        for name, table in tables.items():
            self._resolve(name, table)
            done(name)
        self._kinds = self.names.kinds()
        self.listed = [self._listed("subjects"), self._listed("objects")]
        self.members, self.owners, self.tags, self.grants = (
            self._members(),
            self._owners(),
            self._tags(),
            self._grants(),
        )
        self.links = [self.members, self.owners, self.tags, self.grants]
        self._require_one_end(self.members, self.grants)  # a grant of some privileges is a membership

    @property
    def has_ends(self) -> bool:
        """Whether a fact ends that the tables add."""
        labels = (label for links in self.links for label in distinct(links.label).tolist())
        return any(label_parts(self.labels[label])[2] for label in labels)

    def duplicates(self) -> dict[str, int]:
        """The number of rows that repeat an earlier row, by table; tables without duplicates are omitted."""
        keys = {listed.table.name: [listed.refs] for listed in self.listed}
        keys.update({links.table.name: [links.start, links.end, links.label] for links in self.links})
        counts = {name: len(columns[0]) - len(distinct(_key(columns))) for name, columns in keys.items()}
        return {name: count for name, count in counts.items() if count}

    # ---- references ------------------------------------------------------------------------------------------
    def _resolve(self, name: str, table: Table) -> None:
        for column, one in table.columns.items():
            if column not in ("effect", "privilege", "until"):
                self._numbers[name, column] = self.names.column(one)

    def _good(self, name: str, columns: Sequence[str]) -> tuple[Ints, list[Ints]]:
        """The rows whose references are valid, and the numbers of these references by column."""
        table = self.tables[name]
        good = np.ones(len(table), dtype=np.bool_)
        for column in columns:
            numbers = self._numbers[name, column]
            self._problems.rows(table, np.flatnonzero(good & (numbers == ABSENT)), self._misspelt(table, column))
            good &= numbers != ABSENT
        rows = np.flatnonzero(good)
        return rows, [self._numbers[name, column][rows] for column in columns]

    def _misspelt(self, table: Table, column: str) -> Callable[[int], str]:
        one = table.columns[column]
        return lambda row: self._error(lambda: self.names.parse(one.values[one.codes[row]]))

    @staticmethod
    def _error(work: Callable[[], object]) -> str:
        try:
            work()
        except GrantpathError as error:
            return str(error)
        raise AssertionError("a row that was bad is good now")

    # ---- tables ------------------------------------------------------------------------------------------------
    def _listed(self, name: str) -> Listed:
        table = self.tables[name]
        rows, (refs,) = self._good(name, ["ref"])
        numbers = self._numbers[name, "ref"]

        def resolve(row: int) -> None:
            self._list(name, self.names.texts[int(numbers[row])])

        good = self._verdicts(table, rows, [self._kinds[refs]], resolve)
        return Listed(table, rows[good >= 0], refs[good >= 0])

    def _list(self, table: str, text: str) -> None:
        type_ = type_of(text)
        right = "objects" if self._policy.file.types[type_].kind == "object" else "subjects"
        if text == self.names.texts[self.names.root]:
            raise Invalid(f"{text} is the root, which must not be listed; remove the row")
        if right != table:
            raise Invalid(f"{text}: {indefinite(type_)} must be listed in {right}, not in {table}; move the row")
        if text not in self._policy.builtins:
            self._rules.resolve(Statement(kind="add", object=text, text=f"add {text}"), as_fact=True)

    def _members(self) -> Links:
        ends = self.tables["members"].columns["until"]

        def statement_of(member: str, of: str, row: int) -> Statement:
            until = _end(ends.values[ends.codes[row]])
            return Statement(kind="member", object=of, subject=member, until=until, text=f"member {member} of {of}")

        return self._links("members", "member", "of", [ends.codes], statement_of)

    def _owners(self) -> Links:
        def statement_of(owner: str, object_: str, _: int) -> Statement:
            return Statement(kind="owner", object=object_, subject=owner, text=f"owner {owner} of {object_}")

        return self._links("owners", "owner", "object", [], statement_of)

    def _tags(self) -> Links:
        def statement_of(object_: str, tag: str, _: int) -> Statement:
            return Statement(kind="tag", object=object_, to=tag, text=f"tag {object_} with {tag}")

        return self._links("tags", "object", "tag", [], statement_of)

    def _grants(self) -> Links:
        table = self.tables["grants"]
        effects, privileges, ends = (table.columns[name] for name in ("effect", "privilege", "until"))

        def statement_of(subject: str, object_: str, row: int) -> Statement:
            effect = _effect(effects.values[effects.codes[row]])
            privilege = privileges.values[privileges.codes[row]]
            text = f"{effect.lower()} {privilege} on {object_} to {subject}"
            return Statement(
                kind="grant",
                object=object_,
                subject=subject,
                effect=effect,
                privilege=privilege,
                until=_end(ends.values[ends.codes[row]]),
                text=text,
            )

        codes = [effects.codes, privileges.codes, ends.codes]
        return self._links("grants", "subject", "object", codes, statement_of)

    def _links(
        self, name: str, start: str, end: str, more: Sequence[Ints], statement_of: Callable[[str, str, int], Statement]
    ) -> Links:
        """The rows of a table as edges. The rules depend only on the kinds and on `more`, so each combination is
        resolved once."""
        table = self.tables[name]
        rows, (starts, ends) = self._good(name, [start, end])
        columns = [self._numbers[name, start], self._numbers[name, end]]

        def resolve(row: int) -> ResolvedStatement:
            subject, object_ = (self.names.texts[int(column[row])] for column in columns)
            return self._rules.resolve(statement_of(subject, object_, row), as_fact=True)

        keys = [self._kinds[starts], self._kinds[ends], *(codes[rows] for codes in more)]
        labels = self._verdicts(table, rows, keys, resolve)
        good = labels >= 0
        found = Links(table, rows[good], starts[good], ends[good], labels[good])
        self._require_one_end(found)
        return found.only(self._is_to_come(found, columns))

    def _require_one_end(self, *tables: Links) -> None:
        """Reports the rows that repeat a fact of these tables with another end."""
        facts = np.array([self.label(fact_label(label)) for label in [*self.labels]] or [0], dtype=np.int64)
        start, end, label = (
            np.concatenate([getattr(each, one) for each in tables]) for one in ("start", "end", "label")
        )
        _, first, which = np.unique(_key([start, end, facts[label]]), return_index=True, return_inverse=True)
        other = np.split(label != label[first][which], np.cumsum([len(each.rows) for each in tables])[:-1])
        for each, marked in zip(tables, other, strict=True):
            self._problems.rows(
                each.table,
                each.rows[marked],
                lambda _: "an earlier row has the same fact with another end; keep one of them",
            )

    def _is_to_come(self, links: Links, columns: Sequence[Ints]) -> npt.NDArray[np.bool_]:
        """Marks the rows whose end is not past, and notes the others."""
        ends = [label_parts(label)[2] for label in self.labels]
        if any(ends[label] for label in distinct(links.label).tolist()):
            self.ending.add(links.table.name)
        past = np.array([bool(self._now and end and end <= self._now) for end in ends], dtype=np.bool_)[links.label]
        for row, label in zip(links.rows[past].tolist(), links.label[past].tolist(), strict=True):
            start, end = (self.names.texts[int(column[row])] for column in columns)
            self.past.append(fact_text((*label_parts(self.labels[label])[:2], start, end, ends[label])))
        return ~past

    def _verdicts(
        self, table: Table, rows: Ints, keys: Sequence[Ints], resolve: Callable[[int], ResolvedStatement | None]
    ) -> Ints:
        """The number of the label of each row; ABSENT for a row that breaks a rule."""
        _, first, which = np.unique(_key(keys), return_index=True, return_inverse=True)
        labels = np.full(len(first), ABSENT, dtype=np.int64)
        for at, row in enumerate(rows[first].tolist()):
            try:
                labels[at] = self._label(resolve(row))
            except GrantpathError:
                continue
        found = labels[which]
        self._problems.rows(table, rows[found == ABSENT], lambda row: self._error(lambda: resolve(row)))
        return found

    def _label(self, resolved: ResolvedStatement | None) -> int:
        words = [resolved.edge, *([resolved.privilege] if resolved.privilege else [])] if resolved else ["LISTED"]
        until = ["until", resolved.until] if resolved and resolved.until else []
        return self.label(" ".join([*words, *until]))

    def label(self, text: str) -> int:
        """The number of a label."""
        number = self._label_numbers.setdefault(text, len(self.labels))
        if number == len(self.labels):
            self.labels.append(text)
        return number


def _key(columns: Sequence[Ints]) -> Ints:
    """A number for each row: rows are equal in all columns if their numbers are equal."""
    key = columns[0].astype(np.int64)
    for column in columns[1:]:
        key = key * (int(column.max(initial=0)) + 1) + column
    return key


def fact_label(label: str) -> str:
    """A label without its end."""
    return label.partition(" until ")[0]


def label_parts(label: str) -> tuple[str, str, str]:
    """The kind, the privilege and the end of a label; empty if it has none."""
    fact, _, until = label.partition(" until ")
    kind, _, privilege = fact.partition(" ")
    return kind, privilege, until


def _end(text: str) -> str | None:
    return end_text(text) if text else None


def _effect(text: str) -> Effect:
    match text:
        case "allow" | "ALLOW":
            return "ALLOW"
        case "deny" | "DENY":
            return "DENY"
    raise Invalid(f"the effect {text!r} is unknown; write allow or deny")
