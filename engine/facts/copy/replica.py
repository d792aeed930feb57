"""A copy of a root's facts in this process, which each question proves to be current.

The copy contains facts and no decisions. A question reads the root's revision marks and the deltas since the copy's
revision, in one round trip. If the marks are equal, the copy with these deltas is the state of exactly that revision,
and the answer is computed from it. In all other cases the caller asks the database. If the copy is far behind, a thread
meanwhile brings it up to date from the log, or reads the root again if the log does not contain every change.

One reading of the marks is enough. A writer sets `revision` after its commit and returns only then, so every change
that was acknowledged before the question is at or below the revision that the question reads, and is in the log.
"""

import logging
import time
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Lock, Thread, local
from typing import NoReturn, TypeVar

from grantpath.engine.answers.check_columns import CheckColumns
from grantpath.engine.answers.request import ResolvedQuestion
from grantpath.engine.answers.source import FEW, Checked, Deciding, Verdicts, unlike
from grantpath.engine.facts.copy.replica_log import Proof, RootLog
from grantpath.engine.facts.copy.shared_read import SharedRead
from grantpath.engine.facts.set.copy_size import MIB, TooLarge, require_room
from grantpath.engine.facts.set.fact_draft import Contradiction, Facts, advanced
from grantpath.engine.facts.set.fact_set import FactSet
from grantpath.engine.facts.set.fact_source import FactSource
from grantpath.engine.facts.set.fact_version import FactVersion
from grantpath.engine.facts.set.graph_facts import read_facts
from grantpath.engine.facts.set.memory_check import EarlyAnswers
from grantpath.engine.facts.set.memory_lists import MemoryList
from grantpath.engine.facts.snapshot.snapshot_facts import read_snapshot
from grantpath.engine.policy.policy import Policy
from grantpath.graph.errors import GrantpathError, Inconsistent, InvalidInput
from grantpath.graph.forks import remake_in_children
from grantpath.graph.guard.store import Store
from grantpath.graph.language.inputs import require_number
from grantpath.graph.language.reference import Reference

log = logging.getLogger("grantpath.replica")
NEAR = 200  # entries of the log that a question applies; a copy that lacks more is brought up to date by a thread
PAGE = 500  # entries that the thread applies at a time
READS = 3  # tries to read a root whose log cannot be followed meanwhile
RETRY_SECONDS = 1.0  # after a failed attempt to read the root
RETRY_TOO_LARGE_SECONDS = 600.0  # after an attempt in which the facts took too much memory
Meanwhile = Callable[[FactVersion], None]
Result = TypeVar("Result")


class _Pinned(local):
    """The version at which all questions of a thread are answered now, or the error that each of them raises."""

    version: FactVersion | None = None
    error: GrantpathError | None = None


class Replica:
    """The copy of one root's facts. Threads may share it, and both processes may use it after a fork.

    `answered` counts the questions for which the copy was proved current, `left` those that it left to the database.
    """

    def __init__(self, store: Store, tenant: str, root: Reference, limit: int | None = None) -> None:
        """`root` is the root object of the tenant; `limit`: the memory that the facts may take, in MiB."""
        self._store = store
        self._limit = None if limit is None else limit * MIB
        self._log = RootLog(store, tenant, root)
        self._version: FactVersion | None = None
        self._left_out: FactVersion | None = None  # the latest version without facts that have ended
        self._not_before: dict[str, float] = {}  # when a copy may be read again, by the digest of the policy
        self.answered = self.left = 0
        self.after_fork()
        remake_in_children(self)

    @classmethod
    def of(
        cls,
        store: Store,
        tenant: str,
        root: Reference,
        policy: Policy,
        snapshot: Path | str | None = None,
        limit: int | None = None,
    ) -> "Replica":
        """A copy of a root. It is read now, from a snapshot if one is given; if that is not possible, it is read
        later."""
        replica = cls(store, tenant, root, limit)
        replica.read(policy, snapshot)
        return replica

    def after_fork(self) -> None:
        """Called in a forked child. The copy is still valid, since it is never changed in place; its thread is gone."""
        self._applying = Lock()
        self._starting = Lock()
        self._shared: SharedRead[FactVersion | None] = SharedRead(self._store.timeout)
        self._pinned = _Pinned()
        self._thread: Thread | None = None

    @property
    def revision(self) -> int | None:
        """The revision of the copy; None while there is none."""
        version = self._version
        return None if version is None else version.revision

    def current(
        self,
        policy: Policy,
        at_least: int | None = None,
        meanwhile: Meanwhile | None = None,
        whole: bool = True,
    ) -> FactVersion | None:
        """The facts at the revision that the root has now; None if the database must answer.

        The database must also answer if this revision is below `at_least`. If possible, `meanwhile` is called with the
        facts of the copy while their proof is on its way. If the database user may not remove what has ended, the facts
        are without it, or with `whole` the database must answer. Raises Unavailable, and InvalidInput if `at_least` is
        not an integer.
        """
        if at_least is not None:
            require_number("at_least", at_least)
        version = self._proved(policy, meanwhile)
        if version is None or (at_least is not None and version.revision < at_least) or (whole and version.left_out):
            self.left += 1
            return None
        self.answered += 1
        return version

    def at_one_proof(self, policy: Policy, work: Callable[[], Result]) -> Result | None:
        """The result of `work`, which asks questions in this thread: all are answered at one proof, which is read now.

        If the reading fails, each of the questions raises its error. Returns None, without a call of `work`, if the
        database must answer.
        """
        pinned = self._pinned
        try:
            pinned.version = self._proved(policy, None)
        except GrantpathError as error:
            pinned.error = error
        try:
            return None if pinned.version is None and pinned.error is None else work()
        finally:
            pinned.version = pinned.error = None

    def ready(self, policy: Policy) -> bool:
        """Whether there is a copy, which is read now if there is none, or brought up to date if it is far behind. Waits
        no longer than the timeout; a copy that takes longer is read all the same, for later questions."""
        if not self.has_facts_of(policy):
            self._renew_later(policy)
        with self._starting:
            thread = self._thread
        if thread is not None:
            thread.join(self._store.timeout)
        return self.has_facts_of(policy)

    def has_facts_of(self, policy: Policy) -> bool:
        """Whether there is a copy under this policy that is not being read again."""
        held = self._version
        return held is not None and held.origin.policy == policy.digest and self._thread is None

    def source(self, policy: Policy, root: Reference, at_least: int | None, whole: bool) -> "CopySource":
        """The copy as a source of answers under a policy, at the revision `at_least` or later. `whole` as in
        `current`."""
        return CopySource(self, policy, root, at_least, whole)

    def planned(self, version: FactVersion, entries: Sequence[Facts]) -> FactVersion:
        """The facts that a version would have after these deltas. Raises Contradiction if one of them does not fit."""
        with self._applying:  # all versions share their numbers
            return advanced(version, entries, version.revision + 1)

    def _proved(self, policy: Policy, meanwhile: Meanwhile | None) -> FactVersion | None:
        pinned, held = self._pinned, self._version
        if pinned.error is not None:
            raise copy(pinned.error) from None  # callers add their own question to an error
        if pinned.version is not None and pinned.version.origin.policy == policy.digest:
            return pinned.version
        if held is None or held.origin.policy != policy.digest:
            self._renew_later(policy)
            return None
        if self._thread is not None:
            return None  # the copy is far behind
        version = self._shared.run(partial(self._read_proof, policy), meanwhile and partial(meanwhile, held))
        return version if version is None or version.origin.policy == policy.digest else None

    def _read_proof(self, policy: Policy, meanwhile: Callable[[], None] | None) -> FactVersion | None:
        """The copy, with the changes that its proof contains; None if the database must answer."""
        held = self._version
        if held is None or held.origin.policy != policy.digest:
            return None  # discarded by another thread
        proof = self._log.after_commit(held.revision, NEAR, meanwhile)
        if proof is None or not proof.settled or not self._log.may_keep_due(proof):
            return None  # no root, a long commit or a load, or facts that have ended must be removed
        if proof.confirms(held) or (proof.complete and not proof.may_take_long and proof.follows(held)):
            try:
                version = held if proof.confirms(held) else self._advanced(proof)
                if version is not None and proof.due:
                    return self._without_ended(version, proof)
                self._left_out = None
                return version
            except Contradiction as error:
                self._discard(error)
            except TooLarge as error:
                self._refuse(policy, error)
        self._renew_later(policy)
        return None

    def _without_ended(self, version: FactVersion, proof: Proof) -> FactVersion | None:
        """A version without the facts that have ended, but that this database user may not remove; None if the
        database must answer, which then waits until another client removes them. Raises Contradiction."""
        ended = self._log.ended(proof) if version.revision == proof.revision else None
        if not ended:
            return version if ended == () else None
        kept = self._left_out  # other threads may replace it
        if kept is None or (kept.revision, kept.origin, kept.left_out) != (version.revision, version.origin, ended):
            log.warning(
                "%s: facts have ended, and the database user may not remove them; answers from memory leave them out; "
                "run `grantpath expire --watch --root %s` with a user who may change the root",
                self._log.tenant,
                self._log.tenant,
            )
            with self._applying:
                kept = advanced(version, [{"added": [], "removed": ended}], version.revision)
            self._left_out = kept = replace(kept, left_out=ended)
        return kept

    def _advanced(self, proof: Proof) -> FactVersion | None:
        """The copy at the revision that a proof reaches, or at a later one to which another thread has advanced it.

        Raises Contradiction, TooLarge.
        """
        with self._applying:
            held = self._version
            if held is None or held.origin != proof.origin:
                return None
            if held.revision < proof.reached:
                held = advanced(held, proof.deltas(held.revision), proof.reached)
                require_room(held.size, self._limit)
                self._version = held
            return held

    def _discard(self, error: Contradiction | None = None) -> None:
        self._left_out = None
        with self._applying:
            if self._version is not None and error is not None:
                log.warning(
                    "%s: its copy contradicts the log after revision %d; the database answers until it is read again",
                    self._log.tenant,
                    self._version.revision,
                )
                log.debug("%s: %s", self._log.tenant, error)
            self._version = None

    # ---- in a thread -------------------------------------------------------------------------------------------------
    def _renew_later(self, policy: Policy) -> None:
        """Starts a thread that renews the copy, unless one is running or has just failed."""
        with self._starting:
            if self._thread is None and time.monotonic() >= self._not_before.get(policy.digest, 0.0):
                self._thread = Thread(target=self._renew, args=(policy,), name="grantpath-replica", daemon=True)
                self._thread.start()

    def _renew(self, policy: Policy) -> None:
        try:
            if not self._caught_up(policy):
                self._discard()
                self.read(policy)
        except Contradiction as error:
            self._discard(error)
        except TooLarge as error:
            self._refuse(policy, error)
        except GrantpathError as error:
            self._failed(policy, error)
        finally:
            self._thread = None

    def _caught_up(self, policy: Policy) -> bool:
        """Brings the copy to the revision that the root has now, page by page of the log.

        Returns false if the log does not contain every change. Raises Contradiction, TooLarge, Unavailable.
        """
        while (held := self._version) is not None and held.origin.policy == policy.digest:
            proof = self._log.proof(held.revision, PAGE)
            if proof is None or not (proof := self._log.with_parts(proof)).follows(held):
                return False
            self._advanced(proof)
            if proof.complete:
                log.info("%s: the copy of the facts was brought to revision %d", self._log.tenant, proof.reached)
                return True
        return False

    def read(self, policy: Policy, snapshot: Path | str | None = None) -> bool:
        """Reads a new copy: from the graph, or from a snapshot and the changes since, if the log describes all of them.

        Returns false if that is not possible now, and logs the reason as a warning. Raises nothing.
        """
        try:
            version = self.fresh(policy, snapshot)
        except TooLarge as error:
            self._refuse(policy, error)
            return False
        except GrantpathError as error:
            self._failed(policy, error)
            return False
        with self._applying:
            self._version = version
        log.info("%s: a copy of the facts at revision %d", self._log.tenant, version.revision)
        return True

    def fresh(self, policy: Policy, snapshot: Path | str | None = None) -> FactVersion:
        """The facts that the root has now, read from the graph, or from a snapshot and the changes since.

        Raises Inconsistent if the root does not exist any more, has another policy, is being written, or changes too
        much to be read; TooLarge; Unavailable.
        """
        for turn in range(READS):
            version = self._read(policy, snapshot if turn == 0 else None)
            if version is not None:
                return version
        raise Inconsistent(
            f"{self._log.tenant} changes too much to be read at one revision; ask again when it changes less"
        )

    def _refuse(self, policy: Policy, error: TooLarge) -> None:
        self._discard()
        self._failed(policy, error, RETRY_TOO_LARGE_SECONDS)

    def _failed(self, policy: Policy, error: Exception, seconds: float = RETRY_SECONDS) -> None:
        log.warning("%s: no copy of the facts, the database answers: %s", self._log.tenant, error)
        self._not_before[policy.digest] = time.monotonic() + seconds

    def _read(self, policy: Policy, snapshot: Path | str | None) -> FactVersion | None:
        """A new copy, proved to be current; None if the changes during the reading cannot be made up for by the log."""
        began = self._log.proof(0, 0)
        if began is None:
            raise Inconsistent(
                f"{self._log.tenant} does not exist any more; open another root, or create it again",
                code="root_unknown",
            )
        if began.origin.policy != policy.digest:
            raise Inconsistent(f"{self._log.tenant} was given another policy; open it again", code="policy_changed")
        if not self._log.settled(began.revision, 0):
            raise Inconsistent(f"{self._log.tenant} is being written, e.g. by a load; ask again later")
        version, exact = self._beginning(policy, snapshot, began)
        # at the last proof no writer was in the middle of a commit, so the log describes every fact that was read
        while (proof := self._log.settled(version.revision, PAGE)) is not None:
            if not (proof := self._log.with_parts(proof)).follows(version):
                return None
            if proof.renames and not exact:
                return None  # an entity that was renamed meanwhile may have been read under neither of its names
            try:
                version = advanced(version, proof.deltas(version.revision), proof.reached, exact)
            except Contradiction as error:
                log.warning("%s: reading the graph, because the log contradicts the snapshot", self._log.tenant)
                log.debug("%s: %s", self._log.tenant, error)
                return None
            require_room(version.size, self._limit)
            if proof.complete:
                return version
        return None

    def _beginning(self, policy: Policy, snapshot: Path | str | None, began: Proof) -> tuple[FactVersion, bool]:
        """The facts of the snapshot, or of the graph if there is no snapshot of this root; and whether they are exactly
        those of their revision."""
        tenant = self._log.tenant
        if snapshot is not None:
            try:
                return read_snapshot(snapshot, tenant, policy, began.origin, began.revision, self._limit), True
            except InvalidInput as error:
                log.warning("%s: reading the graph and not the snapshot: %s", tenant, error)
        return read_facts(self._store, tenant, policy, began.origin, began.revision, self._limit), False


@dataclass(frozen=True)
class CopySource:
    """A copy as a source of answers. It cannot answer while it is not proved current."""

    copy: Replica
    policy: Policy
    root: Reference
    at_least: int | None
    whole: bool

    def answers(self, questions: Sequence[ResolvedQuestion]) -> Checked | None:
        """The answers to checks. A few are computed while the proof is on its way."""
        early = EarlyAnswers(self.policy, self.root, questions)
        version = self._current(early.compute if len(questions) <= FEW else None)
        return None if version is None else (early.at(version), version.row)

    def deciding(self) -> Deciding | None:
        """What decides many checks. If the copy cannot be proved current, the checks are resolved before the error is
        raised, because a wrong one is reported without the database."""
        try:
            source = self._source()
        except GrantpathError as error:
            return Deciding(unlike, partial(_failed, error))
        return None if source is None else source.deciding()

    def verdicts(self, columns: CheckColumns) -> Verdicts | None:
        """The verdicts on any number of checks."""
        source = self._source()
        return None if source is None else source.verdicts(columns)

    def listing(self, questions: Sequence[ResolvedQuestion]) -> MemoryList | None:
        """The answer to `who` or `which`."""
        source = self._source()
        return None if source is None else source.listing(questions)

    def _source(self) -> FactSource | None:
        version = self._current()
        return None if version is None else FactSource(FactSet(version, self.policy, self.root))

    def _current(self, meanwhile: Meanwhile | None = None) -> FactVersion | None:
        return self.copy.current(self.policy, self.at_least, meanwhile, self.whole)


def _failed(error: GrantpathError, _: Sequence[ResolvedQuestion]) -> NoReturn:
    raise error
