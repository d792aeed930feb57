"""Change service: single or batched changes, idempotent by the caller's id, logged or refused."""

import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import NoReturn

from grantpath.engine.answers.batches import one_of, require_list
from grantpath.engine.answers.request import active_role
from grantpath.engine.change import facts_format
from grantpath.engine.change.apart import APART, apply_all
from grantpath.engine.change.apply import BatchApplier
from grantpath.engine.change.audit_writer import record, refuse
from grantpath.engine.change.change_step import Actor, ChangeStep
from grantpath.engine.change.deltas import Delta
from grantpath.engine.change.group_commit import MOST, Groups, Member
from grantpath.engine.change.idempotency import Request, first_id, is_made
from grantpath.engine.change.made import Change
from grantpath.engine.change.planned_revision import Planned
from grantpath.engine.change.precheck import Precheck, PrecheckedWriting
from grantpath.engine.policy.policy import Policy
from grantpath.engine.policy.schema import WITH_ENDS
from grantpath.engine.policy.statement_rules import ResolvedStatement, Rules, canonical_statement
from grantpath.engine.tenants.opening import check_policy, other_policy
from grantpath.engine.tenants.registry import suggesting
from grantpath.graph.client import telemetry
from grantpath.graph.errors import (
    Conflict,
    GrantpathError,
    Inconsistent,
    Invalid,
    InvalidInput,
    Refused,
    Unavailable,
    Unknown,
)
from grantpath.graph.guard.store import Store
from grantpath.graph.guard.transaction import Writing
from grantpath.graph.language.inputs import require_flag
from grantpath.graph.language.reference import Reference
from grantpath.graph.language.statement import Statement, parse_statement
from grantpath.graph.messages import short

ANY_STATE = Planned()
PRECHECKS = 12  # attempts to read one state without the lock, while other writers commit


class ChangeService:
    """Changes one root."""

    def __init__(self, store: Store, tenant: str, policy: Policy, root: Reference) -> None:
        self.store = store
        self.tenant = tenant
        self.policy = policy
        self._root = root
        self._rules = Rules(policy, root)
        self._groups = Groups()

    # ---- public methods ----------------------------------------------------------------------------------------
    def change(self, statement: str, by: str | None, as_role: str | None, id_: str | None, dry_run: bool) -> Change:
        """Makes one change. Raises Invalid, Refused, Unavailable; InvalidInput if `dry_run` is not True or False."""
        require_flag("dry_run", dry_run)
        actor = self._actor(by, as_role)
        try:
            step = self._step(statement, actor)
        except GrantpathError:
            earlier = self._done_before([statement], actor, id_)
            if earlier is None:
                raise
            return earlier[0]
        if not dry_run:
            self._require_format([step], ANY_STATE)
        if dry_run or not self._may_join(step):
            return self._all([step], id_, dry_run, _as_it_is)[0]
        return self._in_group(step, id_)

    def change_all(
        self,
        statements: Iterable[str],
        by: str | None,
        as_role: str | None,
        id_: str | None,
        dry_run: bool,
        planned: Planned,
    ) -> list[Change]:
        """Makes all changes or none. Raises the errors of `change`, with the index of the statement; Inconsistent if
        the root is not in the planned state."""
        require_flag("dry_run", dry_run)
        texts = require_list("statements", statements)
        actor = self._actor(by, as_role)
        steps: list[ChangeStep] = []
        for index, statement in enumerate(texts):
            try:
                steps.append(self._step(statement, actor))
            except GrantpathError as error:
                with suppress(GrantpathError):
                    earlier = self._done_before(texts, actor, id_)
                    if earlier is not None:
                        return earlier
                if steps:  # an earlier statement may be wrong, too, and the first wrong one is named
                    self._all(steps, id_, dry_run, _at, planned, _at(error, index))
                raise _at(error, index) from None
        if not dry_run:
            self._require_format(steps, planned)
        return self._all(steps, id_, dry_run, _at, planned) if steps else []

    def _require_format(self, steps: Sequence[ChangeStep], planned: Planned) -> None:
        """Upgrades the format of the root's facts before the first of them that ends, if the changes are possible. Then
        raises Inconsistent, so that the call is repeated with the policy of that format."""
        if not self._lacks_format(steps):
            return
        try:
            self._all([replace(step) for step in steps], None, True, _as_it_is, planned)
        except (Invalid, Refused):
            return  # they are wrong or refused, which the caller finds again, and logs
        facts_format.allow_ends(self)
        if planned != ANY_STATE:
            raise Conflict(
                f"{self.tenant} was at the planned revision, but had to be prepared for facts that end, which made a"
                " new revision; the plan is not carried out; plan the change again",
                code="root_moved",
            )
        raise other_policy(self.tenant)

    def _lacks_format(self, steps: Iterable[ChangeStep]) -> bool:
        return self.policy.facts_format < WITH_ENDS and any(step.change.until for step in steps)

    def _check_format(self, steps: Iterable[ChangeStep]) -> None:
        """Raises Inconsistent if a step has an end, and the format of the root's facts was not raised: another writer
        made possible what was not."""
        if self._lacks_format(steps):
            raise Inconsistent(f"{self.tenant} was changed by another writer meanwhile; nothing is done, try again")

    def _done_before(self, texts: list[str], actor: Actor | None, id_: str | None) -> list[Change] | None:
        """The changes that were already made with the id. An earlier policy of the root may have accepted them."""
        if id_ is None or not all(isinstance(text, str) for text in texts):
            return None
        spelled = [canonical_statement(self.policy, self._root, text) for text in texts]
        request = Request(id_, spelled, actor, self._root)
        try:
            return self.store.write(self.tenant, request.earlier)
        except Invalid:  # the id belongs to another request
            return None

    def _step(self, statement: str, actor: Actor | None) -> ChangeStep:
        parsed = _parsed(statement)
        resolved = self._rules.resolve_guarded(parsed) if actor else self._rules.resolve(parsed, as_fact=True)
        return ChangeStep(resolved, actor)

    def given(self, statements: Iterable[str]) -> list[str | None]:
        """Writes facts in order, without authorization; users and groups that they mention are added. Returns the error
        of each statement, or None. Wrong statements are skipped."""
        texts = require_list("statements", statements)
        problems: list[str | None] = []
        steps: list[tuple[int, ChangeStep]] = []  # each with the index of its statement
        sure: set[str] = set()  # entities that exist, because an earlier statement named them
        for index, line in enumerate(texts):
            problems.append(None)
            try:
                fact = self._fact(line)
            except GrantpathError as error:
                problems[index] = str(error)
                continue
            steps += [(index, step) for step in self._mentions(fact.change, sure)]
            steps.append((index, fact))

        if self._lacks_format(step for _, step in steps):
            facts_format.allow_ends(self)
            raise other_policy(self.tenant)

        def work(writing: Writing) -> None:
            check_policy(writing.policy, self.policy, self.tenant)
            for _, step in steps:
                step.reset()
            made, logged = [step for _, step in steps], PrecheckedWriting(writing, None)
            self._apply(logged, made, all_or_nothing=False)
            self._drop_wrong_mentions(steps, logged)
            record(logged, made, [uuid.uuid4().hex for _ in made])

        self.store.write(self.tenant, work)
        for index, step in steps:
            problems[index] = problems[index] or (str(step.error) if step.error else None)
        return problems

    def found(self, by: Reference) -> None:
        """Adds the creator of a new root to it, with what creators get. The log names the creator as the actor. Raises
        Inconsistent if the root is not new."""
        gives = self.policy.file.creating
        got = [f"owner {by} of {self._root}"] if gives == ["owner"] else []
        for privilege in gives if not got else []:
            if self._root.type in self.policy.names.privileges[privilege].on:
                got.append(f"allow {privilege} on {self._root} to {by}")
        steps = [self._fact(text) for text in (f"add {by}", *got)]

        def work(writing: Writing) -> None:
            check_policy(writing.policy, self.policy, self.tenant)
            if writing.revision:
                raise Inconsistent(f"{self.tenant} was changed while it was created; open it again")
            for step in steps:
                step.reset()
            logged = PrecheckedWriting(writing, None)
            BatchApplier(logged, self.policy, self._root).apply(steps, all_or_nothing=True)
            for error in (step.error for step in steps if step.error):
                raise error
            logged_steps = [replace(step, actor=Actor(by, None)) for step in steps]
            record(logged, logged_steps, [uuid.uuid4().hex for _ in steps])

        self.store.write(self.tenant, work)

    def _mentions(self, change: ResolvedStatement, sure: set[str]) -> Iterable[ChangeStep]:
        """The steps that add the users and groups that a fact names, if they do not exist."""
        if change.kind in ("drop", "rename", "move"):
            sure.discard(change.object.text)
        elif change.kind != "add":
            for ref in (change.object, change.subject):
                if not ref or ref.text in sure or ref.text in self.policy.builtins:
                    continue
                if ref.type in self.policy.addable_by_mention:
                    sure.add(ref.text)
                    yield self._fact(f"add {ref}", mentioned=True)

    def _drop_wrong_mentions(self, steps: Sequence[tuple[int, ChangeStep]], writing: PrecheckedWriting) -> None:
        """Drops entities that only wrong statements mention, because a wrong statement must not change anything."""
        wrong = {index for index, step in steps if step.error}
        right = [step.change for index, step in steps if index not in wrong]
        named = {ref for change in right for ref in (change.object, change.subject)}
        mistaken = [
            step
            for index, step in steps
            if step.mentioned and step.changed and index in wrong and step.change.object not in named
        ]
        drops = [self._fact(f"drop {step.change.object}") for step in mistaken]
        BatchApplier(writing, self.policy, self._root).apply(drops, all_or_nothing=False)
        for step in mistaken:
            step.changed = False

    def _fact(self, text: str, mentioned: bool = False) -> ChangeStep:
        """The step of a statement that needs no authorization."""
        return ChangeStep(self._rules.resolve(_parsed(text), as_fact=True), mentioned=mentioned)

    def _actor(self, by: str | None, as_role: str | None) -> Actor | None:
        if by is None:
            if as_role is not None:
                role = self.policy.reference(as_role, self._root)
                raise Invalid(f"as {role}: an active role needs an actor; name the acting user with `by`")
            return None
        ref = self.policy.reference(by, self._root)
        return Actor(ref, None if as_role is None else active_role(self.policy, self._root, as_role))

    # ---- in a group ----------------------------------------------------------------------------------------------
    def _may_join(self, step: ChangeStep) -> bool:
        """Whether a change is made together with others. One that can be very large would make them wait."""
        change = step.change
        return change.kind not in APART and not (change.kind == "drop" and self.policy.names.below(change.object.type))

    def _in_group(self, step: ChangeStep, id_: str | None) -> Change:
        """Makes a change together with all that wait. Raises the errors of `change`."""
        member = self._member(step, id_)
        request = member.request if member.named else None
        # of a copy, because a leader may work on the step at the same time
        precheck = partial(self._precheck, [replace(step)], request, ANY_STATE)
        try:
            with self._groups.place(member, self.store.timeout, precheck) as leads:
                if leads:
                    self._lead(member, precheck() if self._groups.is_lone() else None)
        except _Stopped as stopped:
            raise self._error_of(stopped, id_, dry_run=False) from None
        return self._outcome(member, 0.0 if member.taken or leads else member.waited)

    def in_order(
        self, statements: Sequence[str], ids: Sequence[str | None], by: str | None, as_role: str | None
    ) -> list[Callable[[], Change] | None]:
        """Makes as many of these statements as can be made in one transaction, from the first one on. Returns for each
        of them, in order, a function that returns its change or raises its error: the outcome that it has alone, after
        those before it. None: it is not made, and must be made alone before any that follows."""
        group = self._first_of(statements, ids, by, as_role)
        begun = False

        def work(writing: Writing) -> None:
            nonlocal begun
            begun = True
            self._together(writing, group, None)

        if len(group) < 2:
            return [None]
        try:
            self.store.write(self.tenant, work)
        except GrantpathError as error:
            try:
                committed = self._is_committed(group, error, begun)
            except Unavailable as unavailable:
                return [partial(_raise, unavailable)]
            if not committed:
                return [None] * (len(group) if begun else 1)
        for member in group:
            member.ended = True
        return [partial(self._outcome, member, 0.0) for member in group]

    def _first_of(
        self, statements: Sequence[str], ids: Sequence[str | None], by: str | None, as_role: str | None
    ) -> list[Member]:
        """The statements before the first one that must be made alone: it may be large, or it is malformed."""
        group: list[Member] = []
        with suppress(GrantpathError):
            actor = self._actor(by, as_role)
            for statement, id_ in zip(statements[:MOST], ids, strict=False):
                step = self._step(statement, actor)
                if not self._may_join(step) or self._lacks_format([step]):
                    break
                group.append(self._member(step, id_))
        return group

    def _is_committed(self, group: Sequence[Member], error: GrantpathError, begun: bool) -> bool:
        """Whether a group whose transaction failed was committed nevertheless. Raises Unavailable, with `unknown` if
        that cannot be known, or if the root was not free: then each of the group would wait for it again."""
        if not isinstance(error, Unavailable):
            return False
        if not begun:
            raise error
        if not error.unknown:
            return False
        tried = [member.tried for member in group if member.tried]
        try:  # under the lock: the commit is done, or cannot happen now
            return self.store.write(self.tenant, lambda writing: is_made(writing, tried))
        except GrantpathError as again:
            raise Unavailable(
                f"the connection was lost while {len(group)} statements were committed together, and it is not known "
                f"whether they were made: {again}. Look for the id {first_id(tried)} in the log"
                + (", or repeat the call with its id: each is made only once" if group[0].named else ""),
                unknown=True,
            ) from again

    def _member(self, step: ChangeStep, id_: str | None) -> Member:
        return Member(step, Request(id_, [step.text], step.actor, self._root), id_ is not None)

    def _outcome(self, member: Member, waited: float) -> Change:
        """The outcome of a change that was in a group, or raises its error. If the group failed, makes it alone.
        `waited`: the seconds for which it has waited for its turn."""
        id_ = member.request.id if member.named else None
        if member.before:
            return member.before
        if member.ended and member.tried:
            return member.tried
        if member.ended and member.wrong_at is not None:
            raise self._error_of(_Stopped(0, member.step, member.wrong_at), id_, dry_run=False)
        return self._all([member.step], id_, False, _as_it_is, tried=member.tried, waited=waited)[0]

    def _lead(self, leader: Member, precheck: Precheck | None) -> None:
        """Makes the changes of a group, which are then `ended`. Raises the error of a transaction that had only the
        leader's own change."""
        group = [leader]

        def work(writing: Writing) -> None:
            nonlocal group
            group = self._groups.take(leader)
            self._together(writing, group, precheck if len(group) == 1 else None)

        try:
            self.store.write(self.tenant, work, prechecked=precheck is not None, waited=leader.waited)
        except GrantpathError as error:
            unknown = isinstance(error, Unavailable) and error.unknown
            for member in group if not unknown else ():
                member.tried = None  # nothing was committed
            if len(group) > 1:
                return
            if not (unknown and leader.tried):
                raise
            [leader.before] = self._read_back([leader.tried], leader.request, leader.named)
        else:
            for member in group:
                member.ended = True

    def _together(self, writing: Writing, group: Sequence[Member], precheck: Precheck | None) -> None:
        """Makes and logs the changes of a group in its transaction. Sets what it tried, and which changes are wrong.
        Omits repeated ids."""
        telemetry.committed_together(len(group))
        if is_made(writing, [member.tried for member in group if member.tried]):
            return
        check_policy(writing.policy, self.policy, self.tenant)
        for member in group:
            member.tried = member.wrong_at = None
            member.step.reset()
        ready = [member for member in group if self._is_new(writing, member, group)]
        prechecked = PrecheckedWriting(writing, precheck)
        self._apply(prechecked, [member.step for member in ready], all_or_nothing=False)
        at = writing.revision
        for member in ready:
            member.wrong_at = at if member.step.error else None
            at += member.step.changed
        right = [member for member in ready if member.wrong_at is None]
        self._check_format(member.step for member in right)
        changes = record(prechecked, [member.step for member in right], [member.request.id for member in right])
        for member, change in zip(right, changes, strict=True):
            if member.named:
                member.request.remember(writing, [change])
            member.tried = change

    def _is_new(self, writing: Writing, member: Member, group: Sequence[Member]) -> bool:
        """Whether the id of a request is new. Otherwise, sets the change of the same request, or the error."""
        if not member.named:
            return True
        if any(other.request.id == member.request.id for other in group[: group.index(member)]):
            return False
        try:
            earlier = member.request.earlier(writing)
        except Invalid as error:  # the id belongs to another request
            member.step.error, member.wrong_at = error, writing.revision
            return False
        member.before = earlier[0] if earlier else None
        return earlier is None

    # ---- all or nothing ------------------------------------------------------------------------------------------
    def _all(
        self,
        steps: Sequence[ChangeStep],
        id_: str | None,
        dry_run: bool,
        reword: Callable[[GrantpathError, int], GrantpathError],
        planned: Planned = ANY_STATE,
        and_then: GrantpathError | None = None,
        tried: Change | None = None,
        waited: float = 0.0,
    ) -> list[Change]:
        """Makes all steps, which have one actor, or none and raises the first error; `and_then` is an error in a
        statement after them.

        `tried`: a change that may have been made for this request already; `waited`: the seconds for which it has
        waited for its turn.
        """
        actor = steps[0].actor
        if actor:
            _mark_new_subjects(steps)
        request = Request(id_, [step.text for step in steps], actor, self._root)
        ids, named = request.ids, id_ is not None and and_then is None
        tries = [[tried]] if tried else []  # the changes of each try, to find them in the log if an outcome is unknown
        precheck: Precheck | None = None
        marks_read = tried is None

        def work(writing: Writing) -> list[Change]:
            nonlocal marks_read
            for made in tries:
                if is_made(writing, made):
                    return made
            marks_read = True
            check_policy(writing.policy, self.policy, self.tenant)
            earlier = request.earlier(writing) if named else None
            if earlier is not None:
                return earlier
            planned.need(self.tenant, writing.revision, writing.made)
            for step in steps:
                step.reset()
            prechecked = PrecheckedWriting(writing, precheck)
            self._apply(prechecked, steps, all_or_nothing=True, is_dry_run=dry_run)
            for index, step in enumerate(steps):
                if step.error:
                    raise _Stopped(index, step, writing.revision)
            if and_then:
                raise and_then
            if not dry_run:
                self._check_format(steps)
            changes = record(prechecked, steps, ids)
            if dry_run:
                changes = [_with_delta(change, step.delta) for change, step in zip(changes, steps, strict=True)]
            if named:
                request.remember(writing, changes)
            tries.append(changes)
            return changes

        try:
            # batches of facts, the objects of an owner, and what is below an object can be very large, so they are
            # read only under the lock, where there is no time limit
            may_look = (actor or len(steps) == 1) and not any(step.change.kind in APART for step in steps)
            if may_look and not tried:  # what was made already would look wrong
                precheck = self._precheck(steps, request if named else None, planned)
            return self.store.write(
                self.tenant, work, commit=not dry_run, prechecked=precheck is not None, waited=waited
            )
        except _Stopped as stopped:
            raise reword(self._error_of(stopped, id_, dry_run), stopped.index) from None
        except GrantpathError as error:
            if marks_read and not (isinstance(error, Unavailable) and error.unknown):
                raise
            return self._read_back(tries[-1], request, named)

    def _error_of(self, stopped: "_Stopped", id_: str | None, dry_run: bool) -> GrantpathError:
        """The error of a wrong statement. A refused attempt is logged, with the id of its request."""
        error, step = stopped.step.error, stopped.step
        assert error is not None
        if isinstance(error, Refused) and step.actor and not dry_run:
            refuse(self.store, self.tenant, step, error, stopped.revision, id_)
        if isinstance(error, Unknown):
            error = suggesting(error, self.store, self.tenant, self.policy)
        return error

    def _apply(
        self, writing: PrecheckedWriting, steps: Sequence[ChangeStep], all_or_nothing: bool, is_dry_run: bool = False
    ) -> None:
        applier = BatchApplier(writing, self.policy, self._root, is_dry_run)
        apply_all(applier, self._rules, steps, all_or_nothing)

    def _precheck(self, steps: Sequence[ChangeStep], request: Request | None, planned: Planned) -> Precheck | None:
        """The answers that were read before the lock is taken; None if everything must be read under the lock. Raises
        _Stopped if a step is wrong: a refusal needs no lock, so other writers delay it only briefly.

        Changes that were already made with the id of `request` are not validated again.
        """
        for attempt in range(PRECHECKS if steps[0].actor else 1):
            precheck = Precheck(self.store, self.tenant, batch=len(steps) > 1)
            applier = BatchApplier(precheck, self.policy, self._root)
            wrong = applier.first_wrong(steps) if precheck.is_whole else None
            if not precheck.is_usable or precheck.marks["policy"] != self.policy.digest:
                return None
            if precheck.is_whole:
                if not planned.fits(precheck.revision, precheck.marks["made"]):
                    return None
                if wrong is None:
                    return precheck
                if request is not None and not request.is_new(precheck):
                    return None
                if precheck.is_current():
                    raise _Stopped(wrong, steps[wrong], precheck.revision)
            time.sleep(min(0.002 * 2**attempt, 0.1))  # another writer is changing the root
        return None

    # ---- unknown outcomes ------------------------------------------------------------------------------------------
    def _read_back(self, changes: list[Change], request: Request, remembered: bool) -> list[Change]:
        """After a commit without an answer: the changes, if they are in the log. Raises Unavailable if they are not,
        with `unknown` if the log cannot be read."""
        again = f"repeat it{f' with the id {request.id}' if remembered else ''}"

        def work(writing: Writing) -> list[Change] | None:  # under the lock: the commit is done, or cannot happen now
            if is_made(writing, changes):
                return changes
            return request.earlier(writing) if remembered else None

        try:
            made = self.store.write(self.tenant, work)
        except GrantpathError as error:
            raise Unavailable(
                f"the connection was lost while {request.what} was committed, and the outcome is not known: {error}. "
                f"Look for the id {request.id if remembered else first_id(changes)} in the log"
                + (f", or {again}: it is made only once" if remembered else ""),
                unknown=True,
            ) from error
        if made is None:
            raise Unavailable(f"the connection was lost during the commit; {request.what} was not done; {again}")
        return made


class _Stopped(Exception):
    """Aborts a request because a statement is wrong."""

    def __init__(self, index: int, step: ChangeStep, revision: int) -> None:
        super().__init__()
        self.index = index
        self.step = step
        self.revision = revision


def _raise(error: GrantpathError) -> NoReturn:
    raise error


def _parsed(statement: str) -> Statement:
    if not isinstance(statement, str):
        raise InvalidInput(f"{short(repr(statement))} is not a string; write a statement, e.g. 'add user:bob'")
    return parse_statement(statement)


def _mark_new_subjects(steps: Sequence[ChangeStep]) -> None:
    """Marks the grants to subjects that an earlier step of the batch adds."""
    added: set[Reference] = set()
    for step in steps:
        change = step.change
        if change.kind == "add":
            added.add(change.object)
        elif change.kind == "drop":
            added.discard(change.object)
        elif change.target and change.object in added:
            added = added - {change.object} | {change.target}
        elif change.kind == "grant" and change.subject in added:
            step.change = replace(change, new_subject=True)


def _with_delta(change: Change, delta: Delta | None) -> Change:
    """A change of a dry run, with the facts that it would add and remove."""
    delta = delta or Delta()
    return change.model_copy(update={"hash": None, "added": delta.added, "removed": delta.removed})


def _as_it_is(error: GrantpathError, _: int) -> GrantpathError:
    """The error of a single change."""
    return error


def _at(error: GrantpathError, index: int) -> GrantpathError:
    """The same error with the index of the statement in the batch."""
    return one_of("statement", index, error)
