"""Explanations and views of a past state are those that Cypher gave at that time."""

import random
from typing import Any

import pytest

from grantpath.engine import Authorizer, Explanation, GrantpathError
from grantpath.engine.inspection.models import EntityView
from grantpath.graph.language.statement import Check

from ...conftest import Closing, Tenants
from ...oracle import oracle
from ...support.random_world import ROOT_NAME, random_checks, random_statements, random_world
from ...support.sizes import size
from ...support.tiers import others_slow
from ...support.twin import POLICIES, SEED

pytestmark = pytest.mark.trust
CHANGES, EVERY = size(full=400, short=24), 8  # questions after each EVERY-th change
CHECKS, VIEWS = size(full=12, short=8), size(full=12, short=6)
PATHS = {"paths", "typed_paths"}


def explained(auth: Authorizer, asked: Check, every: bool, as_of: Any) -> Explanation:
    return auth.explain(
        asked.subject,
        asked.name,
        asked.object,
        with_=asked.with_,
        as_role=asked.as_role,
        all=every,
        as_of=as_of,
    )


def of_explanation(found: Explanation) -> tuple[object, ...]:
    """All that an explanation says. Of several shortest paths to one grant, either is right."""
    ends = [
        (
            len(path.nodes),
            path.nodes[0].ref,
            path.note,
            *((each.label, each.start, each.end) for each in path.edges[-1:]),
        )
        for path in found.typed_paths
    ]
    shown = sorted(map(repr, ends)) if ends else found.paths
    return found.model_dump(exclude=PATHS), shown


def of_view(view: EntityView) -> dict[str, Any]:
    """All that a view says. Of several shortest paths of memberships, each is right."""
    found = view.model_dump()
    for name in ("members", "memberships"):
        for each in found[name]["answer"]:
            each["path"] = len(each["path"])
    return found


@pytest.mark.parametrize("name", others_slow(POLICIES))
def test_past_explanations_and_views_are_those_of_cypher(tenant: Tenants, closing: Closing, name: str) -> None:
    rng = random.Random(f"past explanations {name} {SEED}")
    world, auth = oracle(name, ROOT_NAME), tenant(name, root=ROOT_NAME)
    for fact in random_world(name, rng, 100):
        assert world.given(fact) == "done"
        assert auth.given([fact]) == [None]
    kept: dict[int, tuple[list[tuple[Check, bool, object]], list[tuple[str, object]]]] = {}
    for at, (statement, by, as_role) in enumerate(random_statements(name, world, rng, CHANGES)):
        try:
            auth.change(statement, by=by, as_role=as_role)
        except GrantpathError:
            assert world.do(statement, by, as_role) != "done"
        else:
            world.do(statement, by, as_role)
        if at % EVERY == EVERY - 1:
            explanations: list[tuple[Check, bool, object]] = []
            views: list[tuple[str, object]] = []
            for subject, operation, on, with_, role in random_checks(world, rng, CHECKS):
                asked = Check(subject=subject, name=operation, object=on, with_=with_, as_role=role)
                every = rng.random() < 0.5
                explanations.append((asked, every, of_explanation(explained(auth, asked, every, None))))
            refs = sorted(str(ref) for ref in world.existing if not world.hidden(ref))
            for ref in rng.sample(refs, min(VIEWS, len(refs))):
                views.append((ref, of_view(auth.show(ref))))
            kept[auth.revision_now()] = explanations, views
    compared = 0
    for revision, (explanations, views) in kept.items():
        past = auth.past(revision)
        for asked, every, expected in explanations:
            assert of_explanation(explained(auth, asked, every, past)) == expected, (revision, asked, every)
        for ref, view in views:
            assert of_view(auth.show(ref, as_of=past)) == view, (revision, ref)
        compared += len(explanations) + len(views)
    closing(f"past explanations, {name}: {compared:,} at {len(kept)} revisions, 0 different from those of Cypher then")
    assert compared


def test_paths_to_an_object_outside_the_tree_end_at_the_grant(tenant: Tenants) -> None:
    auth = tenant("gravitino", ["add user:ann", "add user:bob", "add role:r"])
    auth.given([f"allow MANAGE_USERS on {auth.root} to role:r", "member user:ann of role:r"])
    now = auth.explain("user:ann", "remove_user", "user:bob", all=True)
    before = auth.past(auth.revision_now())
    auth.change("add user:cas")
    assert now.paths and auth.explain("user:ann", "remove_user", "user:bob", all=True, as_of=before) == now
