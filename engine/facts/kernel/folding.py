"""Simplifies the clauses of a question by facts whose values do not depend on the subject."""

from collections.abc import Mapping

from grantpath.engine.policy.clauses import Atom, Clause, Clauses, Term
from grantpath.engine.policy.facts import ALL, Fact, FactKind

TRUE: Clause = ((Atom((ALL,)),),)


def fold(clauses: Clauses, known: Mapping[Fact, bool]) -> Clauses:
    """The clauses, simplified by known facts. A false `EVERY` is kept, because a subject's grants can make it true."""
    return tuple(folded for clause in clauses if (folded := _fold_clause(clause, known)) is not None)


def _fold_clause(clause: Clause, known: Mapping[Fact, bool]) -> Clause | None:
    terms = [_fold_term(term, known) for term in clause]
    if not all(terms):
        return None
    kept = tuple(term for term in terms if TRUE[0][0] not in term)
    return kept or TRUE


def _fold_term(term: Term, known: Mapping[Fact, bool]) -> Term:
    folded = []
    for atom in term:
        if any(known.get(fact) for fact in atom.none):
            continue
        none = tuple(fact for fact in atom.none if fact not in known or fact.kind is FactKind.EVERY_BELOW)
        if any(known.get(fact) for fact in atom.any):
            folded.append(Atom((ALL,), none))
        elif any_ := tuple(fact for fact in atom.any if fact not in known or fact.kind is FactKind.EVERY_BELOW):
            folded.append(Atom(any_, none))
    return tuple(folded)
