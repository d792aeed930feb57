"""The methods that compute the access that a change would give and take away, before it is made."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from grantpath.engine.answers.access_effects import Effects
from grantpath.engine.answers.batches import need_list, one_of
from grantpath.engine.authorizer.change_verbs import ChangeVerbs
from grantpath.engine.change.change_plan import ChangePlan
from grantpath.engine.change.deltas import net
from grantpath.engine.change.made import Change
from grantpath.engine.change.planned_revision import Planned
from grantpath.engine.policy.policy import Policy
from grantpath.engine.policy.statement_rules import canonical_statement
from grantpath.engine.tenants.open_tenant import following
from grantpath.graph.client import telemetry
from grantpath.graph.errors import Conflict, Inconsistent, InvalidInput

if TYPE_CHECKING:
    from grantpath.engine.facts.copy.replica import Replica
    from grantpath.engine.facts.set.fact_draft import Facts
    from grantpath.engine.facts.set.fact_version import FactVersion

TRIES = 20  # of reading the facts and planning at the same revision, while others change the root
READ_AT = (3, 10)  # before these tries, a copy that cannot be proved current is read again
PAUSE = 0.02  # seconds between two tries
Found = TypeVar("Found")


class EffectVerbs(ChangeVerbs):
    """Computes the effects of changes of one root. Threads can share it.

    All facts must be in memory. With `open(..., replica=True)` they are those of the copy; otherwise they are read when
    they are first needed, and kept.
    """

    replica: "Replica | None" = None  # the copy of the facts, for `open(..., replica=True)`
    _facts: "Replica | None" = None  # without a copy: the facts that were read for effects

    @following
    def plan(self, statements: Iterable[str], *, by: str | None = None, as_role: str | None = None) -> ChangePlan:
        """The facts that these statements would change, and the effects: who would gain and lose what. Changes nothing.

        The statements are planned as one call of `change_all`, with its rules and errors. Also raises InvalidInput if a
        statement removes more than 200,000 facts, and Inconsistent if the root changes too often. Needs the extra
        `replica`.
        """
        with telemetry.span("plan", self.tenant, subject=by):
            texts = need_list("statements", statements)

            def planned(version: "FactVersion") -> ChangePlan | None:
                changes = self._service.change_all(texts, by, as_role, None, True, Planned())
                _need_facts(changes)
                if _base(changes, version.revision) != version.revision:
                    return None
                together = net(changes)
                entries = [{"added": each.added, "removed": each.removed} for each in changes]
                effects = self._compared(version, entries, self.policy)
                return ChangePlan(
                    revision=version.revision,
                    root_id=version.origin.made,
                    changes=tuple(changes),
                    added=tuple(together.added),
                    removed=tuple(together.removed),
                    effects=effects,
                )

            return self._with_facts(planned)

    @following
    def effects_of(
        self, added: Iterable[str], removed: Iterable[str], *, at: int, policy: Policy | None = None
    ) -> Effects:
        """The effects of the facts that a dry run of a load or an upgrade lists. `at`: the revision of the dry run;
        `policy`: the new policy of an upgrade.

        `added` and `removed` are statements, complete and in the order of a delta. Raises Conflict if the
        root is at another revision, or if a fact does not fit. Needs the extra `replica`.
        """
        spelled = partial(canonical_statement, self.policy, self.root)
        entry = {"added": [*map(spelled, added)], "removed": [*map(spelled, removed)]}

        def compared(version: "FactVersion") -> Effects:
            if version.revision != at:
                raise Conflict(
                    f"{self.tenant} is at revision {version.revision}, not at {at}; repeat the dry run and this call",
                    code="root_moved",
                )
            return self._compared(version, [entry], policy or self.policy)

        return self._with_facts(compared)

    def _with_facts(self, work: "Callable[[FactVersion], Found | None]") -> Found:
        """The result of `work` on the present facts. `work` returns None if it finds the root at another revision; it
        is then called again with newer facts."""
        for turn in range(TRIES):
            version = self._facts_now(turn in READ_AT)
            if version is not None and (found := work(version)) is not None:
                return found
            self.store.pause(PAUSE)
        raise Inconsistent(f"{self.tenant} changes too often to compare its facts at one revision; ask again later")

    def _facts_now(self, may_read: bool) -> "FactVersion | None":
        from grantpath.engine.facts.copy.replica import Replica  # only here: it needs an extra

        copy = self.replica or self._facts
        if copy is None:
            copy = self._facts = Replica.of(self.store, self.tenant, self.root, self.policy)
        version = copy.current(self.policy)
        if version is None and may_read:
            self.store.apart(lambda: copy.read(self.policy))
            version = copy.current(self.policy)
        return version

    def _compared(self, version: "FactVersion", entries: "Sequence[Facts]", policy: Policy) -> Effects:
        from grantpath.engine.facts.compare.affected import Side
        from grantpath.engine.facts.compare.comparison import compare
        from grantpath.engine.facts.set.fact_builder import under_policy
        from grantpath.engine.facts.set.fact_draft import Contradiction

        copy = self.replica or self._facts
        assert copy is not None, "the version comes from this copy"
        try:
            after = copy.planned(version, entries)
        except Contradiction as error:
            raise Conflict(
                f"{self.tenant} does not have the facts that this change is about: {error}; repeat the dry run",
                code="root_moved",
            ) from None
        if policy is not self.policy:
            after = under_policy(after, policy)
        statements = [text for entry in entries for name in ("added", "removed") for text in entry[name]]
        return compare(Side(version, self.policy, self.root), Side(after, policy, self.root), statements)


def _base(changes: Iterable[Change], revision: int) -> int:
    """The revision at which a dry run began; `revision` if there are no changes."""
    for each in changes:
        return each.revision - (each.id is not None)
    return revision


def _need_facts(changes: Iterable[Change]) -> None:
    """Raises InvalidInput for a change whose facts a dry run does not list, because they are too many."""
    for index, each in enumerate(changes):
        if each.id is not None and not (each.added or each.removed):
            text = "removes more than 200,000 facts, which a plan cannot compare; drop smaller parts"
            raise one_of("statement", index, InvalidInput(f"{each.question.statement}: {text}"))
