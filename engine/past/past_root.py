"""A root as it was at a past revision: it answers from the facts of that time, with the policy of that time."""

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from functools import cached_property
from typing import Any, TypeVar

from grantpath.engine.answers.request import decision, only_within, resolve, resolve_each
from grantpath.engine.facts.set.fact_set import FactSet
from grantpath.engine.facts.set.fact_source import FactSource
from grantpath.engine.facts.set.memory_paths import MemoryPaths
from grantpath.engine.facts.set.memory_views import MemoryViews
from grantpath.engine.facts.snapshot.snapshot_questions import SnapshotAnswer
from grantpath.engine.inspection.root_view import Ask
from grantpath.graph.errors import Unknown
from grantpath.graph.language.near_names import SUGGEST_AMONG, nearest
from grantpath.graph.language.reference import type_of
from grantpath.graph.language.statement import parse_check, parse_question
from grantpath.graph.messages import short

Result = TypeVar("Result")


class PastRoot(FactSource):
    """A root as it was at `revision`, with its `policy` of that time. Immutable; threads can share it.

    Pass it as `as_of` to questions of the Authorizer that returned it. They are answered without the database.
    """

    def __init__(self, tenant: str, facts: FactSet) -> None:
        super().__init__(facts)
        self.tenant = tenant
        self._version, self.policy, self.root = facts

    @property
    def revision(self) -> int:
        """The past revision."""
        return self._version.revision

    def __repr__(self) -> str:
        return f"<{self.tenant} as of revision {self.revision}>"

    # ---- answers -----------------------------------------------------------------------------------------------------
    def answer(self, question: str) -> SnapshotAnswer:
        """The answer to `who can ...`, `which ... can ...`, or a check line, like `snapshot_questions.ask`.

        Raises Unknown, InvalidReference, Invalid.
        """
        if question.split()[:1] in (["who"], ["which"]):
            questions = resolve_each(self.policy, self.root, parse_question(question))
            found = self.listing(questions)
            for each in questions:
                self.require_existing(each.needed, found.known)
            refs = only_within(self.policy, self.root, questions, found.refs)
            return SnapshotAnswer([ref for ref in refs if ref not in self.policy.hidden], self.revision)
        check, expected = parse_check(question)
        asked = resolve(self.policy, self.root, check)
        [row], marks = self.answers([asked])
        return SnapshotAnswer(bool(decision(self, check, asked, row, marks)) == expected, self.revision)

    def ask(self, query: str, *, at_least: int | None = None, **parameters: Any) -> Mapping[str, Any]:
        """The row of one of the queries that explain a decision or show an entity. `at_least` has no effect here."""
        row = next(getattr(of, query) for of in self._showing if hasattr(of, query))(**parameters)
        return {**row, "revision": self.revision, "made": self._version.origin.made}

    def at_one_revision(self, work: Callable[[Ask], Result]) -> Result:
        """Calls `work` with `ask`, and returns its result."""
        return work(self.ask)

    @cached_property
    def _showing(self) -> tuple[MemoryPaths, MemoryViews]:
        """What answers queries of cypher/, each by a method with the name of the query."""
        return MemoryPaths(self.facts), MemoryViews(self.facts)

    # ---- names -------------------------------------------------------------------------------------------------------
    def near(self, ref: str) -> str:
        """` (did you mean X?)` with names of that time that are similar to a missing name; empty if there are none."""
        known = self._version.listed.get(type_of(ref), [])
        if ref in known or len(known) > SUGGEST_AMONG:
            return ""
        return nearest(ref, [each for each in known if each not in self.policy.hidden])

    def require_existing(self, needed: Iterable[str], known: Collection[str]) -> None:
        """Raises Unknown for the first of these references that is not `known`, or that the policy hides."""
        for ref in needed:
            if ref not in known or ref in self.policy.hidden:
                text, remedy = (
                    f"{short(ref)} did not exist at revision {self.revision}",
                    "; check the name and the revision",
                )
                error = Unknown(text, remedy, absent=ref)
                error.suggest(self.near(ref))
                raise error


AsOf = int | str | datetime | PastRoot
"""A revision, a time (or its text in ISO 8601; UTC if it has no offset), or a result of `past`."""
