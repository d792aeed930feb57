"""Chooses the query that answers a who or which question, and builds its parameters."""

from typing import Any

from grantpath.engine.answers.request import ResolvedQuestion, below_parameters, every_parameters, place_parameters
from grantpath.engine.policy.clauses import texts
from grantpath.engine.policy.facts import place_type, second_object
from grantpath.engine.policy.policy import Policy
from grantpath.graph.language.reference import Reference


def list_query(
    policy: Policy, root: Reference, question: ResolvedQuestion, length: int | None = None
) -> tuple[str, dict[str, Any]]:
    """The name of the query, and its parameters without `root`, `after` and `limit`. With `length`, only objects whose
    references have so many segments are in the answer to `which`.

    which_below.cypher is which.cypher with the facts about descendants of a place, and with `length`. Few clauses need
    these.
    """
    if question.object is not None:
        return "who", _who_parameters(policy, question)
    plan, parameters = question.requirement.plan, _which_parameters(policy, root, question)
    if not plan.inside and not policy.names.varies(question.requirement.type):
        return "which", parameters
    builtin = parameters.pop("builtin")
    return "which_below", {
        **parameters,
        "builtin_types": builtin,
        "below": bool(plan.below),
        "every": [
            {**every_parameters(fact), "name": fact.place, "type": place_type(fact.place)} for fact in plan.every
        ],
        "nested": sorted(policy.names.repeated),
        "length": length,
    }


def _who_parameters(policy: Policy, question: ResolvedQuestion) -> dict[str, Any]:
    plan = question.requirement.plan
    return {
        "needed": question.needed,
        "places": place_parameters(question.places, plan),
        "clauses": plan.parameters,
        "facts": texts(plan.facts),
        "users": question.listed,
        "acting": policy.role_types if question.one_role else question.listed,
        "one_role": question.one_role,
        "without_facts": plan.allows_without_facts,
        **below_parameters(question.places, plan),
    }


def _which_parameters(policy: Policy, root: Reference, question: ResolvedQuestion) -> dict[str, Any]:
    assert question.subject is not None, "`which` has a subject"
    plan, type_ = question.requirement.plan, question.requirement.type
    shared = {at: ref for at, ref in question.places.items() if ref == root or second_object(at)}
    up, facts = question.requirement.up, texts(plan.facts)
    return {
        "needed": question.needed,
        "subject": question.subject.text,
        "one_role": question.one_role,
        "as_role": question.as_role,
        "type": type_,
        "top": root.text,
        "places": place_parameters(shared, plan),
        "given": [f"EXISTS {each}" for each in up],
        "builtin": [place_type(each) for each in up if f"BUILTIN {each}" in facts],
        "clauses": plan.parameters,
        "facts": facts,
    }
