"""Lists of entities, grants and memberships: pages in a stable order, each of one revision."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from grantpath.engine.answers.listing import CURSOR
from grantpath.engine.inspection.models import (
    EntityPage,
    Grant,
    GrantPage,
    ListEntities,
    ListGrants,
    ListMembers,
    ListMemberships,
    Membership,
    MembershipPage,
)
from grantpath.engine.inspection.root_view import Ask, PageRequest, RootView, subject_of
from grantpath.engine.policy.policy import Policy
from grantpath.graph.errors import Invalid, InvalidInput
from grantpath.graph.language.inputs import require_text
from grantpath.graph.language.reference import Reference
from grantpath.graph.language.statement import parse_statement
from grantpath.graph.messages import indefinite, short

Entry = TypeVar("Entry")


def entities(view: RootView, question: ListEntities, page: PageRequest) -> EntityPage:
    """The existing entities that match. Raises Unknown, InvalidReference, Invalid, InvalidInput, Inconsistent."""
    policy = view.policy
    policy.names.check_type(question.type)
    owned_by = policy.file.types[question.type].owned_by
    if (question.without_owner or question.owned_by is not None) and not owned_by:
        raise Invalid(f"{indefinite(question.type)} has no owner in the policy {policy.name}; omit this filter")
    if question.without_owner and question.owned_by is not None:
        raise InvalidInput("owned_by and without_owner exclude each other; omit one of them")
    if question.like is not None:
        require_text("like", question.like)
    under = None if question.under is None else policy.reference(question.under, view.root).text
    owner = None if question.owned_by is None else subject_of(view, question.owned_by).text
    question = question.model_copy(update={"under": under, "owned_by": owner})
    page = page.parsed(policy, view.root, [question.type])
    revision, entries, after = _read(
        view,
        view.ask,
        page,
        "list_entities",
        str,
        str,
        after=page.after or "",
        needed=_named(under, owner),
        type=question.type,
        # every entity of another type than the root's counts as below the root, even a user, which is not in the tree
        under="" if under == view.root.text and question.type != view.root.type else under or "",
        owner=owner or "",
        without_owner=question.without_owner,
        like=question.like or "",
    )
    found = EntityPage(question=question, answer=entries, complete=after is None, after=after, revision=revision)
    return found.knowing(view.policy.names.one_segment)


def grants(view: RootView, question: ListGrants, page: PageRequest) -> GrantPage:
    """The grants that match. Raises Unknown, InvalidReference, Invalid, InvalidInput, Inconsistent."""
    on = None if question.on is None else view.policy.reference(question.on, view.root).text
    to = None if question.to is None else subject_of(view, question.to).text
    return grant_page(view, view.ask, question.model_copy(update={"on": on, "to": to}), page)


def grant_page(view: RootView, ask: Ask, question: ListGrants, page: PageRequest) -> GrantPage:
    """One page of grants, read by `ask`; the references of the question are canonical.

    For a past state, `ask` is MemoryViews, which answers each query of this module by a method of the same name.
    """
    on, to = question.on, question.to
    revision, entries, after = _read(
        view,
        ask,
        page,
        "list_grants",
        lambda row: Grant(**row),
        lambda grant: grant.statement,
        after=_grant_key(view, page.after),
        needed=_named(on, to),
        on=on or "",
        to=to or "",
        privilege="" if question.privilege is None else _privilege(view, question.privilege),
        effect=question.effect or "",
    )
    return GrantPage(question=question, answer=entries, complete=after is None, after=after, revision=revision)


def members(view: RootView, question: ListMembers, page: PageRequest) -> MembershipPage:
    """The members of a group or role. Raises Unknown, InvalidReference, Invalid, InvalidInput, Inconsistent."""
    container = subject_of(view, question.container)
    return membership_page(view, view.ask, question.model_copy(update={"container": container.text}), container, page)


def memberships(view: RootView, question: ListMemberships, page: PageRequest) -> MembershipPage:
    """The groups and roles that a subject belongs to. Raises as `members`."""
    member = subject_of(view, question.member)
    return membership_page(view, view.ask, question.model_copy(update={"member": member.text}), member, page)


def membership_page(
    view: RootView, ask: Ask, question: ListMembers | ListMemberships, ref: Reference, page: PageRequest
) -> MembershipPage:
    """One page of the members of `ref`, or of its memberships, read by `ask`; the question is canonical."""
    members = isinstance(question, ListMembers)
    begin = page.parsed(view.policy, view.root, _listed_types(view.policy, ref.type, members, question.all))
    revision, entries, after = _read(
        view,
        ask,
        page,
        "list_members" if members else "list_memberships",
        _membership,
        lambda each: each.member if members else each.container,
        after=begin.after or "",
        ref=ref.text,
        all=question.all,
    )
    found = MembershipPage(question=question, answer=entries, complete=after is None, after=after, revision=revision)
    return found.knowing(view.policy.names.one_segment)


def _listed_types(policy: Policy, type_: str, members: bool, all: bool) -> set[str]:
    """The types of the members of an entity of this type, or of the groups and roles that it can belong to; with `all`
    also through others."""
    found, waiting = set[str](), [type_]
    while waiting:
        at = waiting.pop()
        next_ = policy.file.members.get(at, []) if members else _containers(policy, at)
        waiting += [each for each in next_ if all and each not in found]
        found.update(next_)
    return found


def _containers(policy: Policy, type_: str) -> list[str]:
    return [container for container, members in policy.file.members.items() if type_ in members]


def _membership(row: Mapping[str, Any]) -> Membership:
    path = row["path"]
    return Membership(member=path[0], container=path[-1], path=tuple(path), until=row["until"])


def _read(
    view: RootView,
    ask: Ask,
    page: PageRequest,
    query: str,
    entry: Callable[[Any], Entry],
    key: Callable[[Entry], str],
    **parameters: Any,
) -> tuple[int, tuple[Entry, ...], str | None]:
    """The revision, the entries of the page, and the `after` of the next page, or None.

    It reads one more entry than the page has, to find out whether there are more.
    """
    row = ask(query, at_least=page.at_least, hidden=view.policy.hidden, limit=page.limit + 1, **parameters)
    view.require_existing(parameters.get("needed", [parameters.get("ref")]), row["known"])
    page.check_revision(view.tenant, row["revision"])
    entries = tuple(entry(each) for each in row["answer"][: page.limit])
    return row["revision"], entries, key(entries[-1]) if len(row["answer"]) > page.limit else None


def _named(*refs: str | None) -> list[str]:
    return [ref for ref in refs if ref is not None]


def _privilege(view: RootView, text: str) -> str:
    """The canonical name of a privilege. Raises Unknown, or Invalid for one that is stored as a membership."""
    name = view.policy.names.canonical(text)
    if view.policy.names.privileges[name].membership:
        raise Invalid(f"{name} is stored as a membership, not as a grant; list the members instead")
    return name


def _grant_key(view: RootView, after: str | None) -> list[str]:
    """`after`, the statement of the last grant of a page, as a key. Raises InvalidInput."""
    if after is None:
        return [""] * 4
    try:
        grant = parse_statement(after)
        if grant.kind != "grant" or grant.with_ or not (grant.subject and grant.privilege and grant.effect):
            raise InvalidInput("it is not a grant")
        on, to = view.policy.reference(grant.object, view.root), subject_of(view, grant.subject)
        return [on.text, to.text, _privilege(view, grant.privilege), grant.effect]
    except Invalid as error:
        raise InvalidInput(f"after={short(after)}: {error}; {CURSOR}") from None
