"""Change service: changes alone or in a batch, idempotent by the caller's id, and logged or refused."""

import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from grantpath.engine.change.apply import BatchApplier
from grantpath.engine.change.audit_writer import record, refuse
from grantpath.engine.change.deltas import Delta
from grantpath.engine.change.idempotency import Change, Request, first_id, is_made
from grantpath.engine.change.planned_change import Actor, PlannedChange
from grantpath.engine.change.precheck import Glance, Informed, look
from grantpath.engine.decide.batches import need_list, one_of
from grantpath.engine.decide.request import active_role
from grantpath.engine.policy.policy import Policy
from grantpath.engine.policy.statement_rules import ResolvedStatement, Rules
from grantpath.engine.tenants.opening import check_policy
from grantpath.engine.tenants.registry import suggesting
from grantpath.graph.errors import GrantpathError, Invalid, InvalidInput, Refused, Unavailable, Unknown
from grantpath.graph.messages import short
from grantpath.graph.reference import Reference
from grantpath.graph.statement import Statement, parse_statement
from grantpath.graph.store import Store
from grantpath.graph.transaction import Writing

LOOKS = 12  # before the lock is taken, where other writers disturb what was read


class ChangeService:
    """Changes one root."""

    def __init__(self, store: Store, tenant: str, policy: Policy, root: Reference) -> None:
        self._store = store
        self._tenant = tenant
        self._policy = policy
        self._root = root
        self._rules = Rules(policy, root)

    # ---- the ways in -------------------------------------------------------------------------------------------
    def change(self, statement: str, by: str | None, as_role: str | None, id_: str | None, dry_run: bool) -> Change:
        """Makes one change. Raises Invalid, Refused, Unavailable."""
        actor = self._actor(by, as_role)
        try:
            steps = [self._step(statement, actor)]
        except GrantpathError:
            earlier = self._done_before([statement], actor, id_)
            if earlier is None:
                raise
            return earlier[0]
        return self._all(steps, actor, id_, dry_run, lambda error, _: error)[0]

    def change_all(
        self, statements: Iterable[str], by: str | None, as_role: str | None, id_: str | None, dry_run: bool
    ) -> list[Change]:
        """Makes all changes or none. Raises as `change`, naming the statement by its index."""
        texts = need_list("statements", statements)
        actor = self._actor(by, as_role)
        steps: list[PlannedChange] = []
        for index, statement in enumerate(texts):
            try:
                steps.append(self._step(statement, actor))
            except GrantpathError as error:
                with suppress(GrantpathError):
                    earlier = self._done_before(texts, actor, id_)
                    if earlier is not None:
                        return earlier
                if steps:  # the first wrong one is named, and that may be one before it
                    self._all(steps, actor, id_, dry_run, _at, and_then=_at(error, index))
                raise _at(error, index) from None
        return self._all(steps, actor, id_, dry_run, _at) if steps else []

    def _done_before(self, texts: list[str], actor: Actor | None, id_: str | None) -> list[Change] | None:
        """What was done under the id: what is wrong by the policy of today was right when the policy was another."""
        if id_ is None or not all(isinstance(text, str) for text in texts):
            return None
        request = Request(id_, texts, actor)
        try:
            return self._store.write(self._tenant, request.earlier)
        except Invalid:  # it belongs to something else
            return None

    def _step(self, statement: str, actor: Actor | None) -> PlannedChange:
        parsed = _parsed(statement)
        if actor:
            return PlannedChange(self._rules.resolve_guarded(parsed), statement)
        return PlannedChange(self._rules.resolve(parsed, loading=False), statement)

    def given(self, statements: Iterable[str]) -> list[str | None]:
        """Writes facts in order, nobody asked, users and groups added by their mention: by statement, what is wrong
        with it, or None. What is wrong is left out, the others are written."""
        texts = need_list("statements", statements)
        problems: list[str | None] = []
        steps: list[tuple[int, PlannedChange]] = []  # each with the index of its statement
        sure: set[str] = set()  # named before, so there
        for index, line in enumerate(texts):
            problems.append(None)
            try:
                fact = self._fact(line)
            except GrantpathError as error:
                problems[index] = str(error)
                continue
            steps += [(index, step) for step in self._mentions(fact.change, sure)]
            steps.append((index, fact))

        def work(writing: Writing) -> None:
            check_policy(writing.policy, self._policy, self._tenant)
            for _, step in steps:
                step.changed, step.error = False, None
            made = [step for _, step in steps]
            BatchApplier(writing, self._policy, self._root, None).apply(made, all_or_nothing=False)
            self._unmention(steps, writing)
            record(writing, made, None, [uuid.uuid4().hex for _ in made])

        self._store.write(self._tenant, work)
        for index, step in steps:
            problems[index] = problems[index] or (str(step.error) if step.error else None)
        return problems

    def _mentions(self, change: ResolvedStatement, sure: set[str]) -> Iterable[PlannedChange]:
        """The users and groups that a fact names and that may have to be added first."""
        if change.kind == "drop":
            sure.discard(change.object.text)
        elif change.kind != "add":
            for ref in (change.object, change.subject):
                if ref and ref.type in self._policy.addable_by_mention and ref.text not in sure:
                    sure.add(ref.text)
                    yield self._fact(f"add {ref}", mentioned=True)

    def _unmention(self, steps: Sequence[tuple[int, PlannedChange]], writing: Writing) -> None:
        """Takes away whom only wrong statements mention: what is wrong leaves nothing behind."""
        wrong = {index for index, step in steps if step.error}
        right = [step.change for index, step in steps if index not in wrong]
        named = {ref for change in right for ref in (change.object, change.subject)}
        mistaken = [
            step
            for index, step in steps
            if step.mentioned and step.changed and index in wrong and step.change.object not in named
        ]
        drops = [self._fact(f"drop {step.change.object}") for step in mistaken]
        BatchApplier(writing, self._policy, self._root, None).apply(drops, all_or_nothing=False)
        for step in mistaken:
            step.changed = False

    def _fact(self, text: str, mentioned: bool = False) -> PlannedChange:
        """A statement that nobody is asked about."""
        return PlannedChange(self._rules.resolve(_parsed(text), loading=True), text, mentioned)

    def _actor(self, by: str | None, as_role: str | None) -> Actor | None:
        if by is None:
            if as_role is not None:
                raise Invalid(f"as {short(as_role)}: an active role needs an actor; name who acts with `by`")
            return None
        ref = self._policy.reference(by, self._root)
        return Actor(ref, None if as_role is None else active_role(self._policy, self._root, as_role))

    # ---- all or nothing ------------------------------------------------------------------------------------------
    def _all(
        self,
        steps: Sequence[PlannedChange],
        actor: Actor | None,
        id_: str | None,
        dry_run: bool,
        reword: Callable[[GrantpathError, int], GrantpathError],
        and_then: GrantpathError | None = None,
    ) -> list[Change]:
        """Makes all of them, or none and raises what is wrong; `and_then` what is wrong behind them."""
        request = Request(id_, [step.text for step in steps], actor)
        ids, named = request.ids, id_ is not None and and_then is None
        tries: list[list[Change]] = []  # what each try would have made, for reading it back
        glance: Glance | None = None

        def work(writing: Writing) -> list[Change]:
            check_policy(writing.policy, self._policy, self._tenant)
            for made in tries:
                if is_made(writing, made):
                    return made
            earlier = request.earlier(writing) if named else None
            if earlier is not None:
                return earlier
            for step in steps:
                step.changed, step.error = False, None
                step.delta = None
            informed = Informed(writing, glance)
            BatchApplier(informed, self._policy, self._root, actor, watched=dry_run).apply(steps, all_or_nothing=True)
            for index, step in enumerate(steps):
                if step.error:
                    raise _Stopped(index, step, writing.revision)
            if and_then:
                raise and_then
            tail = informed.glance.tail if informed.glance else None
            changes = record(writing, steps, actor, ids, tail)
            if dry_run:
                changes = [_rehearsed(change, step.delta) for change, step in zip(changes, steps, strict=True)]
            if named:
                request.remember(writing, changes)
            tries.append(changes)
            return changes

        try:
            glance = self._judged(steps, actor, request if named else None) if actor else None
            return self._store.write(self._tenant, work, keep=not dry_run)
        except _Stopped as stopped:
            error = stopped.step.error
            assert error is not None
            if isinstance(error, Refused) and actor and not dry_run:
                refuse(self._store, self._tenant, stopped.step, actor, error, stopped.revision, id_)
            if isinstance(error, Unknown):
                error = suggesting(error, self._store, self._tenant, self._policy)
            raise reword(error, stopped.index) from None
        except Unavailable as error:
            if not error.unknown:
                raise
            return self._read_back(tries[-1], request, named)

    def _judged(self, steps: Sequence[PlannedChange], actor: Actor, request: Request | None) -> Glance | None:
        """What was read before the lock is taken. Raises _Stopped where a step is wrong: that needs no lock.

        What was done already under the id of `request` is not judged again.
        """
        for attempt in range(LOOKS):
            glance = look(self._store, self._tenant)
            if glance is not None:
                if glance.policy != self._policy.digest:
                    return None
                wrong = BatchApplier(glance, self._policy, self._root, actor).judge(steps)
                if wrong is None:
                    return glance
                if request is not None and not request.is_new(glance):
                    return None
                if glance.stands():
                    raise _Stopped(wrong, steps[wrong], glance.revision)
            time.sleep(min(0.002 * 2**attempt, 0.1))  # another writer is at it
        return None

    # ---- said again, or not known ----------------------------------------------------------------------------------
    def _read_back(self, changes: list[Change], request: Request, remembered: bool) -> list[Change]:
        """After a commit that was not answered: the changes, if they were made. Raises Unavailable that they were not,
        or, `unknown`, that this cannot be found out either."""
        again = f"make it again{f' with the id {request.id}' if remembered else ''}"

        def work(writing: Writing) -> bool:  # under the lock, so the commit has come or will not come any more
            return is_made(writing, changes) or (remembered and request.earlier(writing) is not None)

        try:
            made = self._store.write(self._tenant, work)
        except GrantpathError as error:
            raise Unavailable(
                f"the server went while {request.what} was committed, and whether that was done is not known: {error}. "
                f"`log` tells it by the id {request.id if remembered else first_id(changes)}"
                + (f", or {again}: that does nothing if it was done" if remembered else ""),
                unknown=True,
            ) from error
        if not made:
            raise Unavailable(f"the server went while {request.what} was committed; it was not done: {again}")
        return changes


class _Stopped(Exception):
    """A statement is wrong, so nothing is written."""

    def __init__(self, index: int, step: PlannedChange, revision: int) -> None:
        super().__init__()
        self.index = index
        self.step = step
        self.revision = revision


def _parsed(statement: str) -> Statement:
    if not isinstance(statement, str):
        raise InvalidInput(f"{short(repr(statement))} is not a string; write a statement, e.g. 'add user:bob'")
    return parse_statement(statement)


def _rehearsed(change: Change, delta: Delta | None) -> Change:
    """A change of a dry run, with what it would add and remove."""
    delta = delta or Delta()
    return replace(change, hash=None, added=delta.added, removed=delta.removed)


def _at(error: GrantpathError, index: int) -> GrantpathError:
    """The same error, naming the statement of the batch."""
    return one_of("statement", index, error)
