"""The verbs that change a root and tell what was changed; `Authorizer` adds those that ask."""

import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from grantpath.engine.change import audit_log
from grantpath.engine.change.audit_log import Filter, Logged
from grantpath.engine.change.idempotency import Change
from grantpath.engine.change.log_verify import LogCheck, verify
from grantpath.engine.change.service import ChangeService
from grantpath.engine.policy.policy import Policy
from grantpath.engine.tenants.open_tenant import OpenTenant, following
from grantpath.graph import telemetry

log = logging.getLogger("grantpath.change")


class ChangeVerbs(OpenTenant):
    """Changes one root. May be shared by threads."""

    def _use(self, policy: Policy) -> None:
        super()._use(policy)
        self._service = ChangeService(self.store, self.tenant, policy, self.root)

    # ---- changes ---------------------------------------------------------------------------------------------
    @following
    def change(
        self,
        statement: str,
        *,
        by: str | None = None,
        as_role: str | None = None,
        id: str | None = None,
        dry_run: bool = False,
    ) -> Change:
        """Makes one change, as the acting user `by`; without `by` it is written as a fact.

        Returns Change(id, revision); a change that changes nothing has the id None and leaves the revision as it is.
        With an `id` of the caller's it may be repeated: that does nothing, and returns what it did the first time, with
        `already` true. `dry_run` changes nothing, and returns with `added` and `removed` every fact that the change
        would add or remove; of what is done already under its `id` it returns what was done the first time. Raises
        Invalid (or Unknown, InvalidReference) for what breaks a rule whoever asks, Refused for what `by` may not do,
        Unavailable. A commit that was not answered is
        read back; `Unavailable.unknown` says that this could not be done either.
        """
        with telemetry.span("change", self.tenant, subject=by, statement=statement) as span:
            done = self._service.change(statement, by, as_role, id, dry_run)
            self._count_changes(span, [done], dry_run)
        log.debug("%s changed %s: %s", by, self.tenant, statement)
        return done

    @following
    def change_all(
        self,
        statements: Iterable[str],
        *,
        by: str | None = None,
        as_role: str | None = None,
        id: str | None = None,
        dry_run: bool = False,
    ) -> list[Change]:
        """Makes all changes in one transaction, or none; each sees those before it. At most 10,000.

        Returns a Change for each; the rest is as for `change`. An error names the first statement that is wrong by its
        index from 0, in its text and as `.index`.
        """
        with telemetry.span("change_all", self.tenant, subject=by) as span:
            done = self._service.change_all(statements, by, as_role, id, dry_run)
            self._count_changes(span, done, dry_run)
        log.debug("%s changed %s: %d statements", by, self.tenant, len(done))
        return done

    @following
    def given(self, statements: Iterable[str]) -> list[str | None]:
        """Writes facts in order, in one transaction, nobody asked; a user or group is added by its mention.

        Returns for each statement what is wrong with it, or None; what is wrong is left out. Raises InvalidInput for
        what is not a list or more than 10,000, Unavailable.
        """
        return self._service.given(statements)

    @following
    def log(
        self,
        *,
        id: str | None = None,
        actor: str | None = None,
        object: str | None = None,
        subject: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        after: int | None = None,
        before: int | None = None,
        refused: bool = False,
        limit: int = 100,
    ) -> list[Logged]:
        """The last `limit` accepted changes that fit, oldest first; with `refused` the refused attempts.

        `limit` is at most 10,000.

        `id` is that of a change, or of a batch: then all of its changes fit; of refused attempts also the id that the
        change or the batch was given. `since` is the first moment and `until`
        the first one behind (without an offset: UTC); `after` and `before` are revisions, themselves left out: for the
        page before, ask with `before` set to the first one's. `object` and `subject` are the references that
        statements name. Raises InvalidReference, InvalidInput, Unavailable, Inconsistent.
        """
        actor, object, subject = (self._canonical(ref) for ref in (actor, object, subject))
        wanted = Filter(id, actor, object, subject, since, until, after, before)
        if refused:
            return audit_log.refusals(self.ask, wanted, limit)
        return audit_log.changes(self.ask, wanted, limit)

    def verify_log(self, head: str | None = None, progress: Callable[[int], None] = lambda _: None) -> LogCheck:
        """Whether the log is as it was written, as far as that can be seen.

        `head` is a hash that a change returned and that was kept elsewhere: it proves that entry and all before it.
        Without it the result's `unseen` says what cannot be seen. `progress` is given how many entries were read.
        Raises InvalidInput for what is not a hash, Unknown, Inconsistent, Unavailable.
        """
        return verify(self.ask, head, progress)

    # ---- help ------------------------------------------------------------------------------------------------
    @staticmethod
    def _count_changes(span: telemetry.Span, done: Sequence[Change], dry_run: bool) -> None:
        made = 0 if dry_run else sum(change.id is not None and not change.already for change in done)
        span.set(changes=made, dry_run=dry_run, revision=done[-1].revision if done else None)
        telemetry.count("changes", made)

    def _canonical(self, text: str | None) -> str | None:
        return None if text is None else self.reference(text).text
