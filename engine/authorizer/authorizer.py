"""The public methods that answer questions. Others: change_verbs.py, effect_verbs.py, explanation_verbs.py,
inspection_verbs.py, past_verbs.py."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from grantpath.engine.answers import request
from grantpath.engine.answers.batches import each_of, each_or_error, need_list
from grantpath.engine.answers.decision import Decision
from grantpath.engine.answers.listing import Listing, Page
from grantpath.engine.answers.request import ResolvedQuestion
from grantpath.engine.authorizer.explanation_verbs import ExplanationVerbs
from grantpath.engine.authorizer.inspection_verbs import InspectionVerbs
from grantpath.engine.authorizer.list_sources import ListSources
from grantpath.engine.change.founding import create_by
from grantpath.engine.tenants import dropped_roots, opening, registry
from grantpath.engine.tenants.asked import with_question
from grantpath.engine.tenants.open_tenant import following
from grantpath.graph.client import telemetry
from grantpath.graph.client.credentials import Auth, Provider
from grantpath.graph.embedded.connect import connection
from grantpath.graph.errors import GrantpathError, InvalidInput
from grantpath.graph.guard.store import STALL_LIMIT, Store
from grantpath.graph.language.statement import Check, Which, Who
from grantpath.graph.messages import short

if TYPE_CHECKING:
    from grantpath.engine.past.past_root import AsOf, PastRoot


class Authorizer(InspectionVerbs, ExplanationVerbs, ListSources):
    """Answers questions about one root, and changes it. Threads can share it; close it, or use it in a `with` block.

    Every question except `log`, `past` and `since` takes `at_least`, the revision of a change that the answer must
    include. If the graph is older, the call waits a moment and then raises Inconsistent.

    check, check_many, explain, who, which and show take `as_of`: a past revision or time, or what `past` returned.
    Everything in the answer is then of that time, the policy too. Each call with a revision or a time reads all facts:
    for several questions use `past`.
    """

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

    @following
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
    ) -> list[Decision]: ...
    @overload
    def check_many(
        self,
        checks: Iterable[request.AnyCheck],
        *,
        each: bool,
        at_least: int | None = None,
        as_of: "AsOf | None" = None,
    ) -> list[Decision | GrantpathError]: ...
    @following  # type: ignore[misc]  # mypy compares the overloads with what the decorator returns
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
            state, given = past or self, need_list("checks", checks)
            run: Callable[..., list[Any]] = each_or_error if each else each_of
            asked = run("check", given, partial(request.resolve_check, state.policy, self.root))
            valid = [one for one in asked if not isinstance(one, GrantpathError)]
            if not valid:
                return asked
            answers, row = self._answers([question for _, question in valid], at_least, past)
            answered = iter(answers)
            tenant = request.OneSuggestion(self) if each and past is None else state

            def decided(one: tuple[Check, ResolvedQuestion]) -> Decision:
                return request.decision(tenant, *one, next(answered), row)

            decisions = run("check", asked, decided)
            allowed = [one.allowed for one in decisions if isinstance(one, Decision)]
            telemetry.all_decided(span, row["revision"], allowed)
            for one in decisions:
                if isinstance(one, GrantpathError):
                    with_question(one, Authorizer.check_many, (), {"checks": given}, self.policy, self.root)
            return decisions

    @following
    def who(
        self,
        name: str,
        object: str,
        *,
        with_: Mapping[str, str] | None = None,
        limit: int | None = None,
        after: str | None = None,
        at: int | None = None,
        at_least: int | None = None,
        as_of: "AsOf | None" = None,
    ) -> Listing:
        """The users and service principals that can use `name` on `object`, in byte order, without duplicates.

        For the next page, pass the last reference of this page as `after`, and its `Listing.revision` as `at`. The
        entity of `after` need not exist any more. All references are of that revision; PageExpired is raised if the
        root has passed revision `at`, Inconsistent if it changes while a long list is read. Raises the errors of
        `check`, and InvalidInput if the list cannot contain `after`.
        """
        with telemetry.span("who", self.tenant, name, object=object) as span:
            words = request.as_words(Who, with_, name=name, object=object)
            return self._listing(span, words, Page(limit, after, at, at_least), as_of)

    @following
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
        """The existing objects of `type` on which `subject` can use `name`, in pages as in `who`."""
        with telemetry.span("which", self.tenant, name, subject=subject) as span:
            words = request.as_words(Which, with_, type=type, subject=subject, name=name, as_role=as_role)
            return self._listing(span, words, Page(limit, after, at, at_least), as_of)

    def _answers(
        self, questions: Sequence[ResolvedQuestion], at_least: int | None, past: "PastRoot | None"
    ) -> tuple[Iterable[Mapping[str, Any]], Mapping[str, Any]]:
        """The answers to checks in order, and a row with their revision: from memory if possible."""
        if past is not None:
            return past.answers(questions)
        copy = self.replica
        found = None if copy is None else copy.check(self.policy, self.root, questions, at_least)
        return request.answers(self.ask, questions, at_least) if found is None else found
