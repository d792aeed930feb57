"""Candidates for a remedy: the subject itself, the subject with one of its roles, or with a new role."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from grantpath.engine.answers import remedy_cost
from grantpath.engine.answers.evaluation import Evaluation, FoundFacts, RemedyContext, winning
from grantpath.engine.policy.clauses import facts_of
from grantpath.engine.policy.facts import Fact, FactKind
from grantpath.engine.policy.policy import Policy
from grantpath.graph.language.reference import Reference, type_of
from grantpath.graph.messages import indefinite

MAX_NAME = 200  # bytes: new names must not exceed the limit for names
NAMES = 5  # names that are tried for a new role
NEW = 400  # a new role: two more statements, and one more role to maintain
CAME_WITH_THE_POLICY = 150  # a grant to a built-in role
HELD_BY_ALL = 2_500  # a grant to a role that all users hold is a grant to all users


@dataclass(frozen=True, eq=False)
class Candidate:
    """One way in which the subject could act once the clauses hold.

    `grantee` receives grants, and `grantee_text` is its name in texts. `joiner` becomes a member if membership is
    required. `found` are the facts that are already true. `first` are statements that must come first, `why` their
    reasons.
    """

    role: str | None
    grantee: str
    grantee_text: str
    joiner: str
    found: FoundFacts
    cost: int = 0
    first: tuple[str, ...] = ()
    why: tuple[str, ...] = ()


def candidates(
    evaluation: Evaluation, acted: Sequence[Mapping[str, Any]], context: RemedyContext | None
) -> Iterator[Candidate]:
    """All candidates. `acted`: the acting principals of the check, each with its facts."""
    for one in acted:
        yield from _as_found(evaluation, one["role"], evaluation.by_fact(one["found"]), context)
    if context is None:
        return
    added, subject = _added(evaluation, context), evaluation.subject
    if not acted and evaluation.as_role:
        yield _joining(evaluation, evaluation.as_role, context, added)
    elif not acted and evaluation.one_role:
        for role in _from_the_start(evaluation, subject.type):
            found = _later(evaluation, context, [role])
            cost = 0 if winning(evaluation.clauses, found) else _reach(evaluation, role)
            yield Candidate(role, role, role, role, found, cost, *added)
    elif not acted:
        found = _later(evaluation, context, _from_the_start(evaluation, subject.type))
        yield Candidate(None, subject.text, subject.text, subject.text, found, 0, *added)
    if evaluation.one_role and not evaluation.as_role:
        for role in _named(evaluation):
            is_role = evaluation.policy.file.types[type_of(role)].kind == "role"
            exists = role in evaluation.policy.builtins or role in context.existing
            is_new = (subject.text, role) not in context.cycles and all(role != one["role"] for one in acted)
            if is_role and exists and is_new:
                joining = _joining(evaluation, role, context, added)
                yield replace(joining, cost=joining.cost + remedy_cost.of_membership(evaluation, role))
    if not evaluation.as_role and (evaluation.one_role or not _grantable(evaluation, evaluation.subject.text)):
        yield from _with_a_new_role(evaluation, acted, context, added)


def new_names(evaluation: Evaluation) -> list[str]:
    """Possible references of a new role for the subject, of a type that holds grants and can have it as a member."""
    policy = evaluation.policy
    type_ = next((type_ for type_ in policy.file.grants.to if _joins(policy, evaluation.subject, type_)), None)
    if type_ is None or policy.names.is_protected(type_):
        return []
    name = f"for-{evaluation.subject.name}".encode()[:MAX_NAME].decode(errors="ignore")
    return [Reference(type_, (f"{name}{tail}",), True).text for tail in ("", *(f"-{at}" for at in range(2, NAMES + 1)))]


def later_roles(evaluation: Evaluation) -> list[str]:
    """Other groups and roles to act through: the active role, those that the subject or a new role holds from the
    start, and those that conditions require it to hold."""
    types = [evaluation.subject.type, *(type_of(name) for name in new_names(evaluation)[:1])]
    held = [role for type_ in types for role in _from_the_start(evaluation, type_)]
    active = [evaluation.as_role] if evaluation.as_role else []
    return list(dict.fromkeys([*active, *held, *_named(evaluation)]))


def _from_the_start(evaluation: Evaluation, type_: str) -> list[str]:
    """The roles that every subject of a type holds."""
    return [ref for ref, entry in evaluation.policy.builtins.items() if type_ in entry.held_by_every]


def _named(evaluation: Evaluation) -> list[str]:
    """The groups and roles that a condition requires the subject to be in or to hold, and that it can join."""
    held = {evaluation.entity(fact) for fact in facts_of(evaluation.clauses) if fact.kind is FactKind.HOLDS}
    return sorted(ref for ref in held if _joins(evaluation.policy, evaluation.subject, type_of(ref)))


def _joins(policy: Policy, subject: Reference, container: str) -> bool:
    return subject.type in policy.file.members.get(container, [])


def _grantable(evaluation: Evaluation, ref: str) -> bool:
    return type_of(ref) in evaluation.policy.file.grants.to and ref not in evaluation.policy.hidden


def _as_found(
    evaluation: Evaluation, role: str | None, found: FoundFacts, context: RemedyContext | None
) -> Iterator[Candidate]:
    subject = evaluation.subject.text
    if evaluation.one_role and role:
        yield Candidate(role, role, role, role, found, _reach(evaluation, role))
        return
    yield Candidate(role, subject, subject, subject, found)  # clauses without grants need no grantee
    if _grantable(evaluation, subject):
        return
    if context is None:
        type_ = evaluation.policy.file.grants.to[0]
        yield Candidate(role, f"{type_}:any", f"{indefinite(type_)} that {subject} holds or is given", subject, found)
    else:
        for each in filter(partial(_grantable, evaluation), context.held):
            yield Candidate(role, each, each, subject, found, _reach(evaluation, each))


def _reach(evaluation: Evaluation, grantee: str) -> int:
    """The extra cost of a grantee that other subjects share."""
    builtin = evaluation.policy.builtins.get(grantee)
    return 0 if builtin is None else HELD_BY_ALL if builtin.held_by_every else CAME_WITH_THE_POLICY


def _added(evaluation: Evaluation, context: RemedyContext) -> tuple[tuple[str, ...], tuple[str, ...]]:
    subject = evaluation.subject.text
    if subject in context.existing:
        return (), ()
    return (f"add {subject}",), (f"{subject} does not exist{evaluation.similar}: add {subject}",)


def _joining(
    evaluation: Evaluation, role: str, context: RemedyContext, added: tuple[tuple[str, ...], tuple[str, ...]]
) -> Candidate:
    subject = evaluation.subject.text
    member = f"member {subject} of {role}"
    grantee = subject if not evaluation.one_role and _grantable(evaluation, subject) else role
    roles = [role] if evaluation.one_role else [role, *_from_the_start(evaluation, evaluation.subject.type)]
    if role not in _from_the_start(evaluation, evaluation.subject.type):
        added = (*added[0], member), (*added[1], f"{subject} does not hold {role}: {member}")
    return Candidate(
        role,
        grantee,
        grantee,
        role if evaluation.one_role else subject,
        _later(evaluation, context, roles),
        _reach(evaluation, grantee),
        *added,
    )


def _with_a_new_role(
    evaluation: Evaluation,
    acted: Sequence[Mapping[str, Any]],
    context: RemedyContext,
    added: tuple[tuple[str, ...], tuple[str, ...]],
) -> Iterator[Candidate]:
    subject = evaluation.subject.text
    name = next((name for name in new_names(evaluation) if name not in context.existing), None)
    if name is None:
        return
    types = [type_of(name)] if evaluation.one_role else [evaluation.subject.type, type_of(name)]
    found = _later(evaluation, context, [role for type_ in types for role in _from_the_start(evaluation, type_)])
    for one in acted if not evaluation.one_role else ():
        found.update(evaluation.by_fact(one["found"]))
    first = (f"add {name}", f"member {subject} of {name}")
    kind = type_of(name)
    lacks = f"{subject} holds no {kind} of its own" if acted and context.held else f"{subject} holds no {kind}"
    yield Candidate(
        name if evaluation.one_role else None,
        name,
        name,
        name if evaluation.one_role else subject,
        found,
        NEW,
        (*added[0], *first),
        (*added[1], f"{lacks}: {'; '.join(first)}"),
    )


def _later(evaluation: Evaluation, context: RemedyContext, roles: Iterable[str]) -> dict[Fact, Sequence[str]]:
    """The facts that will be true for the candidate, which will act with these roles."""
    own = () if evaluation.one_role else (evaluation.subject.text,)  # a role that acts alone is not its subject
    principals = {*own, *(ref for role in roles for ref in context.reached.get(role, ()))}
    found: dict[Fact, Sequence[str]] = {
        fact: by for fact, every in context.found.items() if (by := [each for each in every if each in principals])
    }
    for fact in facts_of(evaluation.clauses):
        match fact.kind:
            case FactKind.EXISTS:
                true = evaluation.entity(fact) in context.existing
            case FactKind.BUILTIN:
                true = evaluation.entity(fact) in evaluation.policy.builtins
            case FactKind.IS:
                true = evaluation.entity(fact) == evaluation.subject.text
            case FactKind.HOLDS:
                true = evaluation.entity(fact) in principals
            case FactKind.EVERY_BELOW:
                true = not context.inside.get(fact)
            case _:
                continue
        if true:
            found[fact] = []
    return found
