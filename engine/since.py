"""The answer to `since`: the change that gave a check its present answer."""

from grantpath.engine.change.audit_log import Logged
from grantpath.engine.decide.decision import words_of
from grantpath.engine.decide.notebook import verdict_html
from grantpath.graph.frozen import Frozen
from grantpath.graph.statement import Check


class Since(Frozen):
    """Since when the check `question` has had the answer `allowed` that it has at `revision`.

    `since` is the revision from which on it had this answer without interruption, and `change` the entry of the
    log that gave it. `change` is None if the answer was the same at all revisions that the log reaches: then `complete`
    says whether these are all revisions of the root, from 0 on.
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
                f"revision {self.since}, {self.change.at:%Y-%m-%d %H:%M:%S} UTC",
                f"by {by}: {self.change.statement}",
            ]
        if self.complete:
            return ["revision 0, the creation of the root"]
        return [f"revision {self.since} or earlier: the log does not say which facts that revision changed"]

    def _repr_html_(self) -> str:
        verdict = "allowed" if self.allowed else "not allowed"
        return verdict_html(verdict, words_of(self.question), [("since", self.reasons)], self.revision)
