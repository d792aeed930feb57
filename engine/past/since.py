"""The answer to `since`: the change that gave a check its present answer."""

from grantpath.engine.answers.decision import words_of
from grantpath.engine.answers.notebook import verdict_html
from grantpath.engine.change.audit_log import Logged
from grantpath.graph.frozen import Frozen
from grantpath.graph.language.statement import Check
from grantpath.graph.messages import to_second


class Since(Frozen):
    """Since when the check `question` has had its present answer, which is `allowed` at `revision`.

    `since` is the first revision of the uninterrupted time with this answer, and `change` is the entry of the log that
    caused the answer. `change` is None if the answer was the same at all revisions that the log describes; `complete`
    then tells whether these are all revisions of the root, from 0 on.
    """

    question: Check
    allowed: bool
    revision: int
    since: int
    change: Logged | None
    complete: bool

    def __bool__(self) -> bool:
        return self.allowed

    @property
    def reasons(self) -> list[str]:
        """The revision with its time, and the change with its actor, as text."""
        if self.change is not None:
            by = f"{self.change.actor or 'a fact'}{f' as {self.change.as_role}' if self.change.as_role else ''}"
            return [
                f"revision {self.since}, {to_second(self.change.at)} UTC",
                f"by {by}: {self.change.statement}",
            ]
        if self.complete:
            return ["revision 0, the creation of the root"]
        return [f"revision {self.since} or earlier: the log does not list the facts that this revision changed"]

    def _repr_html_(self) -> str:
        verdict = "allowed" if self.allowed else "not allowed"
        return verdict_html(verdict, words_of(self.question), [("since", self.reasons)], self.revision)
