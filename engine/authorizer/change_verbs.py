"""The methods that change a root and read its log; `Authorizer` adds the questions."""

import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import wraps
from typing import Any, Literal, overload

from grantpath.engine.answers.batches import need_list
from grantpath.engine.change import audit_log
from grantpath.engine.change.audit_log import Log, ReadLog
from grantpath.engine.change.log_verify import LogCheck, verify
from grantpath.engine.change.made import Change
from grantpath.engine.change.planned_revision import Planned
from grantpath.engine.change.service import ChangeService
from grantpath.engine.policy.policy import Policy
from grantpath.engine.tenants.open_tenant import OpenTenant, following
from grantpath.graph.client import telemetry
from grantpath.graph.errors import GrantpathError, Invalid, InvalidInput, Refused
from grantpath.graph.language.inputs import need_text

log = logging.getLogger("grantpath.change")
Outcome = Change | Refused | Invalid  # of a statement that is made alone


def _or_each(together: Callable[..., list[Change]]) -> Callable[..., Any]:
    """With `each`, the statements are made one by one, and each of them follows its root to another policy."""

    @wraps(together)
    def run(self: "ChangeVerbs", /, *given: Any, each: bool = False, **named: Any) -> Any:
        return self._change_each(*given, **named) if each else together(self, *given, **named)

    return run


class ChangeVerbs(OpenTenant):
    """Changes one root. Threads can share it."""

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
        """Makes one change as the actor `by`; without `by`, writes it as a fact, without authorization.

        Returns Change(id, revision). A change without effect has the id None and leaves the revision unchanged.

        A change with a caller's `id` can be repeated: the repetition changes nothing and returns the first result,
        with `already` true. `dry_run` changes nothing and returns every fact that the change would add or remove, as
        `added` and `removed`; if a change with this `id` was already made, it returns the first result.

        Raises Invalid (or Unknown, InvalidReference) if the change breaks a rule that holds for every actor, Refused if
        `by` is not allowed to make it, and Unavailable. If the server does not confirm a commit, the outcome is read
        back; `Unavailable.unknown` is true if that fails, too.
        """
        with telemetry.span("change", self.tenant, subject=by, statement=statement) as span:
            done = self._service.change(statement, by, as_role, id, dry_run)
            made = self._count_changes(span, [done], dry_run)
        if made:
            log.debug("%s: changed by %s: %s", self.tenant, by or "no actor", statement)
        return done

    @overload
    def change_all(
        self,
        statements: Iterable[str],
        *,
        by: str | None = None,
        as_role: str | None = None,
        id: str | None = None,
        dry_run: bool = False,
        at_revision: int | None = None,
        root_id: str | None = None,
        each: Literal[False] = False,
    ) -> list[Change]: ...

    @overload
    def change_all(
        self,
        statements: Iterable[str],
        *,
        by: str | None = None,
        as_role: str | None = None,
        id: str | None = None,
        dry_run: bool = False,
        each: Literal[True],
    ) -> list[Outcome]: ...

    @_or_each
    @following
    def change_all(
        self,
        statements: Iterable[str],
        *,
        by: str | None = None,
        as_role: str | None = None,
        id: str | None = None,
        dry_run: bool = False,
        at_revision: int | None = None,
        root_id: str | None = None,
        each: bool = False,
    ) -> list[Change]:
        """Makes all changes in one transaction, or none. Each sees the changes before it. At most 10,000.

        With `at_revision`, e.g. that of a `plan`, they are made only if the root is at this revision; otherwise nothing
        is done, and Inconsistent is raised. So exactly the planned change is made. With `root_id`, that of the plan,
        Inconsistent is also raised if the root was dropped and created again since then.

        Returns a Change for each; see `change` for the rest. An error names the index (from 0) of the first wrong
        statement in its text and as `.index`.

        With `each`, every statement is made alone, as by `change`, and a wrong one does not stop the others: the list
        has its error (Refused or Invalid) in its place. With an `id`, the ids are `id.0`, `id.1`, and so on. Any other
        error ends the call and has the index of its statement; the statements before it are made. A dry run tells what
        each statement would do now. `each` takes neither `at_revision` nor `root_id`.
        """
        with telemetry.span("change_all", self.tenant, subject=by) as span:
            done = self._service.change_all(statements, by, as_role, id, dry_run, Planned(at_revision, root_id))
            made = self._count_changes(span, done, dry_run)
        if made:
            log.debug("%s: changed by %s: %d of %d statements", self.tenant, by or "no actor", made, len(done))
        return done

    def _change_each(
        self,
        statements: Iterable[str],
        *,
        by: str | None = None,
        as_role: str | None = None,
        id: str | None = None,
        dry_run: bool = False,
        at_revision: int | None = None,
        root_id: str | None = None,
    ) -> list[Outcome]:
        if at_revision is not None or root_id is not None:
            raise InvalidInput("each=True moves the root from statement to statement; omit at_revision and root_id")
        if id is not None:
            need_text("id", id)
        found: list[Outcome] = []
        for index, statement in enumerate(need_list("statements", statements)):
            own = None if id is None else f"{id}.{index}"
            try:
                found.append(self.change(statement, by=by, as_role=as_role, id=own, dry_run=dry_run))
            except (Refused, Invalid) as error:
                found.append(error)
            except GrantpathError as error:
                error.index = index
                raise
        return found

    @following
    def given(self, statements: Iterable[str]) -> list[str | None]:
        """Writes facts in order, in one transaction, without authorization. Users and groups are added when mentioned.

        Returns for each statement the error, or None; wrong statements are skipped. Raises InvalidInput if the argument
        is not a list or has more than 10,000 statements, Unavailable.
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
    ) -> Log:
        """The last `limit` accepted changes that match, oldest first; with `refused`, the refused attempts.

        `revision` of the list is the revision that was read; `complete` is false if earlier entries match, too.

        `limit` is at most 10,000. `id` is the id of a change, or of a batch (then all its changes match); for refused
        attempts it can also be the caller's id. `since` is inclusive, `until` exclusive (both need a zone).
        `after` and `before` are exclusive revisions: for the previous page, pass the revision of the first entry as
        `before`. `object` and `subject` match a statement that names the reference, and a change that affected it in
        another way, e.g. a drop that removed it along with its parent.

        Raises InvalidReference, InvalidInput, Unavailable, Inconsistent.
        """
        wanted = ReadLog.of(
            id=id,
            actor=self._canonical(actor),
            object=self._canonical(object),
            subject=self._canonical(subject),
            since=since,
            until=until,
            after=after,
            before=before,
            refused=refused,
            limit=limit,
        )
        return audit_log.read(self.ask, wanted, self.root)

    def verify_log(self, head: str | None = None, progress: Callable[[int], None] = lambda _: None) -> LogCheck:
        """Verifies that the log has not been altered, as far as its hash chain shows.

        `head` is a hash that a change returned and that was stored elsewhere: it proves its entry and all earlier ones.
        Without it, the result's `unseen` says what cannot be detected. `progress` is called with the number of entries
        read. Raises InvalidInput if `head` is not a hash, Unknown, Inconsistent, Unavailable.
        """
        return verify(self.ask, head, progress)

    # ---- help ------------------------------------------------------------------------------------------------
    @staticmethod
    def _count_changes(span: telemetry.Span, done: Sequence[Change], dry_run: bool) -> int:
        """Reports how many changes were made, and returns it. A dry run and a repetition make none."""
        made = 0 if dry_run else sum(change.id is not None and not change.already for change in done)
        span.set(changes=made, dry_run=dry_run, revision=done[-1].revision if done else None)
        telemetry.count("changes", made)
        return made

    def _canonical(self, text: str | None) -> str | None:
        return None if text is None else self.policy.reference(text, self.root).text
