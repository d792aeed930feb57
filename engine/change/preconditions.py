"""Checks that do not depend on the actor: whether a change is possible, and whether it changes anything."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from grantpath import cypher
from grantpath.engine.answers.request import in_order, numbered
from grantpath.engine.policy.policy import Policy
from grantpath.engine.policy.statement_rules import ResolvedStatement
from grantpath.engine.tenants.registry import dropped
from grantpath.graph.errors import Conflict, Invalid, Unknown
from grantpath.graph.guard.transaction import QueryRunner
from grantpath.graph.language.ends import end_of
from grantpath.graph.language.reference import Reference


@dataclass
class Preconditions:
    """The facts that a group of changes depends on, and the memberships among subjects that it has added so far."""

    policy: Policy
    root: Reference
    existing: set[str]
    about: Mapping[ResolvedStatement, Mapping[str, Any]]
    root_owner: str | None
    now: int  # by the server's clock, in seconds since 1970
    _joined: list[tuple[str, list[str]]] = field(default_factory=list)

    @classmethod
    def read(
        cls,
        writing: QueryRunner,
        policy: Policy,
        root: Reference,
        changes: Sequence[ResolvedStatement],
        as_roles: Collection[str] = (),
    ) -> "Preconditions":
        """Reads the facts for all changes in one query, and which of the active roles exist."""
        refs = {ref for change in changes for ref in _named(policy, root, change)}.union(as_roles)
        row = cypher.load("preconditions").run(
            writing.ask,
            root=writing.root,
            refs=sorted(refs),
            top=root.text,
            joining=sorted({change.joining for change in changes if change.joining}),
            changes=numbered(
                {
                    "object": change.object.text,
                    "subject": str(change.subject or change.tag) if change.subject or change.tag else None,
                    "edge": change.edge,
                    "privilege": change.privilege,
                }
                for change in changes
            ),
        )[0]
        about = dict(zip(changes, in_order(row["states"], len(changes)), strict=True))
        return cls(policy, root, set(row["existing"]), about, row["root_owner"], row["now"])

    def check(self, change: ResolvedStatement) -> None:
        """Raises Invalid if the change is not possible in the graph. Must be called in the order of the changes."""
        if change.until and change.until <= end_of(self.now):
            raise Invalid(
                f"{change.text!r}: its end is past, since the server's clock says {end_of(self.now)}; write a later end"
            )
        for ref in [change.subject] if change.subject else []:
            self._require(ref)
        if change.kind == "add":
            entry = self.policy.names.change("add", change.object.type)
            for key, ref in change.second_objects.items():
                if entry is None or not entry.with_[key].new:
                    self._require(ref)
            if change.object.text in self.existing:
                raise Conflict(
                    f"{change.object} exists already: omit this statement, or choose another name (a drop would remove "
                    "its grants and memberships, too)"
                )
            self._require(self.policy.parent(change.object, self.root))
        elif change.kind not in ("grant", "revoke") or not self.policy.grants_on_missing:
            self._require(change.object)
        if change.tag:
            self._require(change.tag)
        if change.target and change.target != change.object:
            if change.target.text in self.existing:
                raise Conflict(f"{change.text!r}: {change.target} exists already; choose another name")
            self._require(self.policy.parent(change.target, self.root))
        if change.kind == "member" and change.joining:
            if self._cycle(change.joining, change):
                raise Invalid(
                    f"{change.text!r} would close a cycle: {change.object} is already in {change.subject}; first "
                    "remove the memberships that lead there"
                )
            self._joined.append((change.joining, self.about[change]["above"]))
        if change.kind == "drop" and change.object.text == self.root_owner:
            raise Invalid(
                f"{change.object} owns {self.root} and cannot be dropped: the root must keep an owner; first write "
                f"`owner {change.object.type}:NAME of {self.root}`"
            )
        keep = self.policy.file.types[change.object.type].keep_while_owning
        owning = self.about[change]["owning"]
        if change.kind == "drop" and keep and owning:
            raise Invalid(f"{change.object} owns {owning}; transfer the ownership first")

    def _require(self, ref: Reference) -> None:
        if ref == self.root and ref.text not in self.existing:
            raise dropped(ref.text)
        if ref.text not in self.existing:
            raise Unknown(f"{ref} does not exist", "; add it first, or check the name", absent=ref.text)

    def _cycle(self, subject: str, change: ResolvedStatement) -> bool:
        """Whether the container is already in the subject, by the graph or an earlier membership of the same batch."""
        seen: set[str] = set()
        waiting = set(self.about[change]["above"])
        while waiting:
            seen |= waiting
            waiting = {each for joined, above in self._joined if joined in waiting for each in above} - seen
        return subject in seen

    def forget_joined(self) -> None:
        """Forgets the memberships that were checked, so that all changes can be checked again without some of them."""
        self._joined.clear()

    def exists(self, change: ResolvedStatement) -> bool:
        """Whether the relationship that the change writes or removes is in the graph."""
        return bool(self.about[change]["edge"])

    def end(self, change: ResolvedStatement) -> str | None:
        """When this relationship ends, as the graph has it; None if it does not end, or does not exist."""
        until: str | None = self.about[change]["until"]
        return until

    def ends_earlier(self, change: ResolvedStatement) -> bool:
        """Whether the change would let an existing fact end earlier than it does now."""
        if not (change.until and change.kind in ("member", "grant") and self.exists(change)):
            return False
        end = self.end(change)
        return end is None or change.until < end

    def changes_nothing(self, change: ResolvedStatement) -> bool:
        """Whether the result of the change is already in the graph."""
        state = self.about[change]
        match change.kind:
            case "member" | "grant":
                return self.exists(change) and self.end(change) == change.until
            case "tag":
                return bool(state["edge"])
            case "remove" | "untag" | "revoke":
                return not state["edge"]
            case "owner":
                return change.subject is not None and state["owner"] == change.subject.text
            case "rename" | "move":
                return change.target == change.object
        return False


def _named(policy: Policy, root: Reference, change: ResolvedStatement) -> Iterator[str]:
    """Every entity that the change requires to exist or not to exist."""
    yield change.object.text
    yield from (ref.text for ref in change.second_objects.values())
    if change.subject:
        yield change.subject.text
    if change.kind == "add":
        yield policy.parent(change.object, root).text
    if change.target:
        yield from (change.target.text, policy.parent(change.target, root).text)
