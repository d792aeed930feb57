"""Reports on a snapshot: the widest users, the most exposed objects, and a comparison with Cypher."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.dataset as pads

from grantpath.engine.facts.kernel.fact_table import Prepared
from grantpath.engine.facts.kernel.interval_sets import union
from grantpath.engine.facts.kernel.intervals import ActingPrincipals, Ints
from grantpath.engine.facts.kernel.principals import Closure
from grantpath.engine.policy.clauses import Clauses
from grantpath.engine.policy.policy import Requirement
from grantpath.graph.errors import Inconsistent, InvalidInput, Unknown
from grantpath.graph.files.remote_path import AnyPath
from grantpath.spark_sync.bulk.bulk_questions import ALL_USERS, conditions, listed_objects, prepare, users
from grantpath.spark_sync.bulk.moved_since import Entry, Touched
from grantpath.spark_sync.session.snapshot import Snapshot

TRIES = 5
Triple = tuple[str, str, str]  # subject, name, object
CheckMany = Callable[[list[Triple]], Sequence[Any]]  # returns decisions with a truth value and `revision`
Past = Callable[[str | None, int], CheckMany]  # the checks at a revision of the root with this creation id


@dataclass(frozen=True)
class Verification:
    """The comparison of a sample of Spark's answers with Cypher's."""

    compared: int
    allowed: int
    different: list[str]
    seed: int
    left_out: list[str]  # the questions skipped because changes since the snapshot may affect them


def widest(snapshot: Snapshot | AnyPath | str, name: str, type_: str, limit: int = 10) -> list[tuple[str, int]]:
    """The users that can use `name` on the most objects of a type, with the counts. `everybody` means all other users.

    Raises InvalidInput if `access` has not computed the name.
    """
    return _top(snapshot, "reach", ("subject", "objects"), name, type_, limit)


def exposed(snapshot: Snapshot | AnyPath | str, name: str, type_: str, limit: int = 10) -> list[tuple[str, int]]:
    """The objects of a type on which the most users can use `name`, with the counts. Raises the errors of `widest`."""
    return _top(snapshot, "exposure", ("position", "users"), name, type_, limit)


def _top(
    snapshot: Snapshot | AnyPath | str, table: str, columns: tuple[str, str], name: str, type_: str, limit: int
) -> list[tuple[str, int]]:
    source = snapshot if isinstance(snapshot, Snapshot) else Snapshot(snapshot)
    if not source.has("access/names"):
        place = source.named_folder
        raise InvalidInput(f"{place} has no bulk answers yet; run `grantpath access {place}` first")
    known = source.table("access/names")
    if (name, type_) not in set(zip(known["name"].to_pylist(), known["type"].to_pylist(), strict=True)):
        raise InvalidInput(
            f"{source.named_folder} has no bulk answers for {name} on {type_}; run `grantpath access"
            f" {source.named_folder}` without --names, or with this one among them"
        )
    where, count = columns
    chosen = (pads.field("name") == name) & (pads.field("type") == type_)
    rows = source.table(f"access/{table}", list(columns), chosen)
    at, many = rows[where].to_numpy(), rows[count].to_numpy()
    if limit < len(many):  # all with the count of the last one remain, because names decide among them
        most = many >= np.partition(many, -limit)[-limit]
        at, many = at[most], many[most]
    pairs = zip(at.tolist(), many.tolist(), strict=True)
    named = [("everybody" if at == ALL_USERS else source.numbering.refs[at], many) for at, many in pairs]
    return sorted(named, key=lambda pair: (-pair[1], pair[0]))[:limit]


def verify(
    snapshot: AnyPath | str,
    check_many: CheckMany,
    sample: int,
    seed: int,
    log: Callable[[int], Sequence[Entry]] = lambda _: (),
    past: Past | None = None,
) -> Verification:
    """Compares a random sample of the snapshot's answers with the answers of `check_many`, a method of Authorizer.

    About half of the sample are questions that Spark allows. `log` returns the changes after a revision. Questions that
    these changes may affect are asked at the snapshot's revision, by the method that `past` returns. If `past` raises
    InvalidInput, because the log does not lead back to that revision, such questions are left out. Raises
    Inconsistent if no question is left: the log does not show the changes (a load, an upgrade, a pruned log), or the
    root was created again; InvalidInput if there is nothing to verify; and the errors of `check_many`.
    """
    source = Snapshot(snapshot)
    closure = source.closure()
    drawn = list(_sample(source, closure, sample, random.Random(seed)))
    unknown: Inconsistent | None = None
    try:
        answers = _at_present(source, closure, drawn, check_many, log)
    except Inconsistent as error:
        answers, unknown = {}, error
    left = [each for each in drawn if each.triple not in answers]
    if left and past is not None:
        try:
            decisions = past(source.meta.made, source.meta.revision)([each.triple for each in left])
            answers |= {each.triple: bool(one) for each, one in zip(left, decisions, strict=True)}
        except InvalidInput as error:
            unknown = unknown and Inconsistent(f"{unknown}; {error}")
    if unknown is not None and not answers:
        raise unknown
    compared = [each for each in drawn if each.triple in answers]
    different = [
        f"{each.text}: Spark says {'yes' if each.allowed else 'no'}, the graph {'no' if each.allowed else 'yes'}"
        for each in compared
        if each.allowed != answers[each.triple]
    ]
    left_out = [each.text for each in drawn if each.triple not in answers]
    return Verification(len(compared), sum(each.allowed for each in compared), different, seed, left_out)


def _at_present(
    source: Snapshot,
    closure: Closure,
    drawn: "Sequence[_Drawn]",
    check_many: CheckMany,
    log: Callable[[int], Sequence[Entry]],
) -> dict[Triple, bool]:
    """The present answers to the questions that no change since the snapshot affects. Raises Inconsistent."""
    entries = log(source.meta.revision)
    for _ in range(TRIES):
        head = max([source.meta.revision, *(entry.revision for entry in entries)])
        kept = _untouched(drawn, Touched(source, entries, head), closure)
        try:
            decisions = check_many([each.triple for each in kept])
            break
        except Unknown:  # an entity was dropped since the log was read
            known, entries = len(entries), log(source.meta.revision)
            if len(entries) == known:
                raise
    else:
        raise Inconsistent(f"{source.meta.root} keeps changing; verify again when changes are less frequent")
    newest = max([head, *(decision.revision for decision in decisions)])
    oldest = min([newest, *(decision.revision for decision in decisions)])
    if oldest < source.meta.revision:
        newest = oldest  # the root was created again, or restored
    touched = Touched(source, log(source.meta.revision) if newest > head else entries, newest)
    sure = {each.triple for each in _untouched(kept, touched, closure)}
    pairs = zip(kept, decisions, strict=True)
    return {each.triple: bool(decision) for each, decision in pairs if each.triple in sure}


@dataclass(frozen=True)
class _Drawn:
    """A question of the sample, with Spark's answer."""

    triple: Triple
    subject: int
    target: int
    clauses: Clauses
    allowed: bool

    @property
    def text(self) -> str:
        return "{} {} on {}".format(*self.triple)


def _untouched(drawn: Sequence[_Drawn], touched: Touched, closure: Closure) -> list[_Drawn]:
    return [each for each in drawn if not touched.touches(each.subject, each.target, each.clauses, closure)]


def _sample(source: Snapshot, closure: Closure, size: int, rng: random.Random) -> Iterator[_Drawn]:
    listed, questions = conditions(source.policy, None)
    people = np.flatnonzero(users(source))
    askable = [name for name in listed if len(listed_objects(source, name.type))]
    if not len(people) or not askable:
        raise InvalidInput(
            f"nothing to verify: {source.named_folder} has no users, or no objects; mirror a root that has both"
        )
    left = size
    while left:
        batch = min(left, max(1, size // 40))
        chosen = rng.choice(askable)
        question = questions[chosen.condition]
        prepared = prepare(source, [question])
        targets = prepared.asked[0].targets
        looked_at = np.unique(rng.choices(people.tolist(), k=20 * batch))
        may = allowed(source, prepared, question, looked_at, closure)
        for _ in range(batch):
            if may and rng.random() < 0.5:
                subject = rng.choice(list(may))
                rank = rng.randrange(*rng.choice(may[subject]))
            else:
                subject, rank = rng.choice(looked_at.tolist()), rng.randrange(len(targets))
            answer = any(low <= rank < high for low, high in may.get(subject, []))
            target = int(targets[rank])
            triple = source.numbering.refs[subject], chosen.name, source.numbering.refs[target]
            yield _Drawn(triple, subject, target, question.clauses, answer)
        left -= batch


def allowed(
    source: Snapshot, prepared: Prepared, question: Requirement, subjects: Ints, closure: Closure
) -> dict[int, list[tuple[int, int]]]:
    """By user, the targets on which one prepared question is allowed, as half-open intervals of target numbers."""
    found: dict[int, list[tuple[int, int]]] = {}
    for who, low, high in intervals_of(source, prepared, question, subjects, closure):
        for user, a, b in zip(who.tolist(), low.tolist(), high.tolist(), strict=True):
            found.setdefault(user, []).append((a, b))
    return found


def intervals_of(
    source: Snapshot, prepared: Prepared, question: Requirement, subjects: Ints, closure: Closure
) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Like `allowed`, in columns (user, low, high), piece by piece."""
    acting: ActingPrincipals = source.roles.acting(subjects, closure) if question.one_role else closure.acting(subjects)
    for piece in acting.pieces(prepared.facts):
        ((row, low, high),) = prepared.answers(piece)
        yield union(piece.subject[row], low, high)
