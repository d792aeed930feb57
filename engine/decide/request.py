"""Turns a question into the parameters of the fixed queries; engine and Spark read the same clauses."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar

from grantpath.engine.policy.fact_plan import Sight
from grantpath.engine.policy.policy import Policy, Question
from grantpath.graph.errors import GrantpathError, Inconsistent, Invalid, InvalidInput
from grantpath.graph.reference import Reference, indefinite, need_number, need_text, short
from grantpath.graph.statement import Check

MOST = 10_000  # things of one call: its parameters take memory of the server, and its time is that of all callers
AnyCheck = Check | tuple[str, str, str]
One = TypeVar("One")
Other = TypeVar("Other")


@dataclass(frozen=True)
class Places:
    """The entities a question is about: the object with what is above it, and second objects by key."""

    object: Reference
    by_at: Mapping[str, Reference]
    seconds: Mapping[str, Reference] = field(default_factory=dict)

    def parameters(self) -> list[dict[str, str]]:
        return [{"at": at, "ref": ref.text} for at, ref in self.by_at.items()]


@dataclass(frozen=True)
class Asked:
    """A check with its names resolved."""

    check: Check
    subject: Reference
    where: Places
    question: Question
    as_role: str | None

    @property
    def needed(self) -> list[str]:
        """What must be there: the object, second objects, the active role."""
        refs = [ref.text for ref in self.where.seconds.values()]
        refs += [] if self.question.may_be_missing else [self.where.object.text]
        return refs + ([self.as_role] if self.as_role else [])


def places(policy: Policy, root: Reference, object_: Reference, seconds: Mapping[str, Reference]) -> Places:
    """The places of a question, each under the name that facts call it by."""
    by_at = dict(policy.chain(object_, root))
    for key, second in seconds.items():
        prefix = "grantee." if key == "grantee" else f"with.{key}."
        by_at.update((at if ref == root else prefix + at, ref) for at, ref in policy.chain(second, root))
    return Places(object_, by_at, seconds)


def check_parameters(
    subject: str,
    where: Places,
    sight: Sight,
    condition: int,
    one_role: bool,
    as_role: str | None,
    needed: list[str],
) -> dict[str, Any]:
    """One entry of `$checks`. Places that no fact is about are left out."""
    return {
        "subject": subject,
        "needed": needed,
        "places": [
            {"at": at, "ref": where.by_at[at].text, "edges": sight.edges.get(at, []), "marks": sight.marks.get(at, [])}
            for at in sight.at
            if at in where.by_at
        ],
        "condition": condition,
        "one_role": one_role,
        "as_role": as_role,
        **_besides(where, sight),
    }


def _besides(where: Places, sight: Sight) -> dict[str, Any]:
    """What clauses look at besides the places themselves: roles by name, and what is below."""
    return {
        "named": sight.named,
        "below": [{"at": at, "ref": where.by_at[at].text} for at in sight.below],
        "every": [
            {"fact": one.fact, "ref": where.by_at[one.at].text, "types": one.types, "privileges": one.privileges}
            for one in sight.every
        ],
    }


def who_parameters(policy: Policy, where: Places, question: Question) -> dict[str, Any]:
    """The parameters of who.cypher, but root, needed, after and limit."""
    sight = question.sight
    return {
        "places": where.parameters(),
        "clauses": sight.parameters,
        "facts": sight.facts,
        "users": policy.user_types,
        "acting": policy.role_types if question.one_role else policy.user_types,
        "one_role": question.one_role,
        "everyone": sight.anybody,
        **_besides(where, sight),
    }


def which_parameters(
    policy: Policy, root: Reference, subject: str, question: Question, seconds: Places, as_role: str | None
) -> dict[str, Any]:
    """The parameters of which.cypher, but root, needed, after and limit. `seconds`: the second objects' places."""
    sight = question.sight
    above = policy.names.chain(question.type)
    return {
        "top": root.text,
        "subject": subject,
        "type": question.type,
        "clauses": sight.parameters,
        "facts": sight.facts,
        "above": list(above),
        "seconds": [{"at": at, "ref": ref.text} for at, ref in seconds.by_at.items() if at.startswith("with.")],
        "one_role": question.one_role,
        "as_role": as_role,
        "named": sight.named,
        "below": bool(sight.below),
        "every": [
            {"fact": one.fact, "at": one.at, "types": one.types, "privileges": one.privileges} for one in sight.every
        ],
    }


def named_seconds(with_: Mapping[str, str] | None, reference: Callable[[str], Reference]) -> dict[str, Reference]:
    """The second objects of `with_`. Raises InvalidInput where it is no mapping, InvalidReference, Unknown."""
    if with_ is not None and not isinstance(with_, Mapping):
        raise InvalidInput(f"with_={short(repr(with_))} is no mapping; write {{'KEY': 'REF'}}, as {{'tag': 'tag:pii'}}")
    return {key: reference(ref) for key, ref in (with_ or {}).items()}


def subject_asked_about(policy: Policy, root: Reference, text: str) -> Reference:
    """Whom a question is about. Raises Invalid for what the policy asks nothing about, InvalidReference, Unknown."""
    ref = policy.reference(text, root)
    asked = policy.file.ask.subjects
    if ref.type not in asked:
        raise Invalid(f"{ref}: checks are about {' and '.join(asked)}, not about {indefinite(ref.type)}")
    return ref


def active_role(policy: Policy, root: Reference, text: str) -> str:
    """The role that somebody acts with. Raises Invalid for what can be none, InvalidReference, Unknown."""
    if not policy.active_roles:
        raise Invalid(f"as {short(text)}: the policy {policy.name} has no active roles; leave it away")
    ref = policy.reference(text, root)
    if policy.file.types[ref.type].kind != "role":
        raise Invalid(f"as {ref}: {indefinite(ref.type)} is no role")
    return ref.text


def numbered(entries: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The entries of a batch, each with its place: the database promises no order of its answers."""
    return [{"index": index, **entry} for index, entry in enumerate(entries)]


def in_order(answers: Iterable[Mapping[str, Any]], count: int) -> list[Mapping[str, Any]]:
    """The answers of a batch of `count`, each at the place of its question. Raises Inconsistent if one is missing."""
    by_index = {answer["index"]: answer for answer in answers}
    if sorted(by_index) != list(range(count)):
        raise Inconsistent(f"the database answered {len(by_index):,} of {count:,} questions of a batch; ask again")
    return [by_index[index] for index in range(count)]


def check_page(limit: int | None, after: str, at: int | None) -> None:
    """Raises InvalidInput for what is not a page: a limit, the reference before it, its revision."""
    if limit is not None:
        need_number("limit", limit)
        if limit < 0:
            raise InvalidInput(f"limit={limit}: a limit is 0 or more, or None for all")
    need_text("after", after)
    if at is not None:
        need_number("at", at)


def need_list(what: str, given: Iterable[One]) -> list[One]:
    """The things of a batch. Raises InvalidInput for what is not a list or something like it (a text is one thing, not
    a list of letters), and for more than MOST of them."""
    if not isinstance(given, Iterable) or isinstance(given, str | bytes):
        raise InvalidInput(f"{short(repr(given))} is not a list of {what}; wrap a single one in a list")
    things = list(islice(given, MOST + 1))
    if len(things) > MOST:
        raise InvalidInput(f"more than {MOST:,} {what} in one call; split them into calls of at most {MOST:,}")
    return things


def each_of(what: str, things: Iterable[One], work: Callable[[One], Other]) -> list[Other]:
    """What came of each thing of a batch. What is invalid is raised as `one_of`."""
    done: list[Other] = []
    for thing in things:
        try:
            done.append(work(thing))
        except Invalid as error:
            raise one_of(what, len(done), error) from None
    return done


def one_of(what: str, index: int, error: GrantpathError) -> GrantpathError:
    """The same error, naming by its index which one of a batch it is about."""
    named = error.behind(f"{what} {index}: ")
    named.code = error.code
    named.index = index
    return named


def check_opening(root: str, policy: str | None, uri: str | None) -> None:
    """Raises InvalidInput for what is no text."""
    need_text("root", root)
    for what, text in (("policy", policy), ("uri", uri)):
        if text is not None:
            need_text(what, text)


def check_seconds(question: Question, seconds: Mapping[str, Reference]) -> None:
    """Raises Invalid where a second object has another type than the operation's."""
    for key, ref in seconds.items():
        wanted = question.with_[key].type
        if ref.type != wanted:
            raise Invalid(
                f"{question.name}: {key}={ref} is {indefinite(ref.type)}, not {indefinite(wanted)}: "
                f"write {key}={wanted}:NAME"
            )


def check_of(subject: str, name: str, object_: str, with_: Mapping[str, str] | None, as_role: str | None) -> Check:
    """The words as a check. Raises Invalid for what is no text."""
    try:
        return Check(subject=subject, name=name, object=object_, with_=dict(with_ or {}), as_role=as_role)
    except (TypeError, ValueError):
        asked = short(repr((subject, name, object_, with_, as_role)))
        raise Invalid(f"{asked} is no check: subject, name, object, as_role and what is in with_ are texts") from None


def as_check(check: AnyCheck) -> Check:
    """What a caller gave as a check. Raises Invalid for anything else."""
    if isinstance(check, Check):
        return check
    try:
        subject, name, object_ = check
        return Check(subject=subject, name=name, object=object_)
    except (TypeError, ValueError):
        raise Invalid(f"{short(repr(check))} is neither (subject, name, object) nor a Check") from None
