"""privilege.cypher agrees with `check` for every privilege that is one atom, in all policies, on random tenants."""

import random
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest

from grantpath import cypher
from grantpath.engine import Authorizer, Unknown
from grantpath.engine.policy import policy as policies
from grantpath.engine.policy.facts import FactKind, of_tag
from grantpath.engine.policy.policy import Policy
from grantpath.graph.language.statement import Check

from ..conftest import Closing, Tenants
from ..oracle import Oracle
from ..support.random_proposals import Proposals
from ..support.sizes import size
from ..support.twin import POLICIES, SEED, Twin

pytestmark = pytest.mark.trust

QUESTIONS = size(full=2_000, short=100)  # in each policy
# How many pairs of a privilege and a type are one atom. In deltastream a role must suffice alone.
COUNTS = {
    "gravitino": 66,
    "lakehouse": 66,
    "deltastream": 0,
    "onehouse": 7,
    "cdap": 33,
    "cdap_design": 35,
    "github": 10,
}
GITHUB = [
    *("add user:ann", "add user:bob", "add user:eve", "add group:core", "add group:api", "add org:o"),
    *("member group:api of group:core", "member user:ann of group:api", "member user:bob of group:core"),
    *("add repository:o.lib", "add repository:o.app", "allow WRITE on repository:o.lib to group:core"),
    *("allow ADMIN on repository:o.app to user:ann", "allow READ on org:o to user:eve"),
]
Asked = dict[tuple[str, str], dict[str, list[str]]]  # by privilege and type, the parameters that the policy gives


def readable(policy: Policy) -> Asked:
    """The privileges that are one atom of grants, with the types on which they are asked."""
    found: Asked = {}
    for type_ in policy.file.types:
        for name in filter(str.isupper, policy.names_on(type_)):
            question = policy.question(name, type_)
            match question.clauses:
                case (((atom,),),) if not question.one_role and {fact.kind for fact in atom.any} == {FactKind.ALLOW}:
                    own = [fact for fact in atom.any if not fact.of_tag]
                    privileges = sorted({privilege for fact in own for privilege in fact.privileges})
                    places = sorted({fact.place for fact in own})
                    granted, found_own = {str(fact) for fact in atom.any}, {str(fact) for fact in own}
                    assert found_own == {f"ALLOW {each} {at}" for each, at in product(privileges, places)}, granted
                    places += sorted({of_tag(fact.privileges[0])[1] for fact in atom.any} - {""})
                    denied = {str(fact) for fact in atom.none}
                    assert denied in (set(), {each.replace("ALLOW", "DENY", 1) for each in granted}), denied
                    found[name, type_] = {"privileges": privileges, "places": places}
    return found


def ask(graph: Authorizer, asked: Asked, check: Check) -> bool:
    """The decision of privilege.cypher, after a check that its paths lead to it."""
    parameters = asked[check.name, graph.policy.reference(check.object, graph.root).type]
    rows = cypher.load("privilege").run(
        lambda text, given: graph.store.transaction(lambda tx: [list(row.values()) for row in tx.run(text, given)]),
        root=graph.tenant,
        subject=check.subject,
        object=check.object,
        **parameters,
    )
    [(allowed, ways)] = rows
    effects = set()
    for membership, granted, tree in ways:
        assert membership.start_node["ref"] == check.subject and membership.end_node == granted.start_node
        assert tree.start_node["ref"] == check.object and tree.end_node == granted.end_node
        [grant] = granted.relationships
        assert grant["privilege"] in parameters["privileges"] and tree.end_node["type"] in parameters["places"]
        effects.add(grant.type)
    assert allowed == (effects == {"ALLOW"})
    return bool(allowed)


def differences(graph: Authorizer, asked: Asked, checks: Sequence[Check]) -> tuple[int, list[str]]:
    """The number of allowed checks, and those that privilege.cypher decides differently."""
    decided = [each.allowed for each in graph.check_many(checks)]
    wrong = [
        f"{check}: check says {allowed}"
        for check, allowed in zip(checks, decided, strict=True)
        if ask(graph, asked, check) != allowed
    ]
    return sum(decided), wrong


def random_questions(world: Oracle, asked: Asked, rng: random.Random, count: int) -> list[Check]:
    """Random checks, half of them allowed if a few tries find allowed ones."""
    proposals, found = Proposals(world, rng), list[Check]()
    pairs = list(asked)
    while len(found) < count:
        (name, type_), wanted = rng.choice(pairs), rng.random() < 0.5
        proposed = [each for _ in range(12) if (each := proposals.check(type_, name, {}))]
        fitting = [each for each in proposed if world.check(*each) == wanted]
        for subject, _, object_, _, _ in (fitting or proposed)[:1]:
            found.append(Check(subject=subject, name=name, object=object_))
    return found


@pytest.mark.parametrize("name", COUNTS)
def test_single_atom_privilege_has_the_form_of_the_query(name: str) -> None:
    assert len(readable(policies.load(name))) == COUNTS[name]


@pytest.mark.parametrize("name", [name for name in POLICIES if COUNTS[name]])
def test_privilege_query_agrees_with_check(tenant: Tenants, closing: Closing, name: str) -> None:
    twin = Twin(tenant, name, f"{SEED}.privilege", 250)
    asked = readable(twin.graph.policy)
    checks = random_questions(twin.world, asked, twin.rng, QUESTIONS)
    entities = twin.graph.ask("tenant_state")["entities"]
    there = [each["ref"] for each in entities]
    for name_ in [each["ref"] for each in entities if not each["exists"]]:  # grants on names that were never created
        checks += _about(asked, twin.graph, there, name_)
    allowed, wrong = differences(twin.graph, asked, checks)
    closing(f"privilege.cypher, {name}: {len(checks)} questions, {allowed} allowed, {len(wrong)} decided otherwise")
    assert not wrong, "\n".join(wrong)
    assert len(checks) // 10 < allowed < len(checks)


def _about(asked: Asked, graph: Authorizer, there: list[str], name: str) -> list[Check]:
    type_ = graph.policy.reference(name, graph.root).type
    users = [ref for ref in there if ref.startswith("user:")]
    pairs = [(user, each) for user in users for each, of in asked if of == type_]
    return [Check(subject=user, name=each, object=name) for user, each in pairs[:: max(1, len(pairs) // 20)]]


def test_implied_privilege_is_in_effect_where_granted(tenant: Tenants) -> None:
    graph = tenant("github", GITHUB, root="main")
    asked = readable(graph.policy)
    objects = {"repository": ["repository:o.lib", "repository:o.app"], "org": ["org:o"]}
    checks = [
        Check(subject=user, name=name, object=ref)
        for name, type_ in asked
        for ref in objects[type_]
        for user in ("user:ann", "user:bob", "user:eve", "user:none")
    ]
    allowed, wrong = differences(graph, asked, checks)
    assert not wrong, "\n".join(wrong)
    assert 10 < allowed < len(checks)


def test_missing_entity_is_not_allowed(tenant: Tenants) -> None:
    """Both refuse a missing subject. For a missing object, `check` raises and the query answers no."""
    facts = [
        "add catalog:hr",
        "add role:r",
        "member user:bob of role:r",
        "allow USE_CATALOG on metalake:main to role:r",
    ]
    graph = tenant("lakehouse", facts, root="main")
    asked = readable(graph.policy)
    on_nothing = Check(subject="user:bob", name="USE_CATALOG", object="catalog:none")
    assert ask(graph, asked, Check(subject="user:bob", name="USE_CATALOG", object="catalog:hr"))
    for subject in ("user:none", "role:none"):
        check = Check(subject=subject, name="USE_CATALOG", object="catalog:hr")
        assert not ask(graph, asked, check)
    assert not graph.check("user:none", "USE_CATALOG", "catalog:hr")
    with pytest.raises(Unknown):
        graph.check("user:bob", "USE_CATALOG", "catalog:none")
    assert not ask(graph, asked, on_nothing)
    bob = {"root": graph.tenant, "ref": "user:bob"}
    graph.store.execute("MATCH (name:Entity {root: $root, ref: $ref}) SET name.exists = false", bob)
    assert not ask(graph, asked, Check(subject="user:bob", name="USE_CATALOG", object="catalog:hr"))
    assert not graph.check("user:bob", "USE_CATALOG", "catalog:hr")
    graph.store.execute("MATCH (name:Entity {root: $root, ref: $ref}) SET name.exists = null", bob)
    assert ask(graph, asked, Check(subject="user:bob", name="USE_CATALOG", object="catalog:hr"))
    graph.change("drop role:r")
    assert not ask(graph, asked, Check(subject="user:bob", name="USE_CATALOG", object="catalog:hr"))


def test_deny_at_any_place_overrides_every_allow(tenant: Tenants) -> None:
    facts = ["add catalog:hr", "add role:r", "add role:s", "member user:bob of role:r", "member role:r of role:s"]
    graph = tenant("lakehouse", [*facts, "allow USE_CATALOG on catalog:hr to user:bob"], root="main")
    asked, check = readable(graph.policy), Check(subject="user:bob", name="USE_CATALOG", object="catalog:hr")
    for place, grantee in product(("metalake:main", "catalog:hr"), ("user:bob", "role:r", "role:s")):
        assert ask(graph, asked, check) and graph.check(check.subject, check.name, check.object)
        grant = f"USE_CATALOG on {place} to {grantee}"
        graph.change(f"deny {grant}")
        assert not ask(graph, asked, check) and not graph.check(check.subject, check.name, check.object)
        graph.change(f"revoke deny {grant}".replace(" to ", " from "))


def test_query_is_short_and_shown_in_the_readme() -> None:
    body = [line for line in cypher.load("privilege").text.splitlines() if line[:3] != "// " or line[3].isdigit()]
    assert len(body) < 12
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    assert "```cypher\n" + "\n".join(body) + "\n```" in readme
