"""The methods that show what is in a root; `Authorizer` adds the questions about decisions."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from grantpath.engine.authorizer.past_verbs import PastVerbs
from grantpath.engine.inspection import entity_view, lookup
from grantpath.engine.inspection.abilities import abilities
from grantpath.engine.inspection.models import (
    Abilities,
    EntityPage,
    EntityView,
    GrantPage,
    ListAbilities,
    ListEntities,
    ListGrants,
    ListMembers,
    ListMemberships,
    MembershipPage,
    ShowEntity,
)
from grantpath.engine.inspection.root_view import USUAL, PageRequest, need_question
from grantpath.engine.tenants.open_tenant import following
from grantpath.graph.language.statement import Effect

if TYPE_CHECKING:
    from grantpath.engine.past.past_root import AsOf


class InspectionVerbs(PastVerbs):
    """Shows what is in one root. Threads can share it.

    A list is read in pages of at most 10,000 entries. For the next page pass the `after` of this page as `after`, and
    its `revision` as `at`. A name that does not exist raises Unknown with similar names.
    """

    @following
    def show(self, ref: str, *, at_least: int | None = None, as_of: "AsOf | None" = None) -> EntityView:
        """One entity: what it is, its parents, its owner, its members and memberships, and the grants on it and to it.

        Each list has at most 50 entries, and says whether it is complete. `as_of` as in `check`. Raises Unknown,
        InvalidReference, InvalidInput, Inconsistent, Unavailable.
        """
        question = need_question(ShowEntity, ref=ref)
        past = None if as_of is None else self._past(as_of, at_least)
        if past is not None:
            return past.at_one_revision(partial(entity_view.show, past, question, None))
        return self.at_one_revision(partial(entity_view.show, self, question, at_least))

    @following
    def list(
        self,
        type: str,
        *,
        under: str | None = None,
        owned_by: str | None = None,
        without_owner: bool = False,
        like: str | None = None,
        limit: int = USUAL,
        after: str | None = None,
        at: int | None = None,
        at_least: int | None = None,
    ) -> EntityPage:
        """The existing entities of a type, in byte order.

        `under` keeps those below a place, `owned_by` those with this owner, `without_owner` those without one, `like`
        those whose reference contains a text after the type, in upper or lower case. Raises Unknown, InvalidReference,
        Invalid, InvalidInput, Inconsistent, Unavailable.
        """
        question = need_question(
            ListEntities, type=type, under=under, owned_by=owned_by, without_owner=without_owner, like=like
        )
        return lookup.entities(self, question, PageRequest(limit, after, at, at_least))

    @following
    def grants(
        self,
        *,
        on: str | None = None,
        to: str | None = None,
        privilege: str | None = None,
        effect: Effect | None = None,
        limit: int = USUAL,
        after: str | None = None,
        at: int | None = None,
        at_least: int | None = None,
    ) -> GrantPage:
        """The stored grants that match all filters, sorted by object, subject, privilege and effect.

        `on` and `to` are exact: grants on the places above `on`, and to the groups and roles of `to`, are not listed.
        Raises as `list`.
        """
        question = need_question(ListGrants, on=on, to=to, privilege=privilege, effect=effect)
        return lookup.grants(self, question, PageRequest(limit, after, at, at_least))

    @following
    def members(
        self,
        container: str,
        *,
        all: bool = False,
        limit: int = USUAL,
        after: str | None = None,
        at: int | None = None,
        at_least: int | None = None,
    ) -> MembershipPage:
        """The direct members of a group or role, in byte order; with `all` also those through other groups and roles.

        Raises as `list`.
        """
        question = need_question(ListMembers, container=container, all=all)
        return lookup.members(self, question, PageRequest(limit, after, at, at_least))

    @following
    def memberships(
        self,
        member: str,
        *,
        all: bool = False,
        limit: int = USUAL,
        after: str | None = None,
        at: int | None = None,
        at_least: int | None = None,
    ) -> MembershipPage:
        """The groups and roles that a subject belongs to directly; with `all` also through others. Raises as `list`."""
        question = need_question(ListMemberships, member=member, all=all)
        return lookup.memberships(self, question, PageRequest(limit, after, at, at_least))

    @following
    def can(
        self,
        subject: str,
        object: str,
        *,
        as_role: str | None = None,
        with_: Mapping[str, str] | None = None,
        at_least: int | None = None,
    ) -> Abilities:
        """Every privilege and operation of the policy on `object`, each with whether `subject` can use it.

        The subject can also be a group or a role: then the answers are those of a new user who belongs only to it. An
        operation that needs a second object has no answer unless `with_` names one. One round trip. Raises as `list`.
        """
        given = dict(with_) if isinstance(with_, Mapping) else {} if with_ is None else with_
        question = need_question(ListAbilities, subject=subject, object=object, as_role=as_role, with_=given)
        return abilities(self, question, at_least)
