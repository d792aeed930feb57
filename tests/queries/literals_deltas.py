"""Literal mutants of the queries that find, record and read the deltas of changes."""

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
    Mutant("no single edge", "affected_facts", "scope.kind = 'edge'", "scope.kind = 'none'"),
    Mutant("no entity", "affected_facts", "scope.kind = 'entity'", "scope.kind = 'none'"),
    Mutant("one scope", "affected_facts", "scope.at AS at", "0 AS at"),
    Mutant("no grants kept", "add", "RETURN [grant.privilege, grantee.ref]", "RETURN ['', grantee.ref]"),
    Mutant("nothing former", "own", "collect(one.ref) AS former", "[] AS former"),
    Mutant("names were entities", "drop", "WITH inner WHERE coalesce(inner.exists, true)\n", "WITH inner\n"),
    Mutant("no edges go out", "drop", "->(end) WHERE $all", "->(end) WHERE false AND $all"),
    Mutant("no edges come in", "drop", f"MATCH (start)-{_EDGES}->(inner)", "MATCH (start)-[edge:NONE]->(inner)"),
    Mutant("a kept list goes", "drop", "OR NOT end.ref IN $kept", "OR true"),
    Mutant("too few facts", "drop", "LIMIT toInteger($most) + 1", "LIMIT 2"),
    Mutant("no parts", "delta_write", "UNWIND $rows AS row", "UNWIND [] AS row"),
    Mutant("empty parts", "delta_write", "SET delta += row", "SET delta.revision = row.revision"),
    Mutant("the marks are always equal", "replica_proof", "mark.begun AS begun", "mark.revision AS begun"),
    Mutant("each chain alike", "replica_proof", "coalesce(mark.chain, '')", "''"),
    Mutant("another tenant's entries prove it", "replica_proof", "(change:Change {root: $root})", "(change:Change)"),
    Mutant("its own entry again", "replica_proof", "change.revision > $after", "change.revision >= $after"),
    Mutant("no upgrade", "replica_proof", "change.policy_after IS NOT NULL", "false"),
    Mutant("nothing was pruned", "replica_proof", "change.pruned_revision", "null"),
    Mutant("parts are kept", "log_prune", "delta.revision <= $up_to", "false"),
    Mutant("all parts go", "log_prune", "delta.revision <= $up_to", "true"),
    Mutant("another tenant's parts go", "log_prune", "(delta:Delta {root: $root})", "(delta:Delta)"),
]
