"""Who would act once a remedy is made: the subject as it is, with one of its roles, or with a role of its own."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from grantpath.engine.decide.evaluation import Case, FoundFacts, Surroundings
from grantpath.engine.policy.clauses import facts_of
from grantpath.engine.policy.facts import Fact, FactKind
from grantpath.engine.policy.policy import Policy
from grantpath.graph.messages import indefinite
from grantpath.graph.reference import Reference, type_of

MAX_NAME = 200  # bytes: a new name is not to be refused for its length
NAMES = 5
NEW = 400  # a new role: two statements more, and one more thing to look after
CAME_WITH_THE_POLICY = 150
EVERYBODYS = 2_500  # granted to a role that all hold, it is granted to all


@dataclass(frozen=True, eq=False)
class Acting:
    """Somebody in whose place the clauses could become true.

    `grantee` holds what is granted, `said` so in words; `joiner` becomes a member where membership is asked for;
    `found` are the facts that are true already; `first` must be said before anything else, `why` says so in words.
    """

    role: str | None
    grantee: str
    said: str
    joiner: str
    found: FoundFacts
    power: int = 0
    first: tuple[str, ...] = ()
    why: tuple[str, ...] = ()


def actings(case: Case, hats: Sequence[Mapping[str, Any]], around: Surroundings | None) -> Iterator[Acting]:
    """All that come into question. `hats` are who acted in the check, each with what was found."""
    for hat in hats:
        yield from _as_found(case, hat["role"], case.by_fact(hat["found"]), around)
    if around is None:
        return
    added = _added(case, around)
    if not hats and case.as_role:
        yield _joining(case, case.as_role, around, added)
    elif not hats and not case.one_role:
        yield Acting(None, case.subject.text, case.subject.text, case.subject.text, _later(case, around), 0, *added)
    if not case.as_role and (case.one_role or not _grantable(case, case.subject.text)):
        yield from _with_a_new_role(case, hats, around, added)


def new_names(case: Case) -> list[str]:
    """The references that a role of the subject's own could have; of a type that holds grants and that it may join."""
    policy = case.policy
    type_ = next((type_ for type_ in policy.file.grants.to if _joins(policy, case.subject, type_)), None)
    if type_ is None or policy.names.is_protected(type_):
        return []
    name = f"for-{case.subject.name}".encode()[:MAX_NAME].decode(errors="ignore")
    return [Reference(type_, (f"{name}{tail}",), True).text for tail in ("", *(f"-{at}" for at in range(2, NAMES + 1)))]


def later_roles(case: Case) -> list[str]:
    """The roles that the subject would act through besides what was found: the active one, or what a new one holds."""
    if case.as_role:
        return [case.as_role]
    types = {case.subject.type, *(type_of(name) for name in new_names(case)[:1])}
    return [ref for ref, entry in case.policy.builtins.items() if entry.held_by_every in types]


def _joins(policy: Policy, subject: Reference, container: str) -> bool:
    return subject.type in policy.file.members.get(container, [])


def _grantable(case: Case, ref: str) -> bool:
    return type_of(ref) in case.policy.file.grants.to and ref not in case.policy.hidden


def _as_found(case: Case, role: str | None, found: FoundFacts, around: Surroundings | None) -> Iterator[Acting]:
    subject = case.subject.text
    if case.one_role and role:
        grantee = subject if _grantable(case, subject) else role
        yield Acting(role, grantee, grantee, role, found, _reach(case, grantee))
        return
    yield Acting(role, subject, subject, subject, found)  # what asks for no grant needs nobody to grant to
    if _grantable(case, subject):
        return
    if around is None:
        type_ = case.policy.file.grants.to[0]
        yield Acting(role, f"{type_}:any", f"{indefinite(type_)} that {subject} holds or is given", subject, found)
    else:
        for each in filter(partial(_grantable, case), around.held):
            yield Acting(role, each, each, subject, found, _reach(case, each))


def _reach(case: Case, grantee: str) -> int:
    """What it weighs that others have the grantee too."""
    builtin = case.policy.builtins.get(grantee)
    return 0 if builtin is None else EVERYBODYS if builtin.held_by_every else CAME_WITH_THE_POLICY


def _added(case: Case, around: Surroundings) -> tuple[tuple[str, ...], tuple[str, ...]]:
    subject = case.subject.text
    if subject in around.there:
        return (), ()
    return (f"add {subject}",), (f"{subject} is not there{case.near()}: add {subject}",)


def _joining(case: Case, role: str, around: Surroundings, added: tuple[tuple[str, ...], tuple[str, ...]]) -> Acting:
    subject = case.subject.text
    member = f"member {subject} of {role}"
    grantee = subject if _grantable(case, subject) else role
    return Acting(
        role,
        grantee,
        grantee,
        role if case.one_role else subject,
        _later(case, around),
        _reach(case, grantee),
        (*added[0], member),
        (*added[1], f"{subject} does not hold {role}: {member}"),
    )


def _with_a_new_role(
    case: Case,
    hats: Sequence[Mapping[str, Any]],
    around: Surroundings,
    added: tuple[tuple[str, ...], tuple[str, ...]],
) -> Iterator[Acting]:
    subject = case.subject.text
    name = next((name for name in new_names(case) if name not in around.there), None)
    if name is None:
        return
    found = dict(_later(case, around))
    for hat in hats if not case.one_role else ():
        found.update(case.by_fact(hat["found"]))
    first = (f"add {name}", f"member {subject} of {name}")
    kind = type_of(name)
    lacks = f"{subject} holds no {kind} of its own" if hats and around.held else f"{subject} holds no {kind}"
    yield Acting(
        name if case.one_role else None,
        name,
        name,
        name if case.one_role else subject,
        found,
        NEW,
        (*added[0], *first),
        (*added[1], f"{lacks}: {'; '.join(first)}"),
    )


def _later(case: Case, around: Surroundings) -> dict[Fact, Sequence[str | None]]:
    """What is true for whoever acts later, and what he has through the roles that come with it."""
    found = dict(around.found)
    holders = {case.subject.text, *around.reached}
    for fact in facts_of(case.clauses):
        match fact.kind:
            case FactKind.EXISTS:
                true = case.entity(fact) in around.there
            case FactKind.BUILTIN:
                true = case.entity(fact) in case.policy.builtins
            case FactKind.IS:
                true = case.entity(fact) == case.subject.text
            case FactKind.HOLDS:
                true = case.entity(fact) in holders
            case FactKind.EVERY_BELOW:
                true = not around.inside.get(fact)
            case _:
                continue
        if true:
            found[fact] = [None]
    return found
