"""`rename REF to NAME` and `move REF to PARENT`: one entity, and all that is below it, gets another reference.

Grants, DENYs, owners and memberships stay, because they are edges between nodes. The delta has each fact twice: under
the former reference among the removed ones, under the new one among the added ones. If these are many, it has only the
two references: which facts get others then follows from the facts before.
"""

from dataclasses import dataclass, replace
from typing import Any

from grantpath.engine.change.apply import BatchApplier
from grantpath.engine.change.change_step import ChangeStep
from grantpath.engine.change.delta_records import SHORT
from grantpath.engine.change.deltas import BULK, Delta, delta_of
from grantpath.engine.policy.policy import Policy
from grantpath.engine.policy.renamed import Renamed
from grantpath.engine.policy.statement_rules import ResolvedStatement, Rules
from grantpath.graph.errors import Conflict, GrantpathError, Invalid
from grantpath.graph.guard.transaction import Row
from grantpath.graph.language.reference import MAX_REFERENCE_BYTES, Reference
from grantpath.graph.language.stored_fact import StoredFact, stored_fact

MOST_BYTES = 4  # of a character in UTF-8
LISTED = SHORT // 2  # facts that are listed in the log, where a reader can apply them without those before


def rename(applier: BatchApplier, rules: Rules, step: ChangeStep) -> None:
    """Renames or moves the object of a step, and sets the outcome of the step."""
    change, ask = step.change, applier.ask
    if not applier.needs(step) or not _may_be_there(applier, step):
        return
    renaming = Renaming.of(change, rules)
    try:
        most = BULK // 2 if applier.is_dry_run else LISTED
        [row] = ask("before_rename", ref=change.object.text, to=renaming.to, most=most, long=renaming.long)
        renaming.check(row)
    except GrantpathError as error:
        step.error = error
        return
    parent = rules.policy.parent(renaming.target, rules.root).text if change.kind == "move" else None
    ask(
        "rename",
        ref=change.object.text,
        to=renaming.to,
        name=renaming.target.name,
        former=renaming.renamed.former,
        path=renaming.renamed.path,
        parent=parent,
    )
    applier.renamed(change.object.text, renaming.to)
    step.changed = True
    if len(row["facts"]) <= most:
        step.delta = renaming.listed(row["facts"])
    else:
        step.delta = Delta(bulk=True) if applier.is_dry_run else renaming.delta(row["refs"])


def _may_be_there(applier: BatchApplier, step: ChangeStep) -> bool:
    """Whether the actor may add the object where it moves to. A refused step gets its error."""
    change = step.change
    if change.kind == "move" and change.target:
        added = replace(change, kind="add", object=change.target, target=None, text=f"add {change.target}")
        adding = ChangeStep(added, step.actor)
        applier.authorize([adding])
        if adding.error:
            step.error = adding.error.prefixed(f"{step.text!r}: ")
    return step.error is None


@dataclass(frozen=True)
class Renaming:
    """The new references of an object and of what is below it."""

    change: ResolvedStatement
    policy: Policy
    root: Reference
    target: Reference
    renamed: Renamed

    @classmethod
    def of(cls, change: ResolvedStatement, rules: Rules) -> "Renaming":
        assert change.target is not None, "a rename or a move has a target"
        renamed = Renamed.of(rules.policy.names, change.object.text, change.target.text)
        return cls(change, rules.policy, rules.root, change.target, renamed)

    @property
    def to(self) -> str:
        return self.target.text

    @property
    def long(self) -> int:
        """The number of characters from which a reference can become too long."""
        return max(1, (MAX_REFERENCE_BYTES - self.renamed.growth) // MOST_BYTES)

    def check(self, row: Row) -> None:
        """Raises Conflict or Invalid if the new references cannot be given; `row` is of before_rename.cypher."""
        object_, text = self.change.object, repr(self.change.text)
        if row["taken"]:
            raise Conflict(
                f"{text}: {self.to} does not exist, but it, or a name below it, has grants or memberships, which would "
                f"then count for {object_}; remove them first, or choose another name"
            )
        deeper = len(self.target.segments) - len(object_.segments)
        for type_, length in row["lengths"] if deeper else ():
            if length + deeper not in self.policy.names.lengths(type_):
                raise Invalid(
                    f"{text}: below {object_} is a {type_} with {length} segments, which would have "
                    f"{length + deeper}, and the policy has no such {type_}; choose another parent"
                )
        for ref in row["long"] if self.renamed.growth > 0 else ():
            if len(self.renamed.new(ref).encode()) > MAX_REFERENCE_BYTES:
                raise Invalid(
                    f"{text}: below {object_} is a reference that would be longer than {MAX_REFERENCE_BYTES} bytes; "
                    "choose a shorter name"
                )

    def delta(self, refs: list[str]) -> Delta:
        """The delta without facts; `refs` are those of the object and of what is below it."""
        touched = [] if len(refs) > BULK // 2 else sorted({*refs, *map(self.renamed.new, refs)})
        return Delta(touched=touched, renamed=(self.renamed.ref, self.renamed.to))

    def listed(self, facts: list[list[Any]]) -> Delta:
        """The delta with these facts of the object and of what is below it."""
        removed: list[StoredFact] = [stored_fact(*fact) for fact in facts]
        new = self.renamed.new
        added = [(kind, name, new(by), new(on), until) for kind, name, by, on, until in removed]
        return delta_of(self.policy, added, removed)

    def new(self, text: str) -> str:
        """The new reference of an entity; its own if it is neither the object nor below it. Raises Invalid if the
        policy has no such reference."""
        self.policy.chain(self.policy.reference(text, self.root), self.root)
        return self.renamed.new(text)
