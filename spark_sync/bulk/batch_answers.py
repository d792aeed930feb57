"""Answers many questions about many small tenants, e.g. those of scenario files, in one run of Spark."""

import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from grantpath.engine.facts.kernel.fact_table import FactTable
from grantpath.engine.facts.kernel.intervals import Ints
from grantpath.engine.facts.kernel.principals import Closure, Roles
from grantpath.engine.facts.kernel.tree_order import Numbering, number
from grantpath.engine.facts.snapshot.snapshot_questions import BoundQuestion, QuestionBinder, evaluate
from grantpath.engine.tenants.tenant_state import TenantState
from grantpath.graph.errors import GrantpathError, InvalidInput
from grantpath.graph.language.reference import type_of
from grantpath.graph.language.statement import Check, Which, Who
from grantpath.graph.progress import ReportLine
from grantpath.spark_sync.mirroring.closure import close, composition
from grantpath.spark_sync.mirroring.graph_rows import Graph
from grantpath.spark_sync.mirroring.snapshot_writer import Positions, numbered_facts
from grantpath.spark_sync.session.spark_session import SparkEngine, engine, read_parquet


@dataclass(frozen=True)
class BulkQuestion:
    """A check or question about one tenant state, given by the id of the state."""

    state: str
    asked: Check | Who | Which


BulkAnswer = bool | list[str] | GrantpathError


def answer_many(
    states: Iterable[TenantState],
    questions: Sequence[BulkQuestion],
    progress: ReportLine,
) -> list[BulkAnswer]:
    """The answers in order: true or false for a check, references in byte order for a question.

    An invalid question is answered with its error (Unknown, Invalid, ...); the other questions still get their answers.
    Raises ServerError if Spark cannot start, InvalidInput for a question about a state that is not in `states`.
    """
    numbered = {state.id: _NumberedState(state) for state in states}
    answers: list[BulkAnswer] = [False] * len(questions)
    listed: dict[int, list[str]] = {}  # by question: a question about all types has several answers
    for at, question in enumerate(questions):
        if question.state not in numbered:
            raise InvalidInput(f"question {at} is about the unknown state {question.state!r}; pass it in `states`")
        one = numbered[question.state]
        try:
            one.asked += [(at, bound) for bound in one.binder.bind(question.asked)]
        except GrantpathError as error:
            answers[at] = error
    busy = [one for one in numbered.values() if one.asked]
    if busy:
        spark = engine(progress)
        _close_all(spark, busy)
        jobs = spark.spark.sparkContext.parallelize([one.job() for one in busy], min(len(busy), 8))
        for one, found in zip(busy, jobs.map(_answer_all).collect(), strict=True):
            for (at, bound), positions in zip(one.asked, found, strict=True):
                refs = [one.numbering.refs[each] for each in positions]
                if bound.kind == "check":
                    answers[at] = bool(refs)
                else:
                    answers[at] = listed[at] = sorted([*listed.get(at, ()), *refs])
    return answers


@dataclass
class _Job:
    """The data that a task needs to answer the questions about one state."""

    fact_table: FactTable
    closure: Closure
    roles: Roles
    asked: list[BoundQuestion]


def _answer_all(job: _Job) -> list[Ints]:
    return [evaluate(each, job.fact_table, lambda *_: job.closure, lambda: job.roles) for each in job.asked]


class _NumberedState:
    """A state with its entities in tree order, and the questions about it."""

    def __init__(self, state: TenantState) -> None:
        self.numbering: Numbering = number(state.policy, state.root, state.entities)
        at = {ref: position for position, ref in enumerate(self.numbering.refs)}
        self.binder = QuestionBinder(state.policy, state.policy.root(state.root), self.numbering, at.get)
        self.asked: list[tuple[int, BoundQuestion]] = []
        self.pairs: list[tuple[int, int]] = []
        held = [edge for edge in state.edges if edge.kind in ("MEMBER_OF", "HAS_ROLE")]
        facts = [*_facts(state)]
        self._graph = Graph(
            list(state.entities),
            [edge.source for edge in held],
            [edge.target for edge in held],
            [edge.kind for edge in held],
            [principal for principal, _, _ in facts],
            [label for _, label, _ in facts],
            [place for _, _, place in facts],
        )
        self._where = Positions(pa.array(self.numbering.refs))
        self.source, self.target = self._where(self._graph.member), self._where(self._graph.member_of)

    def job(self) -> _Job:
        pairs = np.array(sorted(self.pairs), np.int64).reshape(-1, 2)
        role = np.array([kind == "HAS_ROLE" for kind in self._graph.kind], np.bool_)
        order = np.argsort(self.source[role], kind="stable")
        return _Job(
            numbered_facts(self.numbering, self._graph, self._where),
            Closure.of(pairs[:, 0], pairs[:, 1], len(self.numbering)),
            Roles(self.source[role][order], self.target[role][order]),
            [bound for _, bound in self.asked],
        )


def _facts(state: TenantState) -> Iterator[tuple[str, str, str]]:
    """The principal, the label and the place of each fact, and of what follows for it from a grant on a tag."""
    tagged = defaultdict[str, list[str]](list)
    for edge in state.edges:
        if edge.kind == "TAGGED":
            tagged[edge.target].append(edge.source)
    for edge in state.edges:
        match edge.kind:
            case "MEMBER_OF" | "HAS_ROLE":
                continue
            case "TAGGED":
                yield edge.target, edge.kind, edge.source
            case "OWNS":
                yield edge.source, edge.kind, edge.target
            case _:
                yield edge.source, f"{edge.kind} {edge.privilege}", edge.target
                privilege = state.policy.names.privilege_by_tag(edge.privilege or "", type_of(edge.target))
                if privilege:
                    yield from ((edge.source, f"{edge.kind} {privilege}", place) for place in tagged[edge.target])


def _close_all(spark: SparkEngine, numbered: list[_NumberedState]) -> None:
    """Computes one closure for the memberships of all states. Their positions are concatenated."""
    begins = np.cumsum([0, *(len(one.numbering) for one in numbered)])
    with tempfile.TemporaryDirectory(prefix="grantpath-") as scratch:
        folder = Path(scratch)
        pq.write_table(pa.table({"id": np.arange(begins[-1])}), folder / "subjects.parquet")
        ends = {
            name: np.concatenate([getattr(one, name) + begin for one, begin in zip(numbered, begins, strict=False)])
            for name in ("source", "target")
        }
        pq.write_table(pa.table(ends), folder / "members.parquet")
        subjects = read_parquet(spark.spark, folder / "subjects.parquet")
        members = read_parquet(spark.spark, folder / "members.parquet")
        for row in close(composition(spark), subjects, members).collect():
            at = int(np.searchsorted(begins, row.subject, side="right")) - 1
            numbered[at].pairs.append((row.subject - begins[at], row.holder - begins[at]))
