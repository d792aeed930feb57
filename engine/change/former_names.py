"""The names that an entity has had: renames, moves and drops in the log tell which entity had a name, and when."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from grantpath.engine.change.renaming import Renaming
from grantpath.engine.policy.policy import Policy
from grantpath.engine.policy.statement_rules import ResolvedStatement, Rules
from grantpath.engine.tenants.one_revision import GuardedAsk
from grantpath.engine.tenants.root_name import as_named_now
from grantpath.graph.errors import Invalid
from grantpath.graph.language.reference import Reference
from grantpath.graph.language.statement import parse_statement


@dataclass(frozen=True)
class NameSpan:
    """A reference that an entity has at the revisions from `first` to `last`."""

    ref: str
    first: int
    last: int


class _Renamed:
    """A rename or a move, and what it makes of references."""

    def __init__(self, revision: int, change: ResolvedStatement, rules: Rules) -> None:
        assert change.target is not None, "a rename or a move has a target"
        self.revision = revision
        self._forward = Renaming.of(change, rules)
        self._back = Renaming.of(replace(change, object=change.target, target=change.object), rules)

    def before(self, ref: str) -> str:
        """The reference that the entity with this one had before. Raises Invalid if it cannot have existed then."""
        return self._back.new(ref)

    def after(self, ref: str) -> str:
        """The reference that the entity with this one got. Raises Invalid if it cannot have existed then."""
        return self._forward.new(ref)

    def gives(self, ref: str) -> bool:
        """Whether an entity got this reference then."""
        try:
            return self.before(ref) != ref
        except Invalid:
            return False

    def frees(self, ref: str) -> bool:
        """Whether an entity had this reference until then."""
        return self.after(ref) != ref


class _Dropped:
    """A drop of an entity and of all below it."""

    def __init__(self, revision: int, change: ResolvedStatement, rules: Rules) -> None:
        self.revision = revision
        self._object, self._rules = change.object, rules

    def before(self, ref: str) -> str:
        return ref

    def after(self, ref: str) -> str:
        return ref

    def gives(self, _: str) -> bool:
        return False

    def frees(self, ref: str) -> bool:
        policy, root = self._rules.policy, self._rules.root
        return policy.is_within(policy.reference(ref, root), self._object, root)


_Event = _Renamed | _Dropped


@dataclass(frozen=True)
class FormerNames:
    """The renames, moves and drops of a root until a revision, newest first, and which references exist then."""

    revision: int
    events: Sequence[_Event]
    existing: Collection[str]

    @classmethod
    def read(cls, ask: GuardedAsk, policy: Policy, root: Reference, refs: Iterable[str]) -> "FormerNames":
        """Those in the log, and which of `refs` exist. Raises the errors of `ask`."""
        row = ask("renames", refs=[*refs])
        return cls(row["revision"], [*_events(row["entries"], Rules(policy, root))], row["existing"])

    def spans(self, ref: str) -> list[NameSpan]:
        """This reference, whatever entity had it; then the other ones of the entity that has it now, or had it last."""
        return [NameSpan(ref, 0, self.revision), *(span for span in self._of_one(ref) if span.ref != ref)]

    def by_rename(self, ref: str, revision: int) -> list[NameSpan]:
        """The references, newest first, of the entity that has this one at a revision, until another entity had it.
        Drops do not count."""
        renames = [each for each in self.events if isinstance(each, _Renamed) and each.revision <= revision]
        return _earlier(ref, revision, renames)

    def _of_one(self, ref: str) -> list[NameSpan]:
        """The references of the entity that has this one now, or that had it last."""
        if ref not in self.existing:
            for at, each in enumerate(self.events):
                if each.gives(ref):
                    break
                if each.frees(ref):
                    later = _later(ref, self.revision, self.events[at::-1])
                    return later + _earlier(ref, each.revision - 1, self.events[at + 1 :])
        return _earlier(ref, self.revision, self.events)


def _earlier(ref: str, last: int, events: Sequence[_Event]) -> list[NameSpan]:
    """The references, newest first, of the entity that has this one at the revision `last`. `events` are those until
    then, newest first."""
    spans: list[NameSpan] = []
    for each in events:
        try:
            former, frees = each.before(ref), each.frees(ref)
        except Invalid:  # no entity can have had this reference then: the entity was added later
            return [*spans, NameSpan(ref, each.revision, last)]
        if former != ref:
            spans.append(NameSpan(ref, each.revision, last))
            ref, last = former, each.revision - 1
        elif frees:  # until then, another entity had the reference
            return [*spans, NameSpan(ref, each.revision, last)]
    return [*spans, NameSpan(ref, 0, last)]


def _later(ref: str, last: int, events: Sequence[_Event]) -> list[NameSpan]:
    """The references, newest first, that an entity got after it had this one, until the revision `last`. `events` are
    those from its rename or drop on, oldest first."""
    spans: list[NameSpan] = []
    for each in events:
        new = each.after(ref)
        if new == ref and not each.gives(ref) and not each.frees(ref):
            continue
        if spans:
            spans[-1] = replace(spans[-1], last=each.revision - 1)
        if new == ref:  # the entity was dropped, or, in a load, replaced by another one
            break
        spans.append(NameSpan(new, each.revision, last))
        ref = new
    return spans[::-1]


def _events(rows: Iterable[Mapping[str, Any]], rules: Rules) -> Iterator[_Event]:
    """Those that the present policy can read: under an earlier policy, there may have been other types."""
    for row in rows:
        try:
            change = rules.resolve(parse_statement(as_named_now(row["statement"], rules.root)), as_fact=True)
        except Invalid:
            continue
        yield (_Dropped if change.kind == "drop" else _Renamed)(row["revision"], change, rules)
