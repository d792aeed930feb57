"""A question reduced to some of its places allows only subjects that the whole question allows."""

from hypothesis import given, settings
from hypothesis import strategies as st

from grantpath.engine.policy.clauses import Atom, Clauses
from grantpath.engine.policy.fact_plan import FactPlan
from grantpath.engine.policy.facts import Fact

PLACES = ["table", "schema", "metalake"]
TEXTS = [
    *(f"{effect} SELECT {place}" for effect in ("ALLOW", "DENY") for place in PLACES),
    *(f"OWNS {place}" for place in PLACES),
    *("EXISTS table", "HOLDS =role:all", "ALLOW SELECT table below schema", "EVERY SELECT table below schema"),
]
FACTS = [*map(Fact.parse, TEXTS)]
some_facts = st.lists(st.sampled_from(FACTS), min_size=1, max_size=3, unique=True).map(tuple)
atoms = st.builds(Atom, some_facts, st.one_of(st.just(()), some_facts))
terms = st.lists(atoms, min_size=1, max_size=3).map(tuple)
clauses = st.lists(st.lists(terms, max_size=3).map(tuple), max_size=3).map(tuple)


def atom(any_: list[str], none: list[str] | None = None) -> Atom:
    return Atom(tuple(map(Fact.parse, any_)), tuple(map(Fact.parse, none or [])))


def holds(question: Clauses, facts: set[Fact]) -> bool:
    """Any clause, all its terms, any atom of a term: at least one fact of `any` exists, and none of `none`."""
    return any(
        all(any(facts & set(atom.any) and not facts & set(atom.none) for atom in term) for term in clause)
        for clause in question
    )


@settings(max_examples=500, deadline=None)
@given(clauses, st.sets(st.sampled_from(PLACES)), st.sets(st.sampled_from(FACTS)))
def test_reduced_question_allows_no_more_than_the_whole(question: Clauses, away: set[str], facts: set[Fact]) -> None:
    left = FactPlan(question).without(away)
    assert not away & left.places and not left.below and not left.every
    if holds(left.clauses, facts):
        assert holds(question, facts)


def test_omitting_a_place_of_a_deny_also_omits_its_allow() -> None:
    everywhere = atom(["ALLOW SELECT table", "ALLOW SELECT schema"], ["DENY SELECT table", "DENY SELECT schema"])
    above, owner = atom(["ALLOW MANAGE schema"], ["DENY MANAGE schema"]), atom(["OWNS table"])
    plan = FactPlan((((everywhere, above, owner),), ((owner,), (above,))))
    assert plan.without({"table"}).clauses == (((above,),),)
    assert plan.without({"schema"}).clauses == (((owner,),),)
    assert plan.without(set()).clauses == plan.clauses
    assert FactPlan(((),)).without({"table"}).clauses == ((),)  # a condition that is always true stays true
