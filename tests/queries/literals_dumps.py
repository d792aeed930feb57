"""Literal mutants of the queries of dumps."""

from .literals import Mutant

DUMPS = [
    Mutant("another tenant's", "dump_entities", "(entity:Entity {root: $root})", "(entity:Entity)"),
    Mutant("names are created", "dump_entities", "coalesce(entity.exists, true)", "true"),
    Mutant("nothing is created", "dump_entities", "coalesce(entity.exists, true)", "false"),
    Mutant("names for types", "dump_entities", "entity.type AS type", "entity.name AS type"),
    Mutant("another tenant's", "dump_edges", "(subject:Entity {root: $root})", "(subject:Entity)"),
    Mutant(
        "no groups", "dump_edges", "(subject)-[:MEMBER_OF|HAS_ROLE]->(container)", "(subject)-[:HAS_ROLE]->(container)"
    ),
    Mutant(
        "no roles", "dump_edges", "(subject)-[:MEMBER_OF|HAS_ROLE]->(container)", "(subject)-[:MEMBER_OF]->(container)"
    ),
    Mutant("no ALLOW", "dump_edges", "[grant:ALLOW|DENY]", "[grant:DENY]"),
    Mutant("no DENY", "dump_edges", "[grant:ALLOW|DENY]", "[grant:ALLOW]"),
    Mutant("no owner", "dump_edges", "MATCH (subject)-[:OWNS]->(object)", "MATCH (subject)<-[:OWNS]-(object)"),
    Mutant("members without grants are left out", "dump_edges", "[:MEMBER_OF|HAS_ROLE|ALLOW|", "[:ALLOW|"),
    Mutant("owners without grants are left out", "dump_edges", "|OWNS]->() }", "]->() }"),
    Mutant("another policy", "dump_head", "mark.digest AS digest", "'' AS digest"),
    Mutant("no source", "dump_head", "mark.source AS source", "'{}' AS source"),
    Mutant("another chain", "dump_head", "mark.root + ' ' +", "mark.root + '' +"),
    Mutant("a restored chain is forgotten", "dump_head", "coalesce(mark.chain, ", "coalesce(null, "),
    Mutant("another tenant's changes", "dump_log", "(change:Change {root: $root})", "(change:Change)"),
    Mutant("another tenant's refusals", "dump_log", "(refusal:Refusal {root: $root})", "(refusal:Refusal)"),
    Mutant("another tenant's requests", "dump_log", "(request:Request {root: $root})", "(request:Request)"),
    Mutant("refusals are changes", "dump_log", "'refusals' AS file", "'history' AS file"),
    Mutant("requests are refusals", "dump_log", "'requests' AS file", "'refusals' AS file"),
    Mutant("the first change is left out", "dump_log", "change.revision >= 0", "change.revision >= 2"),
    Mutant("who lost the mark writes on", "restore_log", "WITH mark WHERE mark.loading = $load", "WITH mark"),
    Mutant("no changes", "restore_log", "UNWIND $history AS row", "UNWIND [] AS row"),
    Mutant("no refusals", "restore_log", "UNWIND $refusals AS row", "UNWIND [] AS row"),
    Mutant("no requests", "restore_log", "UNWIND $requests AS row", "UNWIND [] AS row"),
    Mutant("empty changes", "restore_log", "SET change += row", "SET change.revision = row.revision"),
    Mutant("empty refusals", "restore_log", "SET refusal += row", "SET refusal.revision = row.revision"),
    Mutant("empty requests", "restore_log", "SET request += row", "SET request.id = row.id"),
    Mutant("changes are not noted", "restore_log", "nodes: changes + refused", "nodes: refused"),
    Mutant("refusals are not noted", "restore_log", "changes + refused + requested}", "changes + requested}"),
    Mutant("requests are not noted", "restore_log", "refused + requested}", "refused}"),
    Mutant("another revision", "restore_revision", "mark.begun = $revision, ", ""),
    Mutant("another chain", "restore_revision", ", mark.chain = $chain", ""),
    Mutant("another tenant's revision", "restore_revision", "(mark:Revision {root: $root})", "(mark:Revision)"),
    Mutant("every root is new", "restore_unused", "NOT (", "true OR ("),
    Mutant("no root is new", "restore_unused", "NOT (", "false AND ("),
    Mutant("what came with the policy counts", "restore_unused", " AND NOT coalesce(entity.builtin, false)", ""),
    Mutant("facts do not count", "restore_unused", "entity.ref <> $top", "false"),
    Mutant("another tenant's history counts", "restore_unused", "(change:Change {root: $root})", "(change:Change)"),
    Mutant("a history does not count", "restore_unused", "change.revision >= 0", "false"),
    Mutant("refusals do not count", "restore_unused", "refusal.revision >= 0", "false"),
    Mutant("requests do not count", "restore_unused", "request.id >= ''", "false"),
]
