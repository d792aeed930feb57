"""`show`: one entity, its place in the tree, its owner, and its memberships and grants, all of one revision."""

from functools import partial

from grantpath.engine.inspection import lookup
from grantpath.engine.inspection.models import (
    EdgeCounts,
    EntityView,
    ListGrants,
    ListMembers,
    ListMemberships,
    ShowEntity,
)
from grantpath.engine.inspection.root_view import Ask, PageRequest, RootView

SHOWN = 50  # entries of each list


def show(view: RootView, question: ShowEntity, at_least: int | None) -> EntityView:
    """The entity, read at one revision. Of each list it has the first SHOWN entries.

    Raises Unknown with similar names, InvalidReference, Inconsistent, Unavailable.
    """
    return view.at_one_revision(partial(_show, view, question, at_least))


def _show(view: RootView, question: ShowEntity, at_least: int | None, ask: Ask) -> EntityView:
    policy, ref = view.policy, view.policy.reference(question.ref, view.root)
    beside = policy.beside_the_tree if ref == view.root else []
    row = ask("show_entity", at_least=at_least, ref=ref.text, hidden=policy.hidden, beside=beside)
    view.require_existing([ref.text], row["known"])
    entity, revision = row["entity"], row["revision"]
    page, question = PageRequest(SHOWN), question.model_copy(update={"ref": ref.text})
    return EntityView(
        question=question,
        revision=revision,
        ref=ref.text,
        type=entity["type"],
        exists=entity["exists"],
        builtin=entity["builtin"],
        parents=tuple(above.text for _, above in policy.chain(ref, view.root)[1:]),
        children={type_: int(number) for type_, number in entity["children"]},
        owner=entity["owner"],
        counts=EdgeCounts(**{name: entity[name] for name in EdgeCounts.model_fields}),
        members=lookup.membership_page(view, ask, ListMembers(container=ref.text, all=True), ref, page),
        memberships=lookup.membership_page(view, ask, ListMemberships(member=ref.text, all=True), ref, page),
        grants_on=lookup.grant_page(view, ask, ListGrants(on=ref.text), page),
        grants_to=lookup.grant_page(view, ask, ListGrants(to=ref.text), page),
        tags=tuple(entity["tag_refs"]),
        tagged=tuple(entity["tagged_refs"]),
    )
