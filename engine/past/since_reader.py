"""Finds since when a check has had its present answer, by undoing the changes of the log one by one."""

from collections.abc import Iterator

from grantpath.engine.answers import request
from grantpath.engine.change.audit_log import Logged
from grantpath.engine.change.delta_records import PAGE, RecordedDelta, recorded
from grantpath.engine.change.former_names import FormerNames
from grantpath.engine.facts.set.fact_draft import Contradiction
from grantpath.engine.facts.set.fact_set import FactSet
from grantpath.engine.past.past_reader import PastReader, travelled
from grantpath.engine.past.past_root import PastRoot
from grantpath.engine.past.since import Since
from grantpath.engine.tenants.open_tenant import OpenTenant
from grantpath.graph.errors import Invalid, InvalidReference, Unknown
from grantpath.graph.language.statement import Check


def since(tenant: OpenTenant, reader: PastReader, check: Check) -> Since:
    """The change that gave a check its present answer. Raises the errors of `check` and of `past`."""
    _, made = tenant.state_now()
    version, policy = reader.present(), tenant.policy
    now = PastRoot(tenant.tenant, FactSet(version, policy, tenant.root))
    allowed, revision = _allowed(now, check), now.revision
    names = _Names(tenant, check, revision)
    change: Logged | None = None
    for delta in _newest_first(tenant, revision):
        if delta is None or delta.bulk:
            break
        try:
            version, policy = travelled(version, policy, [delta], delta.revision - 1)
        except Contradiction as error:
            raise reader.contradiction(revision, delta.revision - 1, error) from None
        then = PastRoot(tenant.tenant, FactSet(version, policy, tenant.root))
        if _allowed_then(then, names.at(version.revision)) is not allowed:
            change = reader.entry(delta.revision)
            break
    reader.require_made(made or "", version)
    found = version.revision if change is None else change.revision
    return Since(
        question=check,
        allowed=allowed,
        revision=revision,
        since=found,
        change=change,
        complete=change is not None or found == 0,
    )


def _newest_first(tenant: OpenTenant, revision: int) -> Iterator[RecordedDelta | None]:
    """The deltas up to a revision, newest first; None at the end if the log does not begin with revision 1."""
    while revision > 0:
        after = max(0, revision - PAGE + 1)  # one entry less than a page, so that a single query is enough
        for delta in reversed(_between(tenant, after, revision)):
            if delta.revision != revision:
                break
            yield delta
            revision -= 1
        if revision > after:
            yield None
            return


def _between(tenant: OpenTenant, after: int, until: int) -> list[RecordedDelta]:
    found: list[RecordedDelta] = []
    for delta in recorded(tenant.ask, after, tenant.root):
        if delta.revision > until:
            break
        found.append(delta)
    return found


class _Names:
    """A check, with the references that its entities had at earlier revisions."""

    def __init__(self, tenant: OpenTenant, check: Check, revision: int) -> None:
        """`check` is about a root at a revision."""
        self._check = check
        names = FormerNames.read(tenant.ask, tenant.policy, tenant.root, ())
        refs = {check.subject, check.object, *check.with_.values(), *([check.as_role] if check.as_role else [])}
        self._spans = {ref: names.by_rename(tenant.policy.reference(ref, tenant.root).text, revision) for ref in refs}

    def at(self, revision: int) -> Check | None:
        """The check with the references of a revision; None if one of them was the name of another entity then."""
        then = {
            ref: next((span.ref for span in spans if span.first <= revision), None)
            for ref, spans in self._spans.items()
        }
        if None in then.values():
            return None
        role, second = self._check.as_role, self._check.with_
        return self._check.model_copy(
            update={
                "subject": then[self._check.subject],
                "object": then[self._check.object],
                "with_": {key: then[ref] for key, ref in second.items()},
                "as_role": role and then[role],
            }
        )


def _allowed(state: PastRoot, check: Check) -> bool:
    question = request.resolve(state.policy, state.root, check)
    [answer], row = state.answers([question])
    return request.decision(state, check, question, answer, row).allowed


def _allowed_then(state: PastRoot, check: Check | None) -> bool | None:
    """The answer at an earlier revision; None if the question was not possible yet."""
    try:
        return None if check is None else _allowed(state, check)
    except (Unknown, Invalid, InvalidReference):
        return None
