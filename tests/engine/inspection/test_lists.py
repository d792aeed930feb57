"""Lists, grants and memberships: equal to what the facts of random tenants say, page by page."""

import random
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from grantpath.engine import Authorizer, PageExpired
from grantpath.engine.inspection.models import EntityPage, GrantPage, Membership, MembershipPage
from grantpath.engine.policy.policy import Policy
from grantpath.engine.tenants.tenant_state import TenantState, read_state

from ...conftest import Tenants
from ...support.random_world import ROOT_NAME, random_world
from ...support.sizes import size
from ...support.twin import POLICIES, SEED

pytestmark = pytest.mark.trust
FACTS = size(400, 160)
Page = EntityPage | GrantPage | MembershipPage
Edges = dict[str, set[str]]  # by reference: the references at the other ends


class World:
    """A random tenant, and its facts as plain sets."""

    def __init__(self, tenants: Tenants, policy: str) -> None:
        self.rng = random.Random(f"inspection {policy} {SEED}")
        self.auth: Authorizer = tenants(policy, random_world(policy, self.rng, FACTS), root=ROOT_NAME)
        self.state: TenantState = read_state(policy, self.auth)
        self.policy: Policy = self.auth.policy
        hidden = set(self.policy.hidden)
        self.entities = {each.ref: each for each in self.state.entities if each.ref not in hidden}
        self.existing = sorted((ref for ref, each in self.entities.items() if each.exists), key=str.encode)
        shown = [each for each in self.state.edges if not {each.source, each.target} & hidden]
        self.grants = sorted(
            (each.target, each.source, each.privilege or "", each.kind)
            for each in shown
            if each.kind in ("ALLOW", "DENY")
        )
        self.owner = {each.target: each.source for each in shown if each.kind == "OWNS"}
        self.tags = {(each.source, each.target) for each in shown if each.kind == "TAGGED"}
        self.up: Edges = {}
        self.down: Edges = {}
        for each in shown:
            if each.kind in ("MEMBER_OF", "HAS_ROLE"):
                self.up.setdefault(each.source, set()).add(each.target)
                self.down.setdefault(each.target, set()).add(each.source)

    def of_type(self, type_: str) -> list[str]:
        return [ref for ref in self.existing if self.entities[ref].type == type_]

    def above(self, ref: str) -> list[str]:
        """The places above an entity, the nearest first."""
        return [
            each.text
            for _, each in self.policy.chain(self.auth.policy.reference(ref, self.auth.root), self.auth.root)[1:]
        ]

    def subjects(self, count: int) -> list[str]:
        all_ = [ref for ref in self.existing if self.entities[ref].type in self.policy.names.subject_types]
        return self.rng.sample(all_, min(count, len(all_)))


@pytest.fixture(scope="module")
def worlds(module_tenant: Tenants) -> Callable[[str], World]:
    """The random tenant of a policy; it is made when the first test needs it."""
    made: dict[str, World] = {}

    def world(policy: str) -> World:
        if policy not in made:
            made[policy] = World(module_tenant, policy)
        return made[policy]

    return world


Worlds = Callable[[str], World]


def distances(edges: Edges, start: str) -> dict[str, int]:
    """The length of the shortest path to each reference that can be reached, by breadth-first search."""
    found, border = {start: 0}, [start]
    while border:
        border = sorted({each for one in border for each in edges.get(one, ())} - found.keys())
        found |= dict.fromkeys(border, max(found.values()) + 1)
    del found[start]
    return found


def all_pages(read: Callable[..., Page], limit: int) -> list[object]:
    """The entries of all pages of a list; all pages must be of one revision, and full except the last one."""
    page = read(limit=limit)
    found = [*page.answer]
    while not page.complete:
        assert len(page.answer) == limit
        page = read(limit=limit, after=page.after, at=page.revision)
        found += page.answer
    assert page.after is None
    return found


@pytest.mark.parametrize("policy", POLICIES)
def test_list_has_the_existing_entities_that_match(worlds: Worlds, policy: str) -> None:
    world = worlds(policy)
    auth, filtered = world.auth, 0
    for type_ in world.policy.file.types:
        expected = world.of_type(type_)
        assert all_pages(lambda **page: auth.list(type_, **page), 7) == expected  # noqa: B023
        if not expected:
            continue
        place = world.rng.choice([*world.above(world.rng.choice(expected)), auth.root.text])
        inside = [ref for ref in expected if place in world.above(ref)]
        assert list(auth.list(type_, under=place).answer) == inside
        text = expected[0].partition(":")[2][:2]
        like = [ref for ref in expected if text.lower() in ref.partition(":")[2].lower()]
        assert list(auth.list(type_, like=text.upper() if text.isascii() else text).answer) == like
        if world.policy.file.types[type_].owned_by:
            ownerless = [ref for ref in inside if ref not in world.owner]
            assert list(auth.list(type_, under=place, without_owner=True).answer) == ownerless
            for owner in sorted({world.owner[ref] for ref in expected if ref in world.owner}):
                owned = [ref for ref in expected if world.owner.get(ref) == owner]
                assert list(auth.list(type_, owned_by=owner).answer) == owned
                assert list(auth.list(type_, owned_by=owner, under=place).answer) == [
                    ref for ref in owned if place in world.above(ref)
                ]
                filtered += len(owned)
    assert filtered or policy in ("onehouse", "cdap", "cdap_design")


@pytest.mark.parametrize("policy", POLICIES)
def test_grants_are_those_of_the_graph(worlds: Worlds, policy: str) -> None:
    world = worlds(policy)
    assert len(world.grants) > 10

    def shown(page: GrantPage) -> list[tuple[str, ...]]:
        assert page.complete
        return [(each.object, each.subject, each.privilege, each.effect) for each in page.answer]

    for limit in (1, 5, 10_000):
        found = all_pages(world.auth.grants, limit)
        assert [(each.object, each.subject, each.privilege, each.effect) for each in found] == world.grants  # type: ignore[attr-defined]
    for object_, subject, privilege, effect in world.rng.sample(world.grants, 8):
        one = (object_, subject, privilege, effect)
        assert effect in ("ALLOW", "DENY")
        for places in ({0}, {1}, {2}, {3}, {0, 1}, {1, 2}, {0, 3}, {0, 1, 2, 3}):
            names = dict(zip(("on", "to", "privilege", "effect"), one, strict=True))
            words = {name: word for at, (name, word) in enumerate(names.items()) if at in places}
            expected = [each for each in world.grants if all(each[at] == one[at] for at in places)]
            assert shown(world.auth.grants(**words)) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize("policy", POLICIES)
def test_memberships_are_those_of_the_graph_with_shortest_paths(worlds: Worlds, policy: str) -> None:
    world, through = worlds(policy), 0
    for ref in [*world.subjects(15), *sorted(world.down, key=lambda each: -len(world.down[each]))[:5]]:
        for edges, read, end in ((world.down, world.auth.members, 0), (world.up, world.auth.memberships, -1)):
            direct, reached = edges.get(ref, set()), distances(edges, ref)
            found = all_pages(lambda **page: read(ref, **page), 3)  # noqa: B023
            assert [each.path[end] for each in found] == sorted(direct, key=str.encode)  # type: ignore[attr-defined]
            every = all_pages(lambda **page: read(ref, all=True, **page), 3)  # noqa: B023
            assert [each.path[end] for each in every] == sorted(reached, key=str.encode)  # type: ignore[attr-defined]
            for each in every:
                assert isinstance(each, Membership)
                assert (each.member, each.container) == (each.path[0], each.path[-1])
                assert len(each.path) - 1 == reached[each.path[end]]
                assert each.direct == (each.path[end] in direct)
                steps = zip(each.path, each.path[1:], strict=False)
                assert all(above in world.up[below] for below, above in steps)
                through += not each.direct
    assert through or policy == "gravitino"


@pytest.mark.parametrize("policy", POLICIES)
def test_show_has_the_surroundings_of_an_entity(worlds: Worlds, policy: str) -> None:
    world = worlds(policy)
    chosen = [*world.subjects(6), *world.rng.sample(world.existing, 10), world.auth.root.text]
    for ref in chosen:
        view = world.auth.show(ref)
        entity = world.entities[ref]
        assert (view.ref, view.type, view.exists, view.builtin) == (ref, entity.type, entity.exists, entity.builtin)
        assert list(view.parents) == world.above(ref)
        inside = Counter(world.entities[each].type for each in world.existing if world.above(each)[:1] == [ref])
        assert view.children == inside  # users and groups count as inside the root, as `parents` says
        assert view.owner == world.owner.get(ref)
        on, to = [each for each in world.grants if each[0] == ref], [each for each in world.grants if each[1] == ref]
        assert view.counts.model_dump() == {
            "members": len(world.down.get(ref, ())),
            "memberships": len(world.up.get(ref, ())),
            "grants_on": len(on),
            "grants_to": len(to),
            "owns": sum(owner == ref for owner in world.owner.values()),
            "tags": sum(tagged == ref for tagged, _ in world.tags),
            "tagged": sum(tag == ref for _, tag in world.tags),
        }
        assert view.tags == tuple(sorted(tag for tagged, tag in world.tags if tagged == ref))
        assert view.tagged == tuple(sorted(tagged for tagged, tag in world.tags if tag == ref))
        for page, grants in ((view.grants_on, on), (view.grants_to, to)):
            assert [(each.object, each.subject, each.privilege, each.effect) for each in page.answer] == grants[:50]
            assert page.complete is (len(grants) <= 50)
        assert {each.member for each in view.members.answer} == distances(world.down, ref).keys()
        assert {each.container for each in view.memberships.answer} == distances(world.up, ref).keys()
        pages = (view.members, view.memberships, view.grants_on, view.grants_to)
        assert {view.revision} == {page.revision for page in pages}
        assert type(view).model_validate_json(view.model_dump_json()) == view


def test_pages_of_another_revision_are_refused(tenant: Tenants) -> None:
    auth = tenant("lakehouse", ["add catalog:a", "add catalog:b"])
    first = auth.list("catalog", limit=1)
    assert (first.answer, first.complete, first.after) == (("catalog:a",), False, "catalog:a")
    auth.change("add catalog:c")
    with pytest.raises(PageExpired, match="read the list again from its first page"):
        auth.list("catalog", limit=1, after="catalog:a", at=first.revision)
    assert auth.list("catalog", after="catalog:a").answer == ("catalog:b", "catalog:c")


def test_show_is_of_one_revision_although_a_change_comes_between(
    tenant: Tenants, monkeypatch: pytest.MonkeyPatch
) -> None:
    auth = tenant("lakehouse", ["add role:r", "add user:b", "member user:a of role:r"])
    ask, changes = Authorizer.ask, ["member user:b of role:r"]

    def between(self: Authorizer, query: str, **parameters: Any) -> Mapping[str, Any]:
        if query == "list_members" and changes:
            auth.change(changes.pop())
        return ask(self, query, **parameters)

    monkeypatch.setattr(Authorizer, "ask", between)
    view = auth.show("role:r")
    assert not changes
    assert (view.counts.members, len(view.members.answer)) == (2, 2)
    assert {view.members.revision, view.grants_to.revision} == {view.revision} == {auth.revision_now()}
