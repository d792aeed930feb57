"""Explanations as data: typed paths are paths of the graph, and say the same as the paths in words."""

from itertools import pairwise

import pytest
from pydantic import ValidationError

from grantpath.engine import Authorizer, Decision, Explanation, GraphPath, PathEdge, PathNode, Revocation
from grantpath.graph.language.statement import Check

from ...conftest import Closing, Tenants
from ...support.graph_edges import edges_of
from ...support.random_world import random_checks
from ...support.sizes import size
from ...support.twin import POLICIES, SEED, Twin

pytestmark = pytest.mark.trust
FACTS, CHECKS = size(400, 120), size(200, 25)
TABLE = "table:c.s.t"
COMPANY = [
    *("add catalog:c", "add schema:c.s", f"add {TABLE}", "add role:a", "member user:u of role:a"),
    f"allow SELECT_TABLE on {TABLE} to role:a",
]


@pytest.fixture(scope="module", params=POLICIES)
def explained(request: pytest.FixtureRequest, module_tenant: Tenants) -> tuple[Twin, list[Explanation]]:
    """A random world, and explanations in it: the usual ones, and those of every deciding fact."""
    twin = Twin(module_tenant, request.param, f"{SEED}.typed", FACTS)
    found = []
    for subject, name, object_, with_, role in random_checks(twin.world, twin.rng, CHECKS):
        for every in (False, True):
            found.append(twin.graph.explain(subject, name, object_, with_=with_, as_role=role, all=every))
    return twin, found


def test_every_edge_of_a_typed_path_is_in_the_graph(
    explained: tuple[Twin, list[Explanation]], closing: Closing
) -> None:
    twin, explanations = explained
    edges = set(edges_of(twin.graph))
    paths = [path for each in explanations for path in each.typed_paths]
    assert [edge for path in paths for edge in path.edges if (edge.start, edge.label, edge.end) not in edges] == []
    assert paths
    closing(
        f"typed paths: {len(paths)} paths of {len(explanations)} explanations, with "
        f"{sum(len(path.edges) for path in paths)} edges, all of them in the graph"
    )


def test_edges_connect_neighbouring_nodes(explained: tuple[Twin, list[Explanation]]) -> None:
    _, explanations = explained
    for explanation in explanations:
        for path in explanation.typed_paths:
            assert path.nodes[0].ref == explanation.question.subject
            between = [{one.ref, other.ref} for one, other in pairwise(path.nodes)]
            assert [{edge.start, edge.end} for edge in path.edges] == between


def test_text_of_a_typed_path_is_the_path_in_words(explained: tuple[Twin, list[Explanation]]) -> None:
    _, explanations = explained
    for explanation in explanations:
        texts = [str(path) for path in explanation.typed_paths]
        assert explanation.paths == (texts or explanation.because)


def test_nodes_have_the_type_and_the_name_of_their_reference(explained: tuple[Twin, list[Explanation]]) -> None:
    twin, explanations = explained
    nodes = {node for each in explanations for path in each.typed_paths for node in path.nodes}
    for node in nodes:
        ref = twin.graph.policy.reference(node.ref, twin.graph.root)
        assert (node.type, node.name) == (ref.type, ref.segments[-1])
    assert len(nodes) > 2


def test_explanations_survive_json(explained: tuple[Twin, list[Explanation]]) -> None:
    _, explanations = explained
    for explanation in explanations:
        again = Explanation.model_validate_json(explanation.model_dump_json())
        assert again == explanation
        assert again.model_dump() == explanation.model_dump()


def test_decisions_survive_json(explained: tuple[Twin, list[Explanation]]) -> None:
    twin, explanations = explained
    for decision in twin.graph.check_many([each.question for each in explanations]):
        again = Decision.model_validate_json(decision.model_dump_json())
        assert again == decision
        assert (again.because, again.missing) == (decision.because, decision.missing)


def test_revocations_survive_json(explained: tuple[Twin, list[Explanation]]) -> None:
    twin, explanations = explained
    for question in [each.question for each in explanations][:5]:
        found = twin.graph.revocation(
            question.subject, question.name, question.object, with_=question.with_, as_role=question.as_role
        )
        assert found.question == question
        assert Revocation.model_validate_json(found.model_dump_json()) == found


@pytest.fixture(scope="module")
def company(module_tenant: Tenants) -> Authorizer:
    return module_tenant("lakehouse", COMPANY)


def test_typed_path_names_nodes_edges_and_privileges(company: Authorizer) -> None:
    [path] = company.explain("user:u", "SELECT_TABLE", TABLE).typed_paths
    assert path == GraphPath(
        nodes=(
            PathNode(ref="user:u", type="user", name="u"),
            PathNode(ref="role:a", type="role", name="a"),
            PathNode(ref=TABLE, type="table", name="t"),
        ),
        edges=(
            PathEdge(start="user:u", relationship="HAS_ROLE", end="role:a"),
            PathEdge(start="role:a", relationship="ALLOW", end=TABLE, privilege="SELECT_TABLE"),
        ),
    )
    assert [edge.effect for edge in path.edges] == [None, "ALLOW"]


def test_decision_contains_its_question(company: Authorizer) -> None:
    question = Check(subject="user:u", name="SELECT_TABLE", object=TABLE)
    assert company.check("user:u", "SELECT_TABLE", TABLE).question == question
    assert company.explain("user:u", "SELECT_TABLE", TABLE).question == question


def test_dump_of_a_decision_has_its_reasons(company: Authorizer) -> None:
    decision = company.check("user:u", "SELECT_TABLE", TABLE)
    assert decision.model_dump() == {
        "allowed": True,
        "revision": decision.revision,
        "question": {"subject": "user:u", "name": "SELECT_TABLE", "object": TABLE, "with_": {}, "as_role": None},
        "because": [f"role:a has ALLOW SELECT_TABLE on {TABLE}"],
        "missing": [],
        "ends_due": False,
    }


def test_schema_of_a_decision_describes_its_json(company: Authorizer) -> None:
    from jsonschema import validate

    decision = company.check("user:v", "SELECT_TABLE", TABLE)
    for mode in ("validation", "serialization"):
        schema = Decision.model_json_schema(mode=mode)
        validate(decision.model_dump(mode="json"), schema)
        assert set(schema["required"]) == {"allowed", "revision", "question", "because", "missing"}


def test_decision_of_an_explanation_is_that_of_the_check(company: Authorizer) -> None:
    explanation = company.explain("user:u", "SELECT_TABLE", TABLE)
    decision = company.check("user:u", "SELECT_TABLE", TABLE)
    assert isinstance(explanation, Decision) and explanation.decision == decision
    assert explanation.decision.model_dump() == decision.model_dump()


def test_decision_cannot_be_changed(company: Authorizer) -> None:
    decision = company.check("user:u", "SELECT_TABLE", TABLE)
    with pytest.raises(ValidationError, match="frozen"):
        decision.allowed = False
