"""check_by_name.cypher, which reads the policy from the graph, decides as Authorizer.check does."""

import pytest

from grantpath import cypher
from grantpath.graph.language.statement import Check

from ..conftest import Closing, Tenants
from ..support.by_name import by_name, object_words
from ..support.random_proposals import Proposals
from ..support.sizes import size
from ..support.twin import POLICIES, Twin

pytestmark = pytest.mark.trust


@pytest.mark.parametrize("policy", POLICIES)
def test_check_by_name_agrees_with_python(module_tenant: Tenants, closing: Closing, policy: str) -> None:
    """Checks of random worlds until each operation and privilege of the policy was asked on each of its types."""
    twin = Twin(module_tenant, policy, "by name", 120)
    graph = twin.graph
    proposals = Proposals(twin.world, twin.rng)
    named = [(type_, *each) for type_ in twin.world.types for each in twin.world.names_on(type_)]
    asked = [check for each in named for _ in range(size(20, 1)) if (check := _some_check(twin, proposals, *each))]
    different = []
    decisions = graph.check_many(asked)
    for each, decision in zip(asked, decisions, strict=True):
        row = by_name(graph, "check_by_name", each.subject, each.name, each.object, each.with_, each.as_role)
        reasoned = decision.allowed is bool(row["because"]) or "every user is allowed" in str(decision.because)
        if row["allowed"] is not decision.allowed or (decision.allowed and not reasoned):
            different.append(f"{each}: {decision.allowed}, by name {dict(row)}")
    names = {(each.name, each.object.partition(":")[0]) for each in asked}
    yes = sum(decision.allowed for decision in decisions)
    closing(f"by name, {policy}: {len(asked)} checks of {len(names)} names, {yes} yes, {len(different)} different")
    assert different == []
    assert names == {(name, type_) for type_, name, _ in named}


def _some_check(twin: Twin, proposals: Proposals, type_: str, name: str, keys: dict[str, str]) -> Check | None:
    """A check of that name; in half of the cases an allowed one, if a few tries find one."""
    wanted, found = twin.rng.random() < 0.5, None
    for _ in range(12):
        found = proposals.check(type_, name, keys) or found
        if found and twin.world.check(*found) == wanted:
            break
    if found is None:
        return None
    subject, name, on, with_, role = found
    return Check(subject=subject, name=name, object=on, with_=with_, as_role=role)


GITHUB = [
    *(
        "add org:acme",
        "add repository:acme.web",
        "add repository:acme.api",
        "add org:other",
        "add repository:other.web",
    ),
    *("add user:reader", "add user:owner", "add user:stranger", "add group:writers", "add group:inner"),
    *("member user:owner of group:inner", "member group:inner of group:writers"),
    *("allow READ on repository:acme.web to user:reader", "allow WRITE on org:acme to group:writers"),
    "allow ADMIN on repository:acme.api to user:owner",
]


def test_check_by_name_agrees_with_python_on_a_user_written_policy(module_tenant: Tenants) -> None:
    """Every question that can be asked, of each user about each object; the policy has no oracle."""
    graph = module_tenant("github", GITHUB)
    model, answers = graph.policy, set[bool]()
    objects = [each.split()[1] for each in GITHUB if each.startswith(("add org", "add repository"))]
    for on in objects:
        for name in model.names_on(on.partition(":")[0]):
            for user in ("user:reader", "user:owner", "user:stranger"):
                python = graph.check(user, name, on).allowed
                assert by_name(graph, "check_by_name", user, name, on)["allowed"] is python, (user, name, on)
                answers.add(python)
    assert answers == {True, False}


def test_queries_by_name_refuse_questions_about_types_in_themselves(module_tenant: Tenants) -> None:
    graph = module_tenant("lakehouse_nested", ["add catalog:c", "add schema:c.s", "add table:c.s.t", "add user:bob"])
    why = "load_table depends on the number of segments of a name; ask `grantpath {}`"
    for query in ("check_by_name", "explain_by_name", "remedy_by_name"):
        reason = by_name(graph, query, "user:bob", "load_table", "table:c.s.t")["reason"]
        assert reason == why.format("check` or `grantpath explain")
    on, type_ = object_words(graph, "table:c.s.t"), object_words(graph, "table")
    for query, words in (("who_by_name", {"object": on}), ("which_by_name", {"subject": "user:bob", "type": type_})):
        [row] = cypher.load(query).run(graph.store.read, operation="load_table", **words)
        assert (row["answer"], row["reason"]) == (None, why.format(query.removesuffix("_by_name")))
