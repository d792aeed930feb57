"""`can`: every privilege and operation on an object, with yes or no, in one round trip.

A group or a role can be the subject even if the policy's checks are only about users. Then the answer is that of a new
user who belongs only to it: its own grants and ownership count, and those of everything it belongs to. Where roles act
one at a time, a role acts alone, and a group acts with the roles that it holds directly, or with `as_role`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from grantpath.engine.answers import request
from grantpath.engine.answers.request import ResolvedQuestion
from grantpath.engine.answers.source import Checked
from grantpath.engine.inspection.models import Abilities, Ability, ListAbilities
from grantpath.engine.inspection.root_view import RootView, subject_of
from grantpath.engine.policy.clauses import NEVER, Clauses
from grantpath.engine.policy.facts import FactKind
from grantpath.engine.policy.policy import Requirement
from grantpath.engine.policy.schema import WithEntry
from grantpath.graph.errors import Invalid
from grantpath.graph.language.reference import Reference
from grantpath.graph.messages import indefinite, short


def abilities(
    view: RootView, question: ListAbilities, answers: Callable[[Sequence[ResolvedQuestion]], Checked]
) -> Abilities:
    """The abilities of one subject on one object; `answers` decides checks, all at one revision.

    Raises Unknown with similar names, InvalidReference, Invalid, Inconsistent, Unavailable.
    """
    policy, root = view.policy, view.root
    object_ = policy.reference(question.object, root)
    given = {key: policy.reference(ref, root) for key, ref in question.with_.items()}
    subject = subject_of(view, question.subject)
    role = None if question.as_role is None else request.active_role(policy, root, question.as_role)
    takes = {name: _second_objects(view, name, object_.type) for name in sorted(policy.names_on(object_.type))}
    _check_given(given, takes, object_.type)
    lacking = {name: _lacking(entries, given) for name, entries in takes.items()}
    asked = {
        name: _resolved(view, name, subject, object_, _fitting(takes[name], given), role)
        for name in takes
        if not lacking[name]
    }
    existence = _existence(view, subject, object_, given, role)
    [found, *decided], row = answers([existence, *asked.values()])
    view.require_existing(existence.needed, found["known"])
    allowed = {
        name: any(one["allowed"] for one in answer["acting"]) for name, answer in zip(asked, decided, strict=True)
    }
    answer = tuple(Ability(name=name, allowed=allowed.get(name), needs=lacking[name]) for name in takes)
    words = {"subject": subject.text, "object": object_.text, "as_role": role}
    question = question.model_copy(update={**words, "with_": {key: ref.text for key, ref in given.items()}})
    return Abilities(question=question, answer=answer, revision=row["revision"])


def _second_objects(view: RootView, name: str, type_: str) -> Mapping[str, WithEntry]:
    """The second objects that a privilege or operation takes."""
    operation = view.policy.names.operations.get((name, type_))
    return operation.with_ if operation else {}


def _fitting(entries: Mapping[str, WithEntry], given: Mapping[str, Reference]) -> dict[str, Reference]:
    return {key: ref for key, ref in given.items() if key in entries and entries[key].type == ref.type}


def _lacking(entries: Mapping[str, WithEntry], given: Mapping[str, Reference]) -> dict[str, str]:
    """The types of the second objects that must be given, by key."""
    fitting = _fitting(entries, given)
    return {key: entry.type for key, entry in entries.items() if key not in fitting and not entry.optional}


def _check_given(given: Mapping[str, Reference], takes: Mapping[str, Mapping[str, WithEntry]], type_: str) -> None:
    """Raises Invalid for a second object that no operation takes."""
    for key, ref in given.items():
        if not any(_fitting(entries, {key: ref}) for entries in takes.values()):
            raise Invalid(
                f"{short(key)}={short(ref.text)}: no operation on {indefinite(type_)} takes this second object; omit it"
            )


def _existence(
    view: RootView, subject: Reference, object_: Reference, given: Mapping[str, Reference], role: str | None
) -> ResolvedQuestion:
    """A question that is never allowed; its answer says which of the named entities exist."""
    missing = view.policy.grants_on_missing
    needed = [] if missing else [object_.text]
    needed += [*(ref.text for ref in given.values()), subject.text, *([role] if role else [])]
    up = tuple(at for at, _ in view.policy.chain(object_, view.root))
    never = Requirement("", object_.type, NEVER, False, {}, missing, up)
    places = request.places(view.policy, view.root, object_, {})
    return ResolvedQuestion(never, places, object_, {}, subject, None, False, needed)


def _resolved(
    view: RootView,
    name: str,
    subject: Reference,
    object_: Reference,
    second_objects: Mapping[str, Reference],
    role: str | None,
) -> ResolvedQuestion:
    policy = view.policy
    lengths = policy.lengths(object_, second_objects)
    requirement = policy.question(name, object_.type, frozenset(second_objects), lengths)
    if subject.type not in policy.file.ask.subjects:
        requirement = replace(requirement, clauses=_without_identity(requirement.clauses))
    places = request.places(policy, view.root, object_, second_objects)
    one_role = request.acts_with_one_role(policy, requirement, [subject.type], role)
    for key, ref in second_objects.items():
        policy.require_same_place(key, requirement.with_[key], object_, ref, view.root)
    return ResolvedQuestion(requirement, places, object_, second_objects, subject, role, one_role, [])


def _without_identity(clauses: Clauses) -> Clauses:
    """The clauses without the facts that a place is the subject itself: a new user is not the group it belongs to."""
    kept = (
        tuple(
            tuple(
                replace(one, any=rest)
                for one in term
                if (rest := tuple(fact for fact in one.any if fact.kind is not FactKind.IS))
            )
            for term in clause
        )
        for clause in clauses
    )
    return tuple(clause for clause in kept if all(clause))
