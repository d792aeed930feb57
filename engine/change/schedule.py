"""Groups statements so that many run together, with the same result as one by one.

Every statement reads facts (to be validated and authorized) and writes facts. Statements are assigned to levels. All
statements of a level are checked together, then written together. So a statement is in a later level than each previous
statement that writes what it reads, and in the same or a later level than each previous statement that reads what it
writes. A statement that overwrites facts also reads them, so no rule for two writes is needed.

Reads and writes are sets of keys:

    at REF        the entity, its owner, and the grants on it to the effective principals of the actors
    below REF     all of these for the entity and everything inside it; if REF is a subject, also all of its edges
    edge ...      one membership or grant
    actor         the effective principals of the actors
    leaving       a group or role loses a member or is dropped: a membership that closed a cycle may be possible then
    owning        the owners of all objects
    tags          which tags objects have, and the grants on tags to the effective principals of the actors

The statements can be of several actors. Their principals are taken together, so a statement may be in a later level
than it must, but never in an earlier one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from grantpath.engine.change.change_step import Actor
from grantpath.engine.policy.policy import Policy
from grantpath.engine.policy.statement_rules import ResolvedStatement
from grantpath.graph.language.reference import Reference

ResourceKey = str
ACTOR: ResourceKey = "actor"
LEAVING: ResourceKey = "leaving"
OWNING: ResourceKey = "owning"
TAGS: ResourceKey = "tags"


@dataclass(frozen=True)
class ReadWriteSet:
    """The keys that a statement reads and writes. `joins`: it may close a cycle with others, so that such statements
    keep their order."""

    reads: set[ResourceKey]
    writes: set[ResourceKey]
    joins: bool

    @property
    def changes_the_actor(self) -> bool:
        """Whether the statement can change the effective principals of an actor."""
        return ACTOR in self.writes


def levels(sets: Sequence[ReadWriteSet]) -> list[list[int]]:
    """The levels in order, each a list of indexes of statements."""
    made: list[list[int]] = []
    read: dict[ResourceKey, int] = {}  # by key, the last level that reads it
    written: dict[ResourceKey, int] = {}
    joined = 0
    for index, one in enumerate(sets):
        levels_before = [written[key] + 1 for key in one.reads if key in written]
        level = max(levels_before + [read[key] for key in one.writes if key in read], default=0)
        if one.joins:
            level = joined = max(level, joined)
        for key in one.reads:
            read[key] = max(level, read.get(key, 0))
        for key in one.writes:
            written[key] = max(level, written.get(key, 0))
        while len(made) <= level:
            made.append([])
        made[level].append(index)
    return made


class ReadWriteSets:
    """The read and write sets of changes while the effective principals of their actors, `held`, are constant."""

    def __init__(self, policy: Policy, root: Reference, actors: set[str], held: set[str]) -> None:
        self._policy = policy
        self._root = root
        self._actors = actors
        self._held = held | actors
        self._chains: dict[Reference, _Chain] = {}

    def of(self, change: ResolvedStatement, actor: Actor | None, below: Mapping[str, Reference]) -> ReadWriteSet:
        """The read and write set of a change by an actor (None: a fact). `below`: the places whose contents its
        authorization reads."""
        chain = self._chain(change.object)
        reads, writes = set(chain.at), set(chain.below)
        for ref in change.second_objects.values():
            reads |= self._chain(ref).at
        reads.update(f"below {ref}" for ref in below.values())
        if actor:
            reads |= {ACTOR, TAGS, f"at {actor.ref}"}
            reads |= {f"at {actor.as_role}"} if actor.as_role else set()
        if change.subject:
            reads |= self._chain(change.subject).at
            writes.add(f"below {change.subject}")
        self._by_kind(change, actor, reads, writes)
        return ReadWriteSet(reads, writes, change.joining is not None)

    def _by_kind(
        self, change: ResolvedStatement, actor: Actor | None, reads: set[ResourceKey], writes: set[ResourceKey]
    ) -> None:
        at = f"at {change.object}"
        match change.kind:
            case "add":
                writes |= {at, OWNING} if actor else {at}
                if change.object.text in self._actors:
                    writes.add(ACTOR)
            case "drop":
                reads.add(f"below {change.object}")
                writes |= {at, OWNING, *self._removed_with_it(change)}
                if self._subjects_in(change):  # what an owner or a creator gets must be there, to be removed with it
                    reads.add(OWNING)
            case "owner":
                writes |= {at, OWNING}
            case "member" | "remove":
                self._membership(change, reads, writes)
            case "tag" | "untag":
                self._edge(change, reads, writes)
                writes |= {TAGS, f"below {change.tag}"}
            case _:
                self._edge(change, reads, writes)
                if change.subject and change.subject.text in self._held:
                    writes |= {at, TAGS} if change.object.type in self._policy.file.tags else {at}

    def _membership(self, change: ResolvedStatement, reads: set[ResourceKey], writes: set[ResourceKey]) -> None:
        self._edge(change, reads, writes)
        if change.joining:
            reads.add(LEAVING)
        if change.kind == "remove" and change.contains:
            writes.add(LEAVING)
        if change.subject and change.subject.text in self._held:
            writes.add(ACTOR)

    @staticmethod
    def _edge(change: ResolvedStatement, reads: set[ResourceKey], writes: set[ResourceKey]) -> None:
        edge = f"edge {change.edge if change.effect is None else change.effect} {change.privilege} "
        edge += f"{change.subject or change.tag} {change.object}"
        reads.add(edge)
        writes.add(edge)

    def _removed_with_it(self, change: ResolvedStatement) -> Iterator[ResourceKey]:
        """The keys of the memberships that a drop removes with its subjects."""
        groups = self._subjects_in(change)
        if groups:
            yield LEAVING
        if any(type_ in self._policy.file.tags for type_ in self._types_in(change)):
            yield TAGS
        if change.object.text in self._held or (groups and change.object.type not in groups):
            yield ACTOR

    def _types_in(self, change: ResolvedStatement) -> list[str]:
        """The type of the object of a change, and those of what can be inside it."""
        return [change.object.type, *self._policy.names.below(change.object.type)]

    def _subjects_in(self, change: ResolvedStatement) -> list[str]:
        """Those of these types that are subjects."""
        return [type_ for type_ in self._types_in(change) if type_ in self._policy.names.subject_types]

    def _chain(self, ref: Reference) -> "_Chain":
        known = self._chains.get(ref)
        if known is None:
            above = self._policy.chain(ref, self._root)[1:2]
            chain = self._chain(above[0][1]) if above else _Chain(frozenset(), frozenset())
            known = self._chains[ref] = _Chain(chain.at | {f"at {ref}"}, chain.below | {f"below {ref}"})
        return known


@dataclass(frozen=True)
class _Chain:
    """The keys of a reference and of the places above it."""

    at: frozenset[ResourceKey]
    below: frozenset[ResourceKey]
