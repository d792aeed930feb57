"""Literal mutants of affected_facts.cypher."""

from .literals import Mutant

_EDGES = "[edge:MEMBER_OF|HAS_ROLE|OWNS|ALLOW|DENY]"

DELTAS = [
    Mutant("nothing inside", "affected_facts", "-[:CHILD_OF*0..]->", "-[:CHILD_OF*0..0]->"),
    Mutant(
        "another tenant's tree",
        "affected_facts",
        "->(:Entity {root: $root, ref: scope.object})",
        "->(:Entity {ref: scope.object})",
    ),
    Mutant(
        "another tenant's entity",
        "affected_facts",
        "(inner:Entity {root: $root, ref: scope.object})",
        "(inner:Entity {ref: scope.object})",
    ),
    Mutant(
        "every tenant",
        "affected_facts",
        "(inner:Entity {root: $root}) WHERE inner.ref >= ''",
        "(inner:Entity) WHERE inner.ref >= ''",
    ),
    Mutant("names are entities", "affected_facts", "WITH inner WHERE coalesce(inner.exists, true)", "WITH inner"),
    Mutant(
        "no edges out",
        "affected_facts",
        f"MATCH (inner)-{_EDGES}->(end)",
        "MATCH (inner)-[edge:CHILD_OF]->(end) WHERE false",
    ),
    Mutant(
        "no edges in",
        "affected_facts",
        f"MATCH (start)-{_EDGES}->(inner)",
        "MATCH (start)-[edge:CHILD_OF]->(inner) WHERE false",
    ),
    Mutant("no whole tenant", "affected_facts", "scope.kind = 'all'", "scope.kind = 'none'"),
    Mutant("no single edge", "affected_facts", "scope.kind = 'edge'", "scope.kind = 'none'"),
    Mutant("no owner", "affected_facts", "scope.kind = 'owner'", "scope.kind = 'none'"),
    Mutant("no entity", "affected_facts", "scope.kind = 'entity'", "scope.kind = 'none'"),
    Mutant(
        "another tenant's owner",
        "affected_facts",
        "(owned:Entity {root: $root, ref: scope.object})",
        "(owned:Entity {ref: scope.object})",
    ),
    Mutant("one scope", "affected_facts", "scope.at AS at", "0 AS at"),
]
