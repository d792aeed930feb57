"""Computes the facts of a root at a past revision, from the present facts or a snapshot and the deltas of the log."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from grantpath.engine.answers.batches import require_list
from grantpath.engine.change import audit_log
from grantpath.engine.change.audit_log import Logged, ReadLog
from grantpath.engine.change.delta_records import RecordedDelta, recorded
from grantpath.engine.facts.copy.replica import Replica
from grantpath.engine.facts.set.fact_builder import under_policy
from grantpath.engine.facts.set.fact_draft import Contradiction, Facts, advanced, returned
from grantpath.engine.facts.set.fact_version import FactOrigin, FactVersion
from grantpath.engine.facts.snapshot.snapshot_facts import read_snapshot, require_snapshot_of
from grantpath.engine.facts.snapshot.snapshot_reader import SnapshotReader
from grantpath.engine.policy import policy as policies
from grantpath.engine.policy.policy import Policy
from grantpath.engine.tenants.open_tenant import OpenTenant
from grantpath.engine.tenants.stored_policy import is_same
from grantpath.graph.errors import Inconsistent, InvalidInput
from grantpath.graph.files.remote_path import AnyPath
from grantpath.graph.language.inputs import require_number
from grantpath.graph.messages import short, time_text

LAST = datetime(9998, 12, 31, tzinfo=UTC)  # below the maximum of datetime, so that a microsecond can be added


class _Blocked(Exception):
    """The log does not describe a revision: the entry of `revision` does not list its facts, or there is no such entry.

    If entries are missing, `begins` is the revision of the next entry that exists.
    """

    def __init__(self, revision: int, begins: int | None = None) -> None:
        self.revision = revision
        self.begins = begins


@dataclass(frozen=True)
class _Start:
    """Known facts, from which the log leads to other revisions: revision, policy, and a function that reads the
    facts."""

    revision: int
    policy: Policy
    read: Callable[[], FactVersion]


@dataclass(frozen=True)
class PastReader:
    """Reads past states of one root. `replica` is its copy of the present facts, if there is one."""

    tenant: OpenTenant
    replica: Replica | None
    snapshots: Sequence[SnapshotReader]

    @classmethod
    def of(cls, tenant: OpenTenant, replica: Replica | None, snapshots: Iterable[AnyPath | str]) -> "PastReader":
        """Raises InvalidInput if one of the folders is not a snapshot."""
        return cls(tenant, replica, [SnapshotReader(folder) for folder in require_list("snapshots", snapshots, None)])

    # ---- revisions and times -----------------------------------------------------------------------------------------
    def revision_of(self, as_of: int | str | datetime) -> int:
        """The given revision, or the last one at or before the given time. Raises InvalidInput, Unavailable."""
        given = as_of  # whose digits can be more than those of a number in the database
        if isinstance(as_of, str):
            as_of = audit_log.revision_or_time("as_of", as_of)
        if isinstance(as_of, datetime):
            return self._at_time(audit_log.in_utc(as_of))
        require_number("as_of", as_of)
        if as_of < 0:
            raise InvalidInput(f"as_of={as_of} is negative; the first revision is 0")
        now = self.tenant.revision_now()
        if as_of > now:
            shown = short(str(given).lstrip("0"))
            raise InvalidInput(
                f"{self.tenant.tenant} is at revision {now}; it has no revision {shown} yet; write an earlier one, or "
                "omit as_of"
            )
        return as_of

    def _at_time(self, at: datetime) -> int:
        found = self._entries(until=min(at, LAST) + timedelta(microseconds=1))
        if not found:
            raise self._too_early(at)
        if found[-1].at < at and at > datetime.now(UTC):
            raise InvalidInput(f"{time_text(at)} is in the future; write an earlier time, or omit as_of")
        return found[-1].revision

    def entry(self, revision: int) -> Logged:
        """The entry of the log for a revision."""
        [found] = self._entries(after=revision - 1, before=revision + 1)
        return found

    def _entries(self, **wanted: object) -> list[Logged]:
        return audit_log.read(self.tenant.ask, ReadLog.of(limit=1, **wanted), self.tenant.policy, self.tenant.root)

    def _too_early(self, at: datetime) -> InvalidInput:
        name, entries = self.tenant.tenant, self.tenant.ask("log_deltas", after=-1, limit=1)["entries"]
        if not entries:
            return InvalidInput(f"{name} has no changes yet, and so no revision at {time_text(at)}; omit as_of")
        first = entries[0]["revision"]
        began = self.entry(first)
        return InvalidInput(
            f"the log of {name} begins at {time_text(began.at)} (revision {first}), after {time_text(at)}; write a "
            "later time, or a revision"
        )

    # ---- facts -------------------------------------------------------------------------------------------------------
    def facts_at(self, revision: int) -> tuple[FactVersion, Policy]:
        """The facts and the policy at a revision that the root has reached.

        The start is the nearest known state from which the log leads to this revision. Raises InvalidInput if there is
        none, Inconsistent if the log contradicts the facts, Unavailable.
        """
        now, found = self.tenant.state_now()
        made = found or ""
        starts = [*self._snapshot_starts(now, made), _Start(now, self.tenant.policy, self.present)]
        blocked: list[_Blocked] = []
        for start in sorted(starts, key=lambda each: abs(each.revision - revision)):
            try:
                return self._from(start, revision, made)
            except _Blocked as end:
                blocked.append(end)
        raise self._blocked(revision, max(blocked, key=lambda each: each.revision))

    def _snapshot_starts(self, now: int, made: str) -> list[_Start]:
        starts = []
        for source in self.snapshots:
            policy, origin = source.policy, FactOrigin(made, "", source.meta.policy_digest)
            require_snapshot_of(source, self.tenant.tenant, policy, origin, now)

            def read(
                source: SnapshotReader = source, policy: Policy = policy, origin: FactOrigin = origin
            ) -> FactVersion:
                return read_snapshot(source.folder, self.tenant.tenant, policy, origin, now)

            starts.append(_Start(source.meta.revision, policy, read))
        return starts

    def present(self) -> FactVersion:
        """The facts that the root has now. Raises Inconsistent, Unavailable."""
        current = None if self.replica is None else self.replica.current(self.tenant.policy)
        return current.apart() if current else self._copy().fresh(self.tenant.policy)

    def _copy(self) -> Replica:
        return Replica(self.tenant.store, self.tenant.tenant, self.tenant.root)

    def _from(self, start: _Start, revision: int, made: str) -> tuple[FactVersion, Policy]:
        low, high = sorted((start.revision, revision))
        deltas = self._deltas(low, high)  # first, because reading the facts takes longer
        version = start.read()
        if version.revision > high:
            deltas += self._deltas(high, version.revision)
        self.require_made(made, version)
        try:
            return travelled(version, start.policy, deltas, revision)
        except Contradiction as error:
            raise self.contradiction(version.revision, revision, error) from None

    def require_made(self, made: str, version: FactVersion) -> None:
        """Raises Inconsistent if the root or these facts do not have the creation id `made`."""
        if version.origin.made != made or (self.tenant.ask("revision")["made"] or "") != made:
            raise Inconsistent(f"{self.tenant.tenant} was created again while its past was read; ask again")

    def contradiction(self, begin: int, end: int, error: Contradiction) -> Inconsistent:
        """The error for a log that does not fit the facts between two revisions."""
        low, high = sorted((begin, end))
        return Inconsistent(
            f"{self.tenant.tenant}: the log contradicts the facts between revisions {low} and {high}: "
            f"{short(str(error))}; the graph or the log was changed without grantpath: verify the log by "
            "`grantpath log --verify`",
            code="log_contradicted",
        )

    def _deltas(self, after: int, until: int) -> list[RecordedDelta]:
        """The deltas of the revisions after `after`, up to `until`. Raises _Blocked."""
        found: list[RecordedDelta] = []
        for delta in recorded(self.tenant.ask, after, self.tenant.root) if after < until else ():
            if delta.revision != after + len(found) + 1:
                raise _Blocked(after + len(found) + 1, delta.revision)
            if delta.bulk:
                raise _Blocked(delta.revision)
            found.append(delta)
            if delta.revision == until:
                return found
        if after < until:
            raise _Blocked(after + len(found) + 1, until + 1)
        return found

    def _blocked(self, revision: int, end: _Blocked) -> InvalidInput:
        """The error for a revision that the deltas do not reach."""
        last = end.revision - 1
        if end.begins is not None:
            what = f"its log has no entries of revisions {end.revision} to {end.begins - 1}, e.g. because it was pruned"
        else:
            statement = short(self.entry(end.revision).statement)
            what = f"entry {end.revision} of its log ({statement}) does not list the facts that it changed"
        which = f"revision {revision}" if last == revision else f"a revision from {revision} to {last}"
        return InvalidInput(
            f"{self.tenant.tenant} cannot be read as of revision {revision}: {what}; pass a snapshot of {which}, which "
            "`grantpath mirror` wrote at that time"
        )


def travelled(
    version: FactVersion, policy: Policy, deltas: Sequence[RecordedDelta], revision: int
) -> tuple[FactVersion, Policy]:
    """The facts and the policy at a revision. `deltas` must contain those between it and the version, oldest first.

    An upgrade changes the policy together with the facts. Raises Contradiction.
    """
    back, waiting = version.revision > revision, list[Facts]()
    low, high = sorted((version.revision, revision))
    between = [delta for delta in deltas if low < delta.revision <= high]
    assert len(between) == high - low, "each revision has one delta"
    for delta in reversed(between) if back else between:
        facts: Facts = {"added": delta.added, "removed": delta.removed, "renamed": delta.renamed}
        if delta.policy is None:
            waiting.append(facts)
            continue
        left, entered = map(policies.from_source, reversed(delta.policy) if back else delta.policy)
        if not is_same(left, policy):
            raise Contradiction(f"the policy that the upgrade of revision {delta.revision} names")
        if back:
            version = under_policy(returned(version, [*waiting, facts], delta.revision - 1), entered)
            waiting = []
        else:
            version = under_policy(advanced(version, waiting, delta.revision - 1), entered)
            waiting = [facts]
        policy = entered
    step = returned if back else advanced
    return step(version, waiting, revision), policy
