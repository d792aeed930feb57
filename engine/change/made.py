"""Accepted changes as they are returned to the caller."""

from pydantic import Field

from grantpath.engine.answers.notebook import verdict_html
from grantpath.engine.change.change_step import Actor, Kept, actor_names
from grantpath.graph.frozen import Frozen
from grantpath.graph.language.statement import parse_statement

MOST_NAMED = 5  # objects in a note


class MakeChange(Frozen):
    """Make the change of `statement`, as the actor `by` (None: as a fact, without authorization)."""

    statement: str
    by: str | None = None
    as_role: str | None = None

    @classmethod
    def of(cls, statement: str, actor: Actor | None) -> "MakeChange":
        """The change of a statement by an actor, or as a fact."""
        by, as_role = actor_names(actor)
        return cls(statement=statement, by=by, as_role=as_role)


class Change(Frozen):
    """An accepted change: its id in the log (None: it changed nothing) and the first revision that includes it.

    `already`: the change was made earlier with this id, and nothing was done now. `hash`: the hash of its log entry,
    with which `verify_log` proves all entries up to that entry; None if the change changed nothing, was a dry run, or
    was pruned. A dry run sets `added` and `removed`: every fact that would be added or removed, as canonical
    statements, including the facts that a drop removes with its object and the facts that a creator gets. An `add` of
    a name that had grants or memberships before says how many as `kept_grants` and `kept_memberships`: they count from
    now on, with what was meant when they were written. `without_owner`: the objects that lose their owner by this
    change, because it drops a subject; None if they are too many to be listed. `note` says both as a text. Two changes
    with the same question, id and revision are equal.
    """

    id: str | None
    revision: int
    question: MakeChange = Field(repr=False)
    already: bool = Field(default=False, repr=False)
    hash: str | None = Field(default=None, repr=False)
    added: list[str] = Field(default_factory=list, repr=False)
    removed: list[str] = Field(default_factory=list, repr=False)
    kept_grants: int = Field(default=0, repr=False)
    kept_memberships: int = Field(default=0, repr=False)
    without_owner: list[str] | None = Field(default_factory=list, repr=False)

    @property
    def note(self) -> str | None:
        """What a name has already that this change creates, the objects that it leaves without an owner, or that a DENY
        ends; None if nothing of this."""
        kept = Kept(self.kept_grants, self.kept_memberships).text
        if kept:
            return f"{self.question.statement}: this name has {kept}"
        if self.question.statement.startswith("deny ") and (until := parse_statement(self.question.statement).until):
            return f"{self.question.statement}: the access that this DENY removes comes back at {until}"
        if not self.without_owner:
            return None
        shown = ", ".join(self.without_owner[:MOST_NAMED])
        more = f" and {len(self.without_owner) - MOST_NAMED:,} more" if len(self.without_owner) > MOST_NAMED else ""
        return f"{self.question.statement}: no owner is left of {shown}{more}; name one with `owner SUBJECT of REF`"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Change) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[str | None, int, MakeChange]:
        return self.id, self.revision, self.question

    def _repr_html_(self) -> str:
        facts = [("added", self.added), ("removed", self.removed)]
        if self.added or self.removed:
            verdict = "would be done"
        else:
            verdict = "no change" if self.id is None else "done before" if self.already else "done"
        return verdict_html(verdict, self.question.statement, facts, self.revision)
