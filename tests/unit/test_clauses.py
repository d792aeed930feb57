"""Clauses: explanations and the kernel follow the same rule, and simplifications keep the meaning."""

from itertools import chain

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from grantpath.engine.answers.evaluation import winning
from grantpath.engine.facts.kernel.folding import fold
from grantpath.engine.facts.kernel.intervals import CompiledCondition, Events, IntervalRows
from grantpath.engine.policy.clauses import ALWAYS, NEVER, Atom, Clauses, both, either, facts_of
from grantpath.engine.policy.facts import ALL, Fact

TEXTS = ["ALLOW P table", "DENY P table", "ALLOW P schema", "DENY P schema", "OWNS table", "HOLDS =role:x", "IS user"]
TEXTS += ["EXISTS table", "BUILTIN role", "ALLOW P table below schema"]
FACTS = [*map(Fact.parse, TEXTS)]
EVERY = Fact.parse("EVERY P table below schema")
CODES = {fact: code for code, fact in enumerate([ALL, *FACTS, EVERY])}
some_facts = st.lists(st.sampled_from(FACTS), min_size=1, max_size=3, unique=True).map(tuple)
atoms = st.builds(Atom, some_facts, st.just(()) | some_facts)
terms = st.lists(atoms, min_size=1, max_size=3).map(tuple)
conditions = st.lists(st.lists(terms, min_size=1, max_size=3).map(tuple), max_size=3).map(tuple)
true_facts = st.sets(st.sampled_from(FACTS))


def allows(clauses: Clauses, true: set[Fact]) -> bool:
    """The rule, computed with the method of the atoms."""
    return any(all(any(one.holds(true) for one in term) for term in clause) for clause in clauses)


def by_kernel(clauses: Clauses, worlds: list[set[Fact]]) -> list[bool]:
    """For each world, whether the kernel finds the condition true; a world is a row with one position."""
    pairs = [(at, CODES[fact]) for at, true in enumerate(worlds) for fact in (*true, ALL)]
    row, code = np.array([at for at, _ in pairs], np.int64), np.array([code for _, code in pairs], np.int64)
    nothing = np.zeros(len(pairs), np.int64)
    found = CompiledCondition.of(clauses, CODES, len(CODES)).solve(
        Events(IntervalRows(row, code, nothing, nothing), 1, len(CODES))
    )
    assert not found.start.any() and not found.last.any()
    return [at in found.row for at in range(len(worlds))]


@settings(max_examples=300, deadline=None)
@given(conditions, st.lists(true_facts, min_size=1, max_size=8))
def test_explanations_and_the_kernel_follow_one_rule(clauses: Clauses, worlds: list[set[Fact]]) -> None:
    expected = [allows(clauses, true) for true in worlds]
    assert by_kernel(clauses, worlds) == expected
    for true, allowed in zip(worlds, expected, strict=True):
        reasons = winning(clauses, {fact: ["user:u"] for fact in true})
        assert bool(reasons) is allowed and set(reasons) <= true
        assert set(reasons) <= set(facts_of(clauses))


@settings(max_examples=200, deadline=None)
@given(conditions, true_facts, st.sets(st.sampled_from(FACTS)))
def test_known_facts_can_be_substituted_first(clauses: Clauses, true: set[Fact], known: set[Fact]) -> None:
    folded = fold(clauses, {fact: fact in true for fact in known})
    assert allows(folded, {*true, ALL}) is allows(clauses, true)
    assert not known & set(facts_of(folded))
    assert by_kernel(folded, [true]) == [allows(clauses, true)]


def test_condition_on_everything_below_remains_unless_known_to_be_true() -> None:
    asked = (((Atom((EVERY,)),),),)
    assert fold(asked, {EVERY: False}) == asked
    assert fold(asked, {EVERY: True}) == (((Atom((ALL,)),),),)


@settings(max_examples=300, deadline=None)
@given(st.lists(conditions, max_size=3), true_facts)
def test_minimising_and_and_or_keeps_the_meaning(parts: list[Clauses], true: set[Fact]) -> None:
    assert allows(either(parts), true) is any(allows(part, true) for part in parts)
    if len(list(chain(*parts))) <= 6:
        assert allows(both(parts), true) is all(allows(part, true) for part in parts)
    assert (either([]), both([])) == (NEVER, ALWAYS)
