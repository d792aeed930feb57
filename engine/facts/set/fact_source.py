"""A set of facts as a source of answers: of a copy, a past state, or a root that is only in memory."""

from collections.abc import Sequence

from grantpath.engine.answers.check_columns import CheckColumns
from grantpath.engine.answers.request import ResolvedQuestion
from grantpath.engine.answers.source import Checked, Deciding, Verdicts
from grantpath.engine.facts.set.fact_set import FactSet
from grantpath.engine.facts.set.memory_check import answers
from grantpath.engine.facts.set.memory_lists import MemoryList, listed
from grantpath.engine.facts.set.memory_verdicts import MemoryVerdicts


class FactSource:
    """Answers checks and lists from a set of facts. Threads can share it."""

    def __init__(self, facts: FactSet) -> None:
        self.facts = facts

    def answers(self, questions: Sequence[ResolvedQuestion]) -> Checked:
        """The answers to checks in order, and a row with their revision."""
        return answers(self.facts, questions), self.facts.version.row

    def deciding(self) -> Deciding:
        """What decides many checks."""
        return Deciding(MemoryVerdicts(self.facts).decision, self.answers)

    def verdicts(self, columns: CheckColumns) -> Verdicts:
        """The verdicts on any number of checks, and a row with their revision."""
        return MemoryVerdicts(self.facts, columns).all(), self.facts.version.row

    def listing(self, questions: Sequence[ResolvedQuestion]) -> MemoryList:
        """The answer to `who` or `which`."""
        return listed(self.facts, questions)
