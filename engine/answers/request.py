"""Resolves the names in a question by its policy, and builds the parameters of the fixed queries.

check, explain, who, which and Spark all use `resolve`, so that they report the same error first.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from grantpath.engine.answers.decision import Decision, Evidence, Names
from grantpath.engine.answers.evaluation import Evaluation
from grantpath.engine.policy.fact_plan import FactPlan
from grantpath.engine.policy.facts import Fact
from grantpath.engine.policy.policy import Policy, Requirement
from grantpath.graph.errors import Inconsistent, Invalid, Unknown
from grantpath.graph.frozen import unchecked
from grantpath.graph.language.inputs import require_second_objects
from grantpath.graph.language.reference import Reference, type_of
from grantpath.graph.language.statement import Check, Which, Who, check_of
from grantpath.graph.messages import indefinite, short

Places = Mapping[str, Reference]  # place name in facts: entity
ANY = "any"  # the type in a `which` question about all types; a type of the policy with this name comes first
AnyCheck = Check | tuple[str, str, str]
Words = TypeVar("Words", bound=Check | Who | Which)


class ResolvedQuestion(NamedTuple):
    """A question whose names are resolved by the policy. Its entities need not exist.

    `requirement` is the condition on the `places`. `subject` is None for `who`, `object` for `which`. With `one_role`
    each held role is evaluated separately. `needed` are the references that must exist; the first missing one is
    reported. `within` are places: only objects in all of them can be in the answer to `which`. `listed` are the types
    of subjects that can be in the answer to `who`.
    """

    requirement: Requirement
    places: Places
    object: Reference | None
    second_objects: Mapping[str, Reference]
    subject: Reference | None
    as_role: str | None
    one_role: bool
    needed: list[str]
    within: frozenset[Reference] = frozenset()
    listed: Sequence[str] = ()


# ---- words to a question --------------------------------------------------------------------------------------------
def as_words(model: type[Words], with_: Mapping[str, str] | None, **words: Any) -> Words:
    """The question as a model. Raises InvalidInput if `with_` is not a mapping, Invalid if another value is not a
    string."""
    second_objects = require_second_objects(with_)
    try:
        return model(with_=second_objects, **words)
    except (TypeError, ValueError):
        asked = short(repr((*words.values(), with_)))
        raise Invalid(f"{asked} is not a question: all its parts must be strings, those in with_ too") from None


def as_check(given: AnyCheck) -> Check:
    """A Check from a Check or a tuple. Raises Invalid for anything else."""
    if isinstance(given, Check):
        return given
    try:
        subject, name, object_ = given
        return check_of(subject, name, object_)
    except (TypeError, ValueError):
        raise Invalid(f"{short(repr(given))} is neither (subject, name, object) nor a Check") from None


def resolve_check(policy: Policy, root: Reference, check: Check) -> tuple[Check, ResolvedQuestion]:
    """The check with canonical references, and its question. Raises as `resolve`."""
    question = resolve(policy, root, check)
    return canonical(check, question), question


def resolve(policy: Policy, root: Reference, words: Check | Who | Which) -> ResolvedQuestion:
    """Resolves a question about one tenant.

    If several words are wrong, the first of these is reported: the object or its type, the second objects, the
    name, the types of the second objects, the subject, the active role. Raises Unknown, InvalidReference, Invalid.
    """
    object_: Reference | None = None
    if isinstance(words, Which):
        type_ = words.type
        policy.names.check_type(type_)
    else:
        object_ = policy.reference(words.object, root)
        type_ = object_.type
    second_objects = {key: policy.reference(ref, root) for key, ref in sorted(words.with_.items())}
    lengths = policy.lengths(object_, second_objects)
    requirement = policy.question(words.name, type_, frozenset(second_objects), lengths)
    _check_second_objects(requirement, second_objects)
    within = _within(policy, root, requirement, object_, second_objects)
    subject = None if isinstance(words, Who) else subject_of(policy, root, words.subject)
    listed = _listed(policy, words.type) if isinstance(words, Who) else []
    role = None if isinstance(words, Who) or words.as_role is None else active_role(policy, root, words.as_role)
    needed = [ref.text for key, ref in second_objects.items() if not requirement.with_[key].new]
    if object_ is not None and not requirement.may_be_missing:
        needed.append(object_.text)
    return ResolvedQuestion(
        requirement,
        places(policy, root, root if object_ is None else object_, second_objects),
        object_,
        second_objects,
        subject,
        role,
        acts_with_one_role(policy, requirement, listed if subject is None else [subject.type], role),
        needed if role is None else [*needed, role],
        within,
        listed,
    )


def resolve_each(policy: Policy, root: Reference, words: Check | Who | Which) -> list[ResolvedQuestion]:
    """The questions that the words stand for: one, or with the type `any` one for each type on which the name can be
    asked. Raises as `resolve`."""
    if not isinstance(words, Which) or words.type != ANY or ANY in policy.names.types:
        return [resolve(policy, root, words)]
    types = policy.types_with(words.name)
    return [resolve(policy, root, words.model_copy(update={"type": type_})) for type_ in types]


def of_length(question: ResolvedQuestion, length: int) -> ResolvedQuestion:
    """A `which` question about the objects whose references have this number of segments."""
    of = question.requirement.of_length
    return question if of is None else question._replace(requirement=of(length))


def canonical(words: Words, question: ResolvedQuestion) -> Words:
    """The words of a resolved question with canonical references. Answers have these, so that they can be compared."""
    found: dict[str, Any] = {"with_": {key: ref.text for key, ref in question.second_objects.items()}}
    if not isinstance(words, Which):
        assert question.object is not None, "only `which` has no object"
        found["object"] = question.object.text
    if not isinstance(words, Who):
        assert question.subject is not None, "only `who` has no subject"
        found |= {"subject": question.subject.text, "as_role": question.as_role}
    same = all(getattr(words, name) == value for name, value in found.items())
    return words if same else words.model_copy(update=found)  # type: ignore[return-value]


def places(
    policy: Policy,
    root: Reference,
    object_: Reference,
    second_objects: Mapping[str, Reference],
    grantee: Reference | None = None,
) -> Places:
    """The places of a question or a change: the object, each second object and the grantee, each with its ancestors."""
    found = dict(policy.chain(object_, root))
    others = {f"with.{key}.": second for key, second in second_objects.items()}
    if grantee:
        others["grantee."] = grantee
    for prefix, second in others.items():
        found.update((at if ref == root else prefix + at, ref) for at, ref in policy.chain(second, root))
    return found


def active_role(policy: Policy, root: Reference, text: str) -> str:
    """The role that a subject acts with. Raises Invalid if `text` cannot name one, InvalidReference, Unknown."""
    ref = policy.reference(text, root)
    if not policy.active_roles:
        raise Invalid(f"as {ref}: the policy {policy.name} has no active roles; omit the role")
    if policy.file.types[ref.type].kind != "role":
        raise Invalid(f"as {ref}: {indefinite(ref.type)} is not a role; name a role")
    return ref.text


def acts_with_one_role(policy: Policy, requirement: Requirement, types: Iterable[str], role: str | None) -> bool:
    """Whether one role at a time decides about subjects of these types. A role without another active `role` acts as
    itself."""
    return requirement.one_role and (role is not None or not {*types} & {*policy.role_types})


def subject_of(policy: Policy, root: Reference, text: str) -> Reference:
    """The subject of a check. Raises Invalid if checks cannot be about one of its type, InvalidReference, Unknown."""
    ref = policy.reference(text, root)
    _require_asked(policy, ref.type, f"{ref}: the subject")
    return ref


def _listed(policy: Policy, type_: str | None) -> Sequence[str]:
    """The types that `who` lists: one that checks can be about, or all types of users. Raises Unknown, Invalid."""
    if type_ is None:
        return policy.user_types
    policy.names.check_type(type_)
    _require_asked(policy, type_, f"who of type {type_}: a subject")
    return [type_]


def _require_asked(policy: Policy, type_: str, what: str) -> None:
    asked = policy.file.ask.subjects
    if type_ not in asked:
        raise Invalid(f"{what} must be {' or '.join(map(indefinite, asked))}, not {indefinite(type_)}")


def _check_second_objects(requirement: Requirement, second_objects: Mapping[str, Reference]) -> None:
    for key, ref in second_objects.items():
        wanted = requirement.with_[key].type
        if ref.type != wanted:
            raise Invalid(
                f"{requirement.name}: {key}={ref} is {indefinite(ref.type)}, not {indefinite(wanted)}: "
                f"write {key}={wanted}:NAME"
            )


def _within(
    policy: Policy,
    root: Reference,
    requirement: Requirement,
    object_: Reference | None,
    second_objects: Mapping[str, Reference],
) -> frozenset[Reference]:
    """The places in which the objects of `which` must be. Raises Invalid if an object is in another place than a second
    object, and must not be."""
    within = set()
    for key, ref in second_objects.items():
        entry = requirement.with_[key]
        if object_ is not None:
            policy.require_same_place(key, entry, object_, ref, root)
        elif entry.inside and (place := policy.place_of(entry.inside, ref, root)):
            within.add(place)
    return frozenset(within)


def only_within(
    policy: Policy, root: Reference, questions: Iterable[ResolvedQuestion], refs: Iterable[str]
) -> list[str]:
    """Those of the objects that `which` can have in its answer."""
    within = {question.requirement.type: question.within for question in questions}
    if not any(within.values()):
        return [*refs]
    return [
        ref for ref in refs if within[type_of(ref)] <= {at for _, at in policy.chain(policy.reference(ref, root), root)}
    ]


# ---- a question to parameters ---------------------------------------------------------------------------------------
def answers(
    ask: Callable[..., Mapping[str, Any]], questions: Sequence[ResolvedQuestion], at_least: int | None
) -> tuple[list[Mapping[str, Any]], Mapping[str, Any]]:
    """The answers to a batch of checks, in the order of the questions, and the row that contains them."""
    row = ask("check", at_least=at_least, **batch_parameters(questions))
    return check_answers(row["answers"], len(questions)), row


def decision(
    tenant: Names, words: Check, question: ResolvedQuestion, answer: Mapping[str, Any], row: Mapping[str, Any]
) -> Decision:
    """The decision that an answer means. Raises Unknown if what the question needs does not exist."""
    tenant.require_existing(question.needed, answer["known"])
    acted = answer["acting"]
    allowed, left_out = any(each["allowed"] for each in acted), row.get("left_out", ())
    return decided(tenant.policy, tenant.root, words, allowed, row["revision"], acted, left_out)


def decided(
    policy: Policy,
    root: Reference,
    words: Check,
    allowed: bool,
    revision: int,
    acted: Sequence[Mapping[str, Any]],
    left_out: Sequence[str],
) -> Decision:
    """The decision on a check whose references are canonical. `left_out` are facts that have ended, and are stored."""
    evidence = Evidence(policy, root, words, evaluation, acted)  # in place of the reasons, which cost more
    found = {"allowed": allowed, "revision": revision, "question": words, "ends_due": bool(left_out)}
    return unchecked(Decision, {**found, "_evidence": evidence})


class OneSuggestion:
    """A tenant that asks the database about the first missing name of a batch only: whether the root was dropped, and
    which names are similar."""

    def __init__(self, tenant: Names) -> None:
        self._tenant, self._asked = tenant, False
        self.policy, self.root, self.near = tenant.policy, tenant.root, tenant.near

    def require_existing(self, needed: Iterable[str], known: Collection[str]) -> None:
        """Raises Unknown for the first of these references that is not `known`, or that the policy hides."""
        missing = next((ref for ref in needed if ref not in known or ref in self.policy.hidden), None)
        if missing is None:
            return
        if not self._asked:
            self._asked = True
            self._tenant.require_existing([missing], known)
        raise Unknown(f"{short(missing)} does not exist", "; add it, or check the name", absent=missing)


def evaluation(policy: Policy, root: Reference, check: Check) -> Evaluation:
    """The evaluation of a valid check by a policy of its tenant."""
    asked = resolve(policy, root, check)
    assert asked.subject is not None, "a check has a subject"
    clauses, role = asked.requirement.clauses, asked.as_role
    return Evaluation(policy, root, asked.subject, clauses, asked.places, asked.one_role, role)


def batch_parameters(questions: Sequence[ResolvedQuestion]) -> dict[str, Any]:
    """The parameters of check.cypher, without `root`. Questions with the same requirement share its clauses."""
    conditions: dict[Requirement, int] = {}
    checks = []
    for each in questions:
        assert each.subject is not None, "a check has a subject"
        condition = conditions.setdefault(each.requirement, len(conditions))
        plan = each.requirement.plan
        checks.append(
            check_parameters(each.subject.text, each.places, plan, condition, each.one_role, each.as_role, each.needed)
        )
    return {"checks": numbered(checks), "conditions": [each.plan.parameters for each in conditions]}


def check_parameters(
    subject: str,
    where: Places,
    plan: FactPlan,
    condition: int,
    one_role: bool,
    as_role: str | None,
    needed: list[str],
) -> dict[str, Any]:
    """One entry of `$checks`. Places without facts are omitted."""
    return {
        "subject": subject,
        "needed": needed,
        "places": [
            {**place, "privileges": plan.privileges.get(name, []), "properties": plan.properties.get(name, [])}
            for place in sorted(place_parameters(where, plan), key=itemgetter("name"))
            if (name := place["name"]) in plan.places
        ],
        "condition": condition,
        "one_role": one_role,
        "as_role": as_role,
        **below_parameters(where, plan),
    }


def place_parameters(where: Places, plan: FactPlan) -> list[dict[str, str]]:
    """The places of a question, and the roles that its clauses name."""
    refs = {**{name: ref.text for name, ref in where.items()}, **plan.named}
    return [{"name": name, "ref": ref} for name, ref in refs.items()]


def below_parameters(where: Places, plan: FactPlan) -> dict[str, Any]:
    """What the clauses need of descendants."""
    return {
        "below": [{"name": name, "ref": where[name].text} for name in plan.below],
        "every": [{**every_parameters(fact), "ref": where[fact.place].text} for fact in plan.every],
    }


def every_parameters(fact: Fact) -> dict[str, Any]:
    """What a query needs to find out whether a fact about all descendants of a place is true."""
    return {"fact": fact.text, "types": list(fact.types), "privileges": list(fact.privileges)}


def numbered(entries: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The entries of a batch with their indexes: the database does not guarantee the order of its answers."""
    return [{"index": index, **entry} for index, entry in enumerate(entries)]


def check_answers(answers: Iterable[Mapping[str, Any]], count: int) -> list[Mapping[str, Any]]:
    """The answers of check.cypher in the order of its `count` checks. Raises Inconsistent if one is missing.

    The principals of a fact that several checks share are sent once; here each of these checks gets the same list.
    """
    ordered = in_order(answers, count)
    facts = [
        (index, acting["role"], found)
        for index, answer in enumerate(ordered)
        for acting in answer["acting"]
        for found in acting["found"]
    ]
    sent = {(index, role, found["fact"]): found["by"] for index, role, found in facts if "by" in found}
    for _, role, found in facts:
        if "by" not in found:
            found["by"] = sent[found.pop("as_in"), role, found["fact"]]
    return ordered


def in_order(answers: Iterable[Mapping[str, Any]], count: int) -> list[Mapping[str, Any]]:
    """The answers of a batch in the order of its `count` questions. Raises Inconsistent if one is missing."""
    by_index = {answer["index"]: answer for answer in answers}
    if sorted(by_index) != list(range(count)):
        raise Inconsistent(f"the database answered {len(by_index):,} of {count:,} questions of a batch; ask again")
    return [by_index[index] for index in range(count)]
