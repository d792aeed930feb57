"""Authorizer: every question about a root and every change of it, in one class.

What an open root is, apart from its questions, is in `engine/tenants/open_tenant.py`.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack, cast, overload

from grantpath.engine.advise.revocation import Revocation, revocation
from grantpath.engine.answers import check_columns, request
from grantpath.engine.answers.access_effects import Effects
from grantpath.engine.answers.batches import each_of, kept, one_of, raised, require_list
from grantpath.engine.answers.check_columns import Absent, CheckColumns
from grantpath.engine.answers.decision import Decision, Explanation
from grantpath.engine.answers.explanation import explained
from grantpath.engine.answers.listing import Listing, Page
from grantpath.engine.answers.request import ResolvedQuestion
from grantpath.engine.answers.source import FEW, Checked, Deciding, GraphSource, Source, first, unlike
from grantpath.engine.authorizer import present_facts
from grantpath.engine.change import audit_log, verbs
from grantpath.engine.change.audit_log import Log, ReadLog
from grantpath.engine.change.change_plan import ChangePlan, base_revision, facts_of
from grantpath.engine.change.ending import end_due
from grantpath.engine.change.founding import create_by
from grantpath.engine.change.group_commit import MOST
from grantpath.engine.change.idempotency import require_id
from grantpath.engine.change.log_verify import LogCheck, verify
from grantpath.engine.change.made import Change
from grantpath.engine.change.planned_revision import Planned
from grantpath.engine.change.service import ChangeService
from grantpath.engine.change.verbs import Batch, ChangeOptions, Until
from grantpath.engine.inspection import catalogue_answer, entity_view, lookup
from grantpath.engine.inspection import ending as endings
from grantpath.engine.inspection.abilities import abilities
from grantpath.engine.inspection.ending import EndingPage
from grantpath.engine.inspection.models import (
    Abilities,
    CatalogueAnswer,
    EntityPage,
    EntityView,
    GrantPage,
    ListAbilities,
    ListEntities,
    ListGrants,
    ListMembers,
    ListMemberships,
    MembershipPage,
    ShowEntity,
)
from grantpath.engine.inspection.root_view import USUAL, PageRequest, require_question
from grantpath.engine.policy.policy import Policy
from grantpath.engine.policy.schema import WITH_ENDS
from grantpath.engine.policy.statement_rules import canonical_statement
from grantpath.engine.tenants import dropped_roots, opening, registry
from grantpath.engine.tenants.asked import with_question
from grantpath.engine.tenants.one_revision import GuardedAsk
from grantpath.engine.tenants.open_tenant import OpenTenant, retry_on_upgrade
from grantpath.graph.client import telemetry
from grantpath.graph.client.credentials import Auth, Provider
from grantpath.graph.embedded.connect import connection
from grantpath.graph.errors import Conflict, GrantpathError, Inconsistent, Invalid, InvalidInput, Refused, Unknown
from grantpath.graph.extras import is_installed
from grantpath.graph.frozen import Frozen
from grantpath.graph.guard.store import STALL_LIMIT, Store
from grantpath.graph.language.inputs import require_flag, require_number, require_second_objects
from grantpath.graph.language.statement import Check, Effect, Which, Who
from grantpath.graph.messages import short

if TYPE_CHECKING:
    from grantpath.engine.facts.copy.replica import Replica
    from grantpath.engine.facts.set.fact_version import FactVersion
    from grantpath.engine.past.past_root import AsOf, PastRoot
    from grantpath.engine.past.since import Since
    from grantpath.graph.files.remote_path import AnyPath

changed = logging.getLogger("grantpath.change")
Outcome = Change | Refused | Invalid  # of a statement that is made alone
Asked = tuple[Check, ResolvedQuestion]
Found = TypeVar("Found", Explanation, Revocation)
Answered = TypeVar("Answered")
Seen = TypeVar("Seen", bound=Frozen)
READER_MEMORY = 512  # MiB of facts, at most, that a user who may only read keeps because some of them have ended

# Lists of results: in the class, `list` is the method of that name.
Decisions = list[Decision]
DecisionsOrErrors = list[Decision | GrantpathError]
References = list[str]
Changes = list[Change]
Outcomes = list[Outcome]
Problems = list[str | None]


def _or_each(together: Callable[..., Changes]) -> Callable[..., Any]:
    """With `each`, each statement has an outcome of its own, and follows its root to another policy."""

    @wraps(together)
    def run(self: "Authorizer", /, *given: Any, each: bool = False, **named: Any) -> Any:
        require_flag("each", each)
        return self._change_each(*given, **named) if each else together(self, *given, **named)

    return run


class Authorizer(OpenTenant):
    """Answers questions about one root, and changes it. Threads can share it; close it, or use it in a `with` block.

    Every question except `log`, `past` and `since` takes `at_least`, the revision of a change that the answer must
    include. If the graph is older, the call waits a moment and then raises Inconsistent.

    check, check_many, explain, who, which and show take `as_of`: a past revision or time, or what `past` returned.
    Everything in the answer is then of that time, the policy too. Each call with a revision or a time reads all facts:
    for several questions use `past`.

    `list`, `grants`, `members` and `memberships` are read in pages of at most 10,000 entries. For the next page pass
    the `after` of this page as `after`, and its `revision` as `at`. A name that does not exist raises Unknown with
    similar names.

    `plan` and `effects_of` need all facts in memory. With `open(..., replica=True)` they are those of the copy;
    otherwise they are read when they are first needed, and kept.
    """

    replica: "Replica | None" = None  # the copy of the facts, for `open(..., replica=True)`
    _read: "Replica | None" = None  # without a copy: the facts that were read for effects
    _without_ended: "Replica | None" = None  # without a copy: that of a user who may only read, beside ended facts

    @classmethod
    def open(
        cls,
        root: str,
        policy: str | None = None,
        uri: str | None = None,
        timeout: float = 10.0,
        *,
        create: bool = False,
        by: str | None = None,
        auth: Auth | Provider | None = None,
        ca: str | None = None,
        database: str | None = None,
        follow_policy: bool | None = None,
        stall_limit: float = STALL_LIMIT,
        replica: bool | str | Path = False,
        replica_memory: int | None = None,
    ) -> "Authorizer":
        """An authorizer for `root`, e.g. metalake:ml (if the policy is given, the name alone suffices).

        If the root does not exist, this raises Unknown with similar names, or creates it (with `create`) and stores its
        policy in it (default: lakehouse). With `by` too, that user creates it, if the policy of a root of the database
        allows that (a service admin of `gravitino` or `lakehouse`); the user is added to the new root and owns it. An
        existing root is opened as it is.

        Without `uri` and NEO4J_URI the embedded server is used, and started if
        necessary; GRANTPATH_EMBEDDED=never prevents that.

        `auth` is the login: (user, password), a neo4j.Auth, or a callable that returns one of these and is called
        again when the server refuses the last login or it expires. The default is NEO4J_USER and NEO4J_PASSWORD. `ca`
        (default: NEO4J_CA) names the file of the certificates to trust for bolt+s:// and neo4j+s://. `database`
        (default: NEO4J_DATABASE, then neo4j) is for a server that has several databases.

        With `follow_policy` (the default if `policy` is not given) the authorizer continues with the new policy after a
        `grantpath policy upgrade`; otherwise it raises Inconsistent from then on.

        A client that is suspended or lost blocks its root for at most `stall_limit` seconds. Then this authorizer
        terminates its transaction. The transaction of a client that is slow but alive is never terminated.

        With `replica` it reads a copy of the root's facts into memory, and answers checks and lists from it.
        Each question proves in its one round trip that the copy is current; where that fails, the database answers.
        The copy takes time and memory (docs/python.md). The path or URI of a snapshot in place of True makes it start
        sooner. If its facts would take more than `replica_memory` MiB, by an estimate, the database answers.

        Raises Unknown, Invalid, InvalidInput, InvalidPolicy, Refused, Unavailable, ServerError.
        """
        opening.check_opening(root, policy, uri, replica_memory, create, by, database)
        store = cls.store_type(connection(uri, auth, ca, database=database), timeout, stall_limit)
        try:
            creation = registry.create if by is None else partial(create_by, by=by)
            tenant, model, reference = opening.open_root(store, root, policy, may_create=create, create=creation)
        except BaseException:
            store.close()
            raise
        opened = cls(store, tenant, model, reference)
        if replica:
            from grantpath.engine.facts.copy.replica import Replica  # only here: it needs an extra

            snapshot = None if isinstance(replica, bool) else replica
            opened.replica = Replica.of(store, tenant, reference, model, snapshot, replica_memory)
        if policy is None if follow_policy is None else follow_policy:
            opened.follow()
        return opened

    @classmethod
    def drop_root(
        cls,
        root: str,
        *,
        confirm: str,
        uri: str | None = None,
        timeout: float = 10.0,
        auth: Auth | Provider | None = None,
        ca: str | None = None,
        database: str | None = None,
    ) -> None:
        """Removes a root with everything in it, including its history. This cannot be undone: dump it first.

        `root` is the whole name, e.g. metalake:ml, and `confirm` must be the same name. The other arguments are those
        of `open`. `grantpath roots --dropped` lists the removed roots.

        Raises InvalidInput if `confirm` is another name, Unknown if the root does not exist, Inconsistent if another
        caller is writing to it, Unavailable, ServerError.
        """
        opening.check_opening(root, None, uri, database=database)
        if confirm != root:
            raise InvalidInput(f"confirm= must be the name of the root to drop, {short(root)}; nothing is dropped")
        store = Store(connection(uri, auth, ca, database=database), timeout)
        try:
            dropped_roots.drop_existing(store, registry.canonical_name(root))
        finally:
            store.close()

    # ---- decisions and lists ----------------------------------------------------------------------------------------

    @retry_on_upgrade
    def check(
        self,
        subject: str,
        name: str,
        object: str,
        *,
        as_role: str | None = None,
        with_: Mapping[str, str] | None = None,
        at_least: int | None = None,
        as_of: "AsOf | None" = None,
    ) -> Decision:
        """Whether `subject` can use `name`, a PRIVILEGE or an operation, on `object`. One round trip, one revision.

        `with_` names second objects, `as_role` the active role. A user that does not exist is not allowed. Raises
        Unknown, InvalidReference or Invalid if the question is not valid, Unavailable, Inconsistent.
        """
        with telemetry.span("check", self.tenant, name, subject=subject, object=object) as span:
            check = request.as_words(Check, with_, subject=subject, name=name, object=object, as_role=as_role)
            past = None if as_of is None else self._past(as_of, at_least)
            words, question = request.resolve_check((past or self).policy, self.root, check)
            [answer], row = self._answers([question], at_least, past)
            decision = request.decision(past or self, words, question, answer, row)
            telemetry.decided(span, decision.revision, decision.allowed)
            return decision

    @overload
    def check_many(
        self,
        checks: Iterable[request.AnyCheck],
        *,
        each: Literal[False] = False,
        at_least: int | None = None,
        as_of: "AsOf | None" = None,
    ) -> Decisions: ...
    @overload
    def check_many(
        self,
        checks: Iterable[request.AnyCheck],
        *,
        each: bool,
        at_least: int | None = None,
        as_of: "AsOf | None" = None,
    ) -> DecisionsOrErrors: ...
    @retry_on_upgrade  # type: ignore[misc]  # mypy compares the overloads with what the decorator returns
    def check_many(
        self,
        checks: Iterable[request.AnyCheck],
        *,
        each: bool = False,
        at_least: int | None = None,
        as_of: "AsOf | None" = None,
    ) -> Any:
        """The decisions for at most 10,000 checks, in order, all at one revision, in one round trip.

        Each check is (subject, name, object) or a Check. An invalid one raises the same error as `check`, with its
        index (from 0) in the text and as `.index`. With `each`, each check is answered by itself: this error is then in
        the list, in the place of the decision. Only the first such error suggests similar names.
        """
        with telemetry.span("check_many", self.tenant) as span:
            past = None if as_of is None else self._past(as_of, at_least)
            state, given = past or self, require_list("checks", checks)
            failed: Callable[[int, Invalid], GrantpathError] = partial(kept if each else raised, "check")
            deciding = self._deciding(len(given), at_least, past)

            def resolved(one: request.AnyCheck) -> Decision | Asked:
                check = request.as_check(one)
                decision = deciding.alike(check)
                return request.resolve_check(state.policy, self.root, check) if decision is None else decision

            asked = each_of(given, resolved, failed)
            if all(isinstance(one, GrantpathError) for one in asked):
                return asked
            answers, row = deciding.answers([one[1] for one in asked if isinstance(one, tuple)])
            answered = iter(answers)
            tenant = request.OneSuggestion(self) if each and past is None else state

            def decided(one: Decision | Asked | GrantpathError) -> Decision | GrantpathError:
                return request.decision(tenant, *one, next(answered), row) if isinstance(one, tuple) else one

            decisions = each_of(asked, decided, failed)
            allowed = [one.allowed for one in decisions if isinstance(one, Decision)]
            telemetry.all_decided(span, row["revision"], allowed)
            for one in decisions:
                if isinstance(one, GrantpathError):
                    with_question(one, Authorizer.check_many, (), {"checks": given}, self.policy, self.root)
            return decisions

    @retry_on_upgrade
    def filter(
        self,
        subject: str,
        name: str,
        objects: Iterable[str],
        *,
        as_role: str | None = None,
        with_: Mapping[str, str] | None = None,
        at_least: int | None = None,
        as_of: "AsOf | None" = None,
    ) -> References:
        """Those of the objects on which `subject` can use `name`, in their order, all at one revision.

        Any number of objects; they can have several types. An object that is listed twice is in the answer twice, in
        the spelling of the argument. Without a copy of the facts, the database is asked once for each 10,000 objects.
        Raises the errors of `check`, with the index of the object (from 0) in the text and as `.index`.
        """
        with telemetry.span("filter", self.tenant, name, subject=subject) as span:
            past = None if as_of is None else self._past(as_of, at_least)
            refs, seconds = require_list("objects", objects, None), require_second_objects(with_)
            if not refs:
                return []

            def words(ref: str) -> Check:
                return request.as_words(Check, seconds, subject=subject, name=name, object=ref, as_role=as_role)

            def row(ref: str) -> check_columns.Row:
                return subject, name, ref if isinstance(ref, str) else words(ref).object, as_role

            failed = partial(raised, "object")
            [first_words] = each_of(refs[:1], words, failed)
            rows = each_of(refs, row, failed)
            found, marks = self._verdicts(CheckColumns(rows, first_words.with_, alike=True), at_least, past)
            for index, each in enumerate(found):
                if isinstance(each, GrantpathError):
                    raise one_of("object", index, each)
            telemetry.all_decided(span, marks["revision"], cast(Sequence[bool], found))
            return [ref for ref, yes in zip(refs, found, strict=True) if yes]

    def check_table(self, table: Any, *, at_least: int | None = None, as_of: "AsOf | None" = None) -> Any:
        """The table with two more columns, `allowed` and `error`: it has one check a row, and all answers are at one
        revision.

        `table` is a table of pyarrow, a DataFrame of pandas or Polars, or a mapping of columns, which becomes a table
        of pyarrow. The columns subject, name and object have strings, and so has as_role, if there is one (null: no
        active role); other columns stay. A check that would raise an Invalid, e.g. for a name that does not exist, has
        its text as `error`, and null as `allowed`. A user that does not exist is not allowed, as for `check`. The
        revision and `ends_due` (see Decision) are in the metadata of the schema, or in the `attrs` of pandas. The table
        can have any number of rows. Without a copy of the facts, the database is asked once for each 10,000 rows.

        Raises InvalidInput for another table, ModuleNotFoundError without pyarrow, Unavailable, Inconsistent.
        """
        with telemetry.span("check_table", self.tenant) as span:
            try:
                asked = check_columns.table_of(table)
                rows = check_columns.rows_of(asked)
                whole = [row for row in rows if not isinstance(row, InvalidInput)]
                found, marks = self._check_rows(whole, at_least, as_of)
            except GrantpathError as error:
                with_question(error, Authorizer.check_table, (), {}, self.policy, self.root)
                raise
            told = iter(found)
            answers = [row if isinstance(row, InvalidInput) else next(told) for row in rows]
            allowed = [each for each in answers if not isinstance(each, GrantpathError)]
            telemetry.all_decided(span, marks["revision"], allowed)
            return check_columns.answered(table, asked, answers, marks)

    @retry_on_upgrade  # the table itself is read before, because some tables can be read only once
    def _check_rows(
        self, rows: list[check_columns.Row], at_least: int | None, as_of: "AsOf | None"
    ) -> tuple[Sequence[bool | GrantpathError], Mapping[str, Any]]:
        past = None if as_of is None else self._past(as_of, at_least)
        return self._verdicts(CheckColumns(rows), at_least, past)

    @retry_on_upgrade
    def who(
        self,
        name: str,
        object: str,
        *,
        type: str | None = None,
        with_: Mapping[str, str] | None = None,
        limit: int | None = None,
        after: str | None = None,
        at: int | None = None,
        at_least: int | None = None,
        as_of: "AsOf | None" = None,
    ) -> Listing:
        """The users and service principals that can use `name` on `object`, in byte order, without duplicates.

        With `type`, such as group, the subjects of that type for which `check` is allowed. The policy must allow checks
        about them (`ask.subjects`).

        For the next page, pass the last reference of this page as `after`, and its `Listing.revision` as `at`. The
        entity of `after` need not exist any more. All references are of that revision; PageExpired is raised if the
        root has passed revision `at`, Inconsistent if it changes while a long list is read. Raises the errors of
        `check`, and InvalidInput if the list cannot contain `after`.
        """
        with telemetry.span("who", self.tenant, name, object=object) as span:
            words = request.as_words(Who, with_, name=name, object=object, type=type)
            return self._listing(span, words, Page(limit, after, at, at_least), as_of)

    @retry_on_upgrade
    def which(
        self,
        type: str,
        subject: str,
        name: str,
        *,
        as_role: str | None = None,
        with_: Mapping[str, str] | None = None,
        limit: int | None = None,
        after: str | None = None,
        at: int | None = None,
        at_least: int | None = None,
        as_of: "AsOf | None" = None,
    ) -> Listing:
        """The existing objects of `type` on which `subject` can use `name`, in pages as in `who`.

        The type `any` lists the objects of all types on which the name can be asked, all of one revision.
        """
        with telemetry.span("which", self.tenant, name, subject=subject) as span:
            words = request.as_words(Which, with_, type=type, subject=subject, name=name, as_role=as_role)
            return self._listing(span, words, Page(limit, after, at, at_least), as_of)

    # ---- reasons ----------------------------------------------------------------------------------------------------

    @retry_on_upgrade
    def explain(
        self,
        subject: str,
        name: str,
        object: str,
        *,
        as_role: str | None = None,
        with_: Mapping[str, str] | None = None,
        all: bool = False,
        at_least: int | None = None,
        as_of: "AsOf | None" = None,
    ) -> Explanation:
        """The decision, with the paths that allow it, or with the paths of the DENYs and the nearest remedy.

        With `all`, it has the paths of every deciding fact, within the limits of Explanation. `as_of` as in `check`;
        the remedy is then that of the past state. If `ends_due` is true, the paths do not show when facts end. Raises
        the errors of `check`.
        """
        words = {"subject": subject, "name": name, "object": object, "as_role": as_role}
        return self._about(
            "explain",
            words,
            with_,
            at_least,
            lambda ask, decision, near: explained(ask, decision, all, near),
            as_of,
            in_memory=True,
        )

    @retry_on_upgrade
    def revocation(
        self,
        subject: str,
        name: str,
        object: str,
        *,
        as_role: str | None = None,
        with_: Mapping[str, str] | None = None,
        at_least: int | None = None,
        effects: bool = False,
    ) -> Revocation:
        """The smallest set of statements after which `subject` cannot use `name` on `object` any more. Changes nothing.

        With `effects`, the result also has all access that these statements would take away (see `plan`). Raises the
        errors of `check`.
        """
        words = {"subject": subject, "name": name, "object": object, "as_role": as_role}
        for _ in range(present_facts.TRIES):
            found = self._about(
                "revocation", words, with_, at_least, lambda ask, decision, _: revocation(ask, decision)
            )
            if not (effects and found.statements):
                return found
            told = self._effects_at(found.revision, found.statements)
            if told is not None:
                return found.model_copy(update={"effects": told})
        raise present_facts.changing(self.tenant)

    # ---- what is in the root ----------------------------------------------------------------------------------------

    @retry_on_upgrade
    def show(self, ref: str, *, at_least: int | None = None, as_of: "AsOf | None" = None) -> EntityView:
        """One entity: what it is, its parents, its owner, its members and memberships, and the grants on it and to it.

        Each list has at most 50 entries, and says whether it is complete. `as_of` as in `check`. Raises Unknown,
        InvalidReference, InvalidInput, Inconsistent, Unavailable.
        """
        question = require_question(ShowEntity, ref=ref)
        if as_of is not None:
            return entity_view.show(self._past(as_of, at_least), question, None)
        return self._inspected(at_least, lambda view: entity_view.show(view, question, at_least))

    @retry_on_upgrade
    def grants(
        self,
        *,
        on: str | None = None,
        to: str | None = None,
        privilege: str | None = None,
        effect: Effect | None = None,
        limit: int = USUAL,
        after: str | None = None,
        at: int | None = None,
        at_least: int | None = None,
    ) -> GrantPage:
        """The stored grants that match all filters, sorted by object, subject, privilege and effect.

        `on` and `to` are exact: grants on the places above `on`, and to the groups and roles of `to`, are not listed.
        Raises as `list`.
        """
        question = require_question(ListGrants, on=on, to=to, privilege=privilege, effect=effect)
        page = PageRequest(limit, after, at, at_least)
        return self._inspected(at_least, lambda view: lookup.grants(view, question, page), at)

    @retry_on_upgrade
    def members(
        self,
        container: str,
        *,
        all: bool = False,
        limit: int = USUAL,
        after: str | None = None,
        at: int | None = None,
        at_least: int | None = None,
    ) -> MembershipPage:
        """The direct members of a group or role, in byte order; with `all` also those through other groups and roles.

        Raises as `list`.
        """
        question = require_question(ListMembers, container=container, all=all)
        page = PageRequest(limit, after, at, at_least)
        return self._inspected(at_least, lambda view: lookup.members(view, question, page), at)

    @retry_on_upgrade
    def memberships(
        self,
        member: str,
        *,
        all: bool = False,
        limit: int = USUAL,
        after: str | None = None,
        at: int | None = None,
        at_least: int | None = None,
    ) -> MembershipPage:
        """The groups and roles that a subject belongs to directly; with `all` also through others. Raises as `list`."""
        question = require_question(ListMemberships, member=member, all=all)
        page = PageRequest(limit, after, at, at_least)
        return self._inspected(at_least, lambda view: lookup.memberships(view, question, page), at)

    @retry_on_upgrade
    def ending(self, *, within: timedelta | None = None, limit: int = USUAL, at_least: int | None = None) -> EndingPage:
        """The grants and memberships that end (within a time from now, by this computer's clock), the earliest first.

        Raises InvalidInput, Inconsistent, Unavailable.
        """
        return endings.ending(self, within, limit, at_least)

    def expire(self) -> int:
        """Removes the grants and memberships that have ended, as each question and each change does first. Returns the
        revision. Raises Unknown, Inconsistent, Unavailable."""
        return self.revision_now()

    @retry_on_upgrade
    def can(
        self,
        subject: str,
        object: str,
        *,
        as_role: str | None = None,
        with_: Mapping[str, str] | None = None,
        at_least: int | None = None,
    ) -> Abilities:
        """Every privilege and operation of the policy on `object`, each with whether `subject` can use it.

        The subject can also be a group or a role: then the answers are those of a new user who belongs only to it. An
        operation that needs a second object has no answer unless `with_` names one. One round trip. Raises as `list`.
        """
        given = require_second_objects(with_)
        question = require_question(ListAbilities, subject=subject, object=object, as_role=as_role, with_=given)
        graph = GraphSource(self.ask, self.policy, self.root, self.at_one_revision, at_least)

        def asked(view: "Authorizer | PastRoot") -> Abilities:
            return abilities(view, question, graph.answers if isinstance(view, Authorizer) else view.answers)

        return self._inspected(at_least, asked)

    @retry_on_upgrade
    def question(self, name: str, /, *, limit: int | None = None, **parameters: str) -> CatalogueAnswer:
        """The answer to a question of the catalogue, such as `question("who_is_in_a_group", group="role:analyst")`.

        docs/questions.md lists the questions and what they leave out. A question reviews what is stored; for a
        decision, use `check`, `who` or `which`. `parameters` are those of the question's header without `root`; the
        answer has at most `limit` rows (1 to 10,000; default: all, or 10 of a question with a limit of its own).
        Raises UnknownName, Unknown, InvalidReference, InvalidInput, Inconsistent, Unavailable.
        """
        return catalogue_answer.answer(self, name, parameters, limit)

    @retry_on_upgrade
    def list(
        self,
        type: str,
        *,
        under: str | None = None,
        owned_by: str | None = None,
        without_owner: bool = False,
        like: str | None = None,
        limit: int = USUAL,
        after: str | None = None,
        at: int | None = None,
        at_least: int | None = None,
    ) -> EntityPage:
        """The existing entities of a type, in byte order.

        `under` keeps those below a place, `owned_by` those with this owner, `without_owner` those without one, `like`
        those whose reference contains a text after the type, in upper or lower case. Raises Unknown, InvalidReference,
        Invalid, InvalidInput, Inconsistent, Unavailable.
        """
        question = require_question(
            ListEntities, type=type, under=under, owned_by=owned_by, without_owner=without_owner, like=like
        )
        page = PageRequest(limit, after, at, at_least)
        return self._inspected(at_least, lambda view: lookup.entities(view, question, page), at)

    # ---- the past ---------------------------------------------------------------------------------------------------

    @retry_on_upgrade
    def past(self, as_of: int | str | datetime, *, snapshots: "Iterable[AnyPath | str]" = ()) -> "PastRoot":
        """The root as it was at a revision, or after the last change at or before a time.

        Pass the result to several questions as `as_of`, so that the facts are read only once. A time is a datetime
        with a zone, or a text in ISO 8601; a text without an offset is in UTC.

        The facts are computed from those of the present or of one of the `snapshots` of this root, by undoing or
        repeating the changes of the log. The nearest start from which this is possible is used. Needs the extra
        `replica`. Raises InvalidInput if the root has not reached the revision, if it had no change at or before the
        time, or if the log does not describe all the changes in between; Unknown, Inconsistent, Unavailable.
        """
        from grantpath.engine.facts.set.fact_set import FactSet  # only here: they need an extra
        from grantpath.engine.past.past_reader import PastReader
        from grantpath.engine.past.past_root import PastRoot

        reader = PastReader.of(self, self.replica, snapshots)

        with telemetry.span("past", self.tenant) as span:
            version, policy = reader.facts_at(reader.revision_of(as_of))
            found = PastRoot(self.tenant, FactSet(version, policy, self.root))
            span.set(revision=found.revision)
            return found

    @retry_on_upgrade
    def since(
        self,
        subject: str,
        name: str,
        object: str,
        *,
        as_role: str | None = None,
        with_: Mapping[str, str] | None = None,
    ) -> "Since":
        """Since when, without interruption, `subject` can (or cannot) use `name` on `object`, and by which change.

        The changes of the log are undone one by one until the answer is different, or the question was not possible
        yet, e.g. because the object did not exist. All facts of the root are read (see `past`). Raises the errors of
        `check`, and Inconsistent if the log contradicts the facts.
        """
        from grantpath.engine.past.past_reader import PastReader
        from grantpath.engine.past.since_reader import since

        with telemetry.span("since", self.tenant, name, subject=subject, object=object) as span:
            asked = request.as_words(Check, with_, subject=subject, name=name, object=object, as_role=as_role)
            # an error in the question is raised before the facts are read
            words, _ = request.resolve_check(self.policy, self.root, asked)
            found = since(self, PastReader.of(self, self.replica, ()), words)
            telemetry.decided(span, found.revision, found.allowed)
            return found

    @retry_on_upgrade
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
        another way, e.g. a drop that removed it along with its parent. Entries under other names that the entity of
        `actor`, `object` or `subject` has had, before or after a rename or a move, match, too.

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
        return audit_log.read(self.ask, wanted, self.policy, self.root)

    def verify_log(self, head: str | None = None, progress: Callable[[int], None] = lambda _: None) -> LogCheck:
        """Verifies that the log has not been altered, as far as its hash chain shows.

        `head` is a hash that a change returned and that was stored elsewhere: it proves its entry and all earlier ones.
        Without it, the result's `unseen` says what cannot be detected. `progress` is called with the number of entries
        read. Raises InvalidInput if `head` is not a hash, Unknown, Inconsistent, Unavailable.
        """
        return verify(self.ask, head, progress)

    # ---- changes ----------------------------------------------------------------------------------------------------

    @retry_on_upgrade
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

        Dropping the root object removes everything in the root at once, without a confirmation; its history stays, and
        `drop_root` removes that too. The command line asks before it makes such a change.

        A change with a caller's `id` can be repeated: the repetition changes nothing and returns the first result,
        with `already` true. `dry_run` changes nothing and returns every fact that the change would add or remove, as
        `added` and `removed`; if a change with this `id` was already made, it returns the first result.

        Raises Invalid (or Unknown, InvalidReference) if the change breaks a rule that holds for every actor, Refused if
        `by` is not allowed to make it, and Unavailable. If the server does not confirm a commit, the outcome is read
        back; `Unavailable.unknown` is true if that fails, too.
        """
        return self._reported(
            statement, by, dry_run, partial(self._service.change, statement, by, as_role, id, dry_run)
        )

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
    ) -> Changes: ...

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
    ) -> Outcomes: ...

    @_or_each
    @retry_on_upgrade
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
    ) -> Changes:
        """Makes all changes in one transaction, or none. Each sees the changes before it. At most 10,000.

        With `at_revision`, e.g. that of a `plan`, they are made only if the root is at this revision; otherwise nothing
        is done, and Conflict is raised. So exactly the planned change is made. With `root_id`, that of the plan,
        Conflict is also raised if the root was dropped and created again since then. The first fact of a root that ends
        must be planned twice: the first attempt prepares the root, and raises Conflict.

        Returns a Change for each; see `change` for the rest. An error names the index (from 0) of the first wrong
        statement in its text and as `.index`.

        With `each`, every statement has the outcome that it has alone, by `change`, after those before it, and a wrong
        one does not stop the others: the list has its error (Refused or Invalid) in its place. Up to 200 statements
        share a transaction. With an `id`, the ids are `id.0`, `id.1`, and so on. Any other error ends the call and has
        the index of its statement: the statements before it are made, and it and those after it are not. If the error
        is `unknown`, it and up to 199 after it may be made. A dry run tells what each statement would do now. `each`
        takes neither `at_revision` nor `root_id`.
        """
        with telemetry.span("change_all", self.tenant, subject=by) as span:
            done = self._service.change_all(statements, by, as_role, id, dry_run, Planned(at_revision, root_id))
            made = self._count_changes(span, done, dry_run)
        if made:
            changed.debug("%s: changed by %s: %d of %d statements", self.tenant, by or "no actor", made, len(done))
        return done

    def batch(self, **options: Unpack[ChangeOptions]) -> Batch:
        """Collects the changes of a `with` block, and makes them in one transaction at its end, as `change_all`.

        with auth.batch(by="user:ann") as batch:
            batch.add("table:hr.public.staff")
            batch.allow("SELECT_TABLE", on="table:hr.public.staff", to="role:analyst")
        batch.changes[0].revision
        """
        return Batch(lambda statements: self.change_all(statements, **options))

    # each verb is `change` with the statement that its words make; it takes `by`, `as_role`, `id` and `dry_run`, too

    def allow(
        self, privilege: str, *, on: str, to: str, until: Until | None = None, **options: Unpack[ChangeOptions]
    ) -> Change:
        """Grants a privilege, as `change`. `until`: when the grant ends: a datetime with a zone, or a text such as
        2026-12-31T00:00:00Z."""
        return self.change(verbs.allow(privilege, on, to, until), **options)

    def deny(
        self, privilege: str, *, on: str, to: str, until: Until | None = None, **options: Unpack[ChangeOptions]
    ) -> Change:
        """Denies a privilege, as `change`; a DENY overrides every ALLOW. `until` as for `allow`."""
        return self.change(verbs.deny(privilege, on, to, until), **options)

    def revoke(
        self, privilege: str, *, on: str, from_: str, effect: Effect = "ALLOW", **options: Unpack[ChangeOptions]
    ) -> Change:
        """Removes the ALLOW of a privilege, or its DENY, as `change`."""
        return self.change(verbs.revoke(privilege, on, from_, effect), **options)

    def add(self, ref: str, *, with_: Mapping[str, str] | None = None, **options: Unpack[ChangeOptions]) -> Change:
        """Creates an entity, as `change`; `with_` names second objects."""
        return self.change(verbs.add(ref, with_), **options)

    def drop(self, ref: str, **options: Unpack[ChangeOptions]) -> Change:
        """Removes an entity with everything inside it, as `change`."""
        return self.change(verbs.drop(ref), **options)

    def join(
        self, subject: str, container: str, *, until: Until | None = None, **options: Unpack[ChangeOptions]
    ) -> Change:
        """Makes a subject a member of a group, or gives it a role, as `change`. `until` as for `allow`."""
        return self.change(verbs.join(subject, container, until), **options)

    def leave(self, subject: str, container: str, **options: Unpack[ChangeOptions]) -> Change:
        """Ends a membership, as `change`."""
        return self.change(verbs.leave(subject, container), **options)

    def set_owner(self, ref: str, owner: str, **options: Unpack[ChangeOptions]) -> Change:
        """Sets the owner of an object, as `change`."""
        return self.change(verbs.set_owner(ref, owner), **options)

    def hand_over(self, former: str, *, to: str, **options: Unpack[ChangeOptions]) -> Change:
        """Makes `to` the owner of all that `former` owns, as `change`."""
        return self.change(verbs.hand_over(former, to), **options)

    def rename(self, ref: str, *, to: str, **options: Unpack[ChangeOptions]) -> Change:
        """Gives an entity another name, which is written as in a reference: `rename("table:hr.public.staff",
        to="people")`. Grants, owners and memberships of the entity, and all that is below it, stay."""
        return self.change(verbs.rename(ref, to), **options)

    def move(self, ref: str, *, to: str, **options: Unpack[ChangeOptions]) -> Change:
        """Moves an object, with all that is below it, into another parent. It inherits what is granted there from now
        on. The actor also needs the right to add it there."""
        return self.change(verbs.move(ref, to), **options)

    def tag(self, ref: str, *, with_: str, **options: Unpack[ChangeOptions]) -> Change:
        """Tags an object: what is granted or denied on the tag then holds for the object, if the policy says so."""
        return self.change(verbs.tag(ref, with_), **options)

    def untag(self, ref: str, *, from_: str, **options: Unpack[ChangeOptions]) -> Change:
        """Removes a tag from an object, as `change`."""
        return self.change(verbs.untag(ref, from_), **options)

    @retry_on_upgrade
    def given(self, statements: Iterable[str]) -> Problems:
        """Writes facts in order, in one transaction, without authorization. Users and groups are added when mentioned.

        Returns for each statement the error, or None; wrong statements are skipped. Raises InvalidInput if the argument
        is not a list or has more than 10,000 statements, Unavailable.
        """
        return self._service.given(statements)

    @retry_on_upgrade
    def plan(self, statements: Iterable[str], *, by: str | None = None, as_role: str | None = None) -> ChangePlan:
        """The facts that these statements would change, and the effects: who would gain and lose what. Changes nothing.

        The statements are planned as one call of `change_all`, with its rules and errors. Also raises InvalidInput if a
        statement changes more than 200,000 facts, and Inconsistent if the root changes too often. Needs the extra
        `replica`.
        """
        with telemetry.span("plan", self.tenant, subject=by):
            texts, facts = require_list("statements", statements), self._facts()

            def planned(version: "FactVersion") -> ChangePlan | None:
                changes = self._service.change_all(texts, by, as_role, None, True, Planned())
                if base_revision(changes, version.revision) != version.revision:
                    return None
                gained = present_facts.effects(self, facts, version, facts_of(changes), self.policy)
                return ChangePlan.of(changes, version.revision, version.origin.made, gained)

            return present_facts.at_present(self, facts, planned)

    @retry_on_upgrade
    def effects_of(
        self, added: Iterable[str], removed: Iterable[str], *, at: int, policy: Policy | None = None
    ) -> Effects:
        """The effects of the facts that a dry run of a load or an upgrade lists. `at`: the revision of the dry run;
        `policy`: the new policy of an upgrade.

        `added` and `removed` are statements, complete and in the order of a delta. Raises InvalidInput if an argument
        is of another type, and Conflict if the root is at another revision, or if a fact does not fit. Needs the extra
        `replica`.
        """
        require_number("at", at)
        if policy is not None and not isinstance(policy, Policy):
            raise InvalidInput(
                f"policy={short(repr(policy))} is not a Policy; pass what grantpath.engine.policy.policy.load returns"
            )
        spelled = partial(canonical_statement, self.policy, self.root)
        lists = {"added": added, "removed": removed}
        entry = {
            name: [*map(spelled, require_list(f"statements for {name}=", each, None))] for name, each in lists.items()
        }
        facts = self._facts()

        def compared(version: "FactVersion") -> Effects:
            if version.revision != at:
                raise Conflict(
                    f"{self.tenant} is at revision {version.revision}, not at {at}; repeat the dry run and this call",
                    code="root_moved",
                )
            return present_facts.effects(self, facts, version, [entry], policy or self.policy)

        return present_facts.at_present(self, facts, compared)

    # ---- help -------------------------------------------------------------------------------------------------------

    def _use(self, policy: Policy) -> None:
        self._service = ChangeService(self.store, self.tenant, policy, self.root)
        self.store.ends_by(end_due)
        if policy.facts_format >= WITH_ENDS:
            self.store.watch_ends(self.tenant)
        super()._use(policy)  # last: other threads compare it

    def _sources(self, at_least: int | None, past: "PastRoot | None", whole: bool = False) -> Sequence[Source]:
        """What answers checks and lists, in the order in which it is asked. `whole`: only with all facts that are
        stored at the revision of the answer."""
        if past is not None:
            return [past]
        graph = GraphSource(self.ask, self.policy, self.root, self.at_one_revision, at_least)
        copy = self.replica or self._without_ended
        return [graph] if copy is None else [copy.source(self.policy, self.root, at_least, whole), graph]

    def _asked(self, ask: Callable[[], Answered]) -> Answered:
        """What `ask` finds in the sources of an answer, which it takes anew with each call.

        If facts have ended that this database user may not remove, the database does not answer until another client
        has removed them, which may be never. Then the facts are read into memory, and `ask` is called again.
        """
        copy = self._without_ended
        useless = copy is not None and copy.has_facts_of(self.policy)  # if the database is asked all the same
        try:
            return ask()
        except Inconsistent as error:
            if error.code != "ends_due" or useless or not self._read_without_ended():
                raise
        return ask()

    def _read_without_ended(self) -> bool:
        """Reads a copy of the facts, if the database user may only read. Returns whether it is ready."""
        if self.replica is not None or not self.store.only_reads or not is_installed("replica"):
            return False
        from grantpath.engine.facts.copy.replica import Replica  # only here: it needs an extra

        made = Replica(self.store, self.tenant, self.root, READER_MEMORY)
        copy: Replica = self.__dict__.setdefault("_without_ended", made)  # of another thread, if that was earlier
        return copy.ready(self.policy)

    def _beside_ended(self, at_least: int | None) -> "PastRoot | None":
        """The facts without those that have ended, if the database user may not remove these, and there is a copy."""
        copy = self.replica or self._without_ended
        version = None if copy is None else copy.current(self.policy, at_least, whole=False)
        if version is None or not version.left_out:
            return None
        from grantpath.engine.facts.set.fact_set import FactSet  # only here: these need an extra
        from grantpath.engine.past.past_root import PastRoot

        return PastRoot(self.tenant, FactSet(version, self.policy, self.root))

    def _inspected(
        self, at_least: int | None, work: "Callable[[Authorizer | PastRoot], Seen]", at: int | None = None
    ) -> Seen:
        """What `work` finds in the root, or beside facts that have ended in the facts without these; see `_asked`.

        `at`: the revision of the pages before. Later pages are of all facts that are stored at it."""
        if at is not None:
            return work(self)

        def seen() -> Seen:
            facts = self._beside_ended(at_least)
            return work(self) if facts is None else work(facts).model_copy(update={"ends_due": True})

        return self._asked(seen)

    def _answers(self, questions: Sequence[ResolvedQuestion], at_least: int | None, past: "PastRoot | None") -> Checked:
        """The answers to checks in order, and a row with their revision."""
        return self._asked(lambda: first(self._sources(at_least, past), lambda source: source.answers(questions)))

    def _deciding(self, count: int, at_least: int | None, past: "PastRoot | None") -> Deciding:
        """What decides the checks of a batch."""
        each = Deciding(unlike, lambda questions: self._answers(questions, at_least, past))
        if count <= FEW:
            return each
        return next(filter(None, (source.deciding() for source in self._sources(at_least, past))), each)

    def _verdicts(
        self, columns: CheckColumns, at_least: int | None, past: "PastRoot | None"
    ) -> tuple[Sequence[bool | GrantpathError], Mapping[str, Any]]:
        """Whether each check is allowed, in order, or its error; and a row with the revision."""
        verdicts, marks = self._asked(
            lambda: first(self._sources(at_least, past), lambda source: source.verdicts(columns))
        )
        tenant = past or request.OneSuggestion(self)

        def unknown(absent: Absent) -> GrantpathError:
            try:
                tenant.require_existing(absent.needed, absent.known)
            except Unknown as error:
                if error.code == "root_dropped":  # about all checks
                    raise
                return error
            raise AssertionError("what is absent at the revision of the answer is unknown")

        return [unknown(each) if isinstance(each, Absent) else each for each in verdicts], marks

    def _listing(self, span: telemetry.Span, words: Who | Which, page: Page, as_of: "AsOf | None") -> Listing:
        """The list. Its first page is read now, so that the call itself raises the errors."""
        past = None if as_of is None else self._past(as_of, page.least)
        policy = (past or self).policy
        questions = request.resolve_each(policy, self.root, words)
        words = request.canonical(words, questions[0])
        types = questions[0].listed if isinstance(words, Who) else [each.requirement.type for each in questions]
        page = page.parsed(policy, self.root, types)
        later = page.at is not None  # a later page must be of the same facts, which its revision tells
        within = any(each.within for each in questions)
        chosen = partial(request.only_within, policy, self.root, questions) if within else None

        def read() -> Listing:
            sources = self._sources(page.at_least, past, whole=later)
            ask = first(sources, lambda source: source.listing(questions))
            return Listing(self.tenant, words, ask, policy, page, chosen)

        listing = self._asked(read)
        span.set(revision=listing.revision)
        for each in questions:
            (past or self).require_existing(each.needed, listing.first["known"])
        return listing

    def _about(
        self,
        verb: str,
        words: Mapping[str, str | None],
        with_: Mapping[str, str] | None,
        at_least: int | None,
        answer: Callable[[GuardedAsk, Decision, Callable[[str], str]], Found],
        as_of: "AsOf | None" = None,
        in_memory: bool = False,
    ) -> Found:
        """The decision of one check, and the answer about it, both read at the same revision.

        `in_memory`: whether facts in memory can answer all queries of `answer`.
        """
        named = {"subject": words["subject"], "object": words["object"]}
        with telemetry.span(verb, self.tenant, words["name"], **named) as span:
            asked = request.as_words(Check, with_, **words)
            past = None if as_of is None else self._past(as_of, at_least)
            check, question = request.resolve_check((past or self).policy, self.root, asked)

            def about() -> Found:
                facts = past or (self._beside_ended(at_least) if in_memory else None)
                state = facts or self

                def read(ask: GuardedAsk) -> Found:
                    source = facts or GraphSource(ask, self.policy, self.root, self.at_one_revision, at_least)
                    [row], marks = source.answers([question])
                    return answer(ask, request.decision(state, check, question, row, marks), state.near)

                return state.at_one_revision(read)

            found = self._asked(about) if in_memory else about()
            telemetry.decided(span, found.revision, found.allowed)
            return found

    def _effects_at(self, revision: int, statements: Iterable[str]) -> "Effects | None":
        """The effects of statements at a revision; None if the root is now at another revision."""
        try:
            planned = self.plan(statements)
        except Invalid:  # a concurrent change can make the statements impossible
            if self.revision_now() == revision:
                raise
            return None
        return planned.effects if planned.revision == revision else None

    def _past(self, as_of: "AsOf", at_least: int | None) -> "PastRoot":
        """The past state for the argument `as_of` of a question. Raises InvalidInput and the errors of `past`."""
        from grantpath.engine.past.past_root import PastRoot

        if at_least is not None:
            raise InvalidInput(f"as_of cannot be combined with at_least={at_least}; omit one of them")
        if not isinstance(as_of, PastRoot):
            return self.past(as_of)
        if as_of.tenant != self.tenant:
            raise InvalidInput(
                f"as_of is a state of {as_of.tenant}, not of {self.tenant}; pass a result of `past` of this Authorizer"
            )
        return as_of

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
    ) -> Outcomes:
        if at_revision is not None or root_id is not None:
            raise InvalidInput("each=True moves the root from statement to statement; omit at_revision and root_id")
        require_flag("dry_run", dry_run)
        texts = require_list("statements", statements)
        if id is not None:
            longest = f".{max(0, len(texts) - 1)}"  # each has the id with its index
            require_id(id, len(longest))  # before the first change
        ids = [None if id is None else f"{id}.{index}" for index in range(len(texts))]
        found: Outcomes = []
        while (at := len(found)) < len(texts):
            first = slice(at, at + MOST)
            for make in [None] if dry_run else self._service.in_order(texts[first], ids[first], by, as_role):
                at = len(found)
                try:
                    found.append(self._own(texts[at], make, by=by, as_role=as_role, id=ids[at], dry_run=dry_run))
                except (Refused, Invalid) as error:
                    found.append(error)
                except GrantpathError as error:
                    error.index = at
                    raise
        return found

    def _own(self, statement: str, make: Callable[[], Change] | None, **options: Unpack[ChangeOptions]) -> Change:
        """The change of one of several statements: what `make` returns, or None to make it now. Raises its error."""
        if make is None:
            return self.change(statement, **options)
        try:
            return self._reported(statement, options["by"], False, make)
        except GrantpathError as error:
            with_question(error, Authorizer.change, (statement,), options, self.policy, self.root)
            raise

    def _reported(self, statement: str, by: str | None, dry_run: bool, make: Callable[[], Change]) -> Change:
        """The change that `make` makes. Reports it, or its error, to operators."""
        with telemetry.span("change", self.tenant, subject=by, statement=statement) as span:
            done = make()
            made = self._count_changes(span, [done], dry_run)
        if made:
            changed.debug("%s: changed by %s: %s", self.tenant, by or "no actor", statement)
        return done

    @staticmethod
    def _count_changes(span: telemetry.Span, done: Sequence[Change], dry_run: bool) -> int:
        """Reports how many changes were made, and returns it. A dry run and a repetition make none."""
        made = 0 if dry_run else sum(change.id is not None and not change.already for change in done)
        span.set(changes=made, dry_run=dry_run, revision=done[-1].revision if done else None)
        telemetry.count("changes", made)
        return made

    def _canonical(self, text: str | None) -> str | None:
        return None if text is None else self.policy.reference(text, self.root).text

    def _facts(self) -> "Replica":
        """All facts in memory: those of the copy if there is one."""
        from grantpath.engine.facts.copy.replica import Replica  # only here: it needs an extra

        if self.replica is not None:
            return self.replica
        if self._read is None:
            self._read = Replica.of(self.store, self.tenant, self.root, self.policy)
        return self._read
