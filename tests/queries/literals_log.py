"""Literal mutants of the queries of the log."""

from .literals import Mutant

CHAIN = [
    Mutant("half a change is not noticed", "log_entries", ".begun", ".revision"),
    Mutant("another tenant's entries", "log_entries", "(change:Change {root: $root})", "(change:Change)"),
    Mutant("pages overlap", "log_entries", "OR id(change) > $node", "OR true"),
    Mutant("pages lose entries", "log_entries", "OR id(change) > $node", "OR false"),
    Mutant("no order", "log_entries", "ORDER BY change.revision, id(change)", "ORDER BY change.id"),
    Mutant("no limit", "log_entries", "LIMIT toInteger($limit)", "LIMIT toInteger($limit) + 1"),
    Mutant("a property is left out", "log_entries", "properties(change)", "change {.revision, .id, .hash, .previous}"),
    Mutant("another chain", "log_entries", "coalesce(before.chain, before.root", "coalesce(before.root"),
    Mutant("each making alike", "log_entries", "before.made AS made", "null AS made"),
    Mutant(
        "another tenant's count",
        "log_prunable",
        "COUNT { MATCH (change:Change {root: $root})",
        "COUNT { MATCH (change:Change)",
    ),
    Mutant("it goes, too", "log_prunable", "WHERE change.revision < bound } AS", "WHERE change.revision <= bound } AS"),
    Mutant(
        "up to itself",
        "log_prunable",
        "WHERE change.revision < bound\n    RETURN change {",
        "WHERE change.revision <= bound\n    RETURN change {",
    ),
    Mutant("the oldest for the newest", "log_prunable", " DESC LIMIT 1", " LIMIT 1"),
    Mutant("the time itself goes", "log_prunable", "change.at >= $since", "change.at > $since"),
    Mutant("no time", "log_prunable", "change.at >= $since", "false"),
    Mutant("no revision", "log_prunable", "coalesce($before, head", "coalesce(null, head"),
    Mutant("any has a hash", "log_prunable", " AND change.hash IS NOT NULL", ""),
    Mutant("another making's log goes", "log_prune", "coalesce(mark.made, '') = $made", "true"),
    Mutant("another tenant's go", "log_prune", "(change:Change {root: $root})", "(change:Change)"),
    Mutant("another tenant's refusals go", "log_prune", "(refusal:Refusal {root: $root})", "(refusal:Refusal)"),
    Mutant("the newest stays", "log_prune", "change.revision <= $up_to", "change.revision < $up_to"),
    Mutant("all go", "log_prune", "change.revision <= $up_to", "true"),
    Mutant("refusals stay", "log_prune", "refusal.revision < $up_to", "false"),
    Mutant("later refusals go", "log_prune", "refusal.revision < $up_to", "true"),
    Mutant("the newest go first", "log_prune", "ORDER BY change.revision LIMIT", "ORDER BY change.revision DESC LIMIT"),
    Mutant("no hash", "idempotency_find", ".statement, .hash}", ".statement}"),
    Mutant("no hashes", "idempotency_find", "RETURN done.hash AS hash", "RETURN null AS hash"),
    Mutant(
        "another tenant's hashes", "idempotency_find", "(done:Change {root: $root, id: id})", "(done:Change {id: id})"
    ),
]

REFUSALS = [
    Mutant("all are kept", "refusal_write", "WHERE kept * 10 > $keep * 11", "WHERE false"),
    Mutant(
        "of all actors", "refusal_write", "(old:Refusal {root: $root, actor: $actor})", "(old:Refusal {root: $root})"
    ),
    Mutant(
        "of all tenants", "refusal_write", "(old:Refusal {root: $root, actor: $actor})", "(old:Refusal {actor: $actor})"
    ),
    Mutant(
        "all tenants' are counted",
        "refusal_write",
        "(:Refusal {root: $root, actor: $actor})",
        "(:Refusal {actor: $actor})",
    ),
    Mutant(
        "all actors' are counted",
        "refusal_write",
        "(:Refusal {root: $root, actor: $actor})",
        "(:Refusal {root: $root})",
    ),
    Mutant("the newest go", "refusal_write", "old.at DESC", "old.at"),
    Mutant("fewer are kept", "refusal_write", "SKIP toInteger($keep)", "SKIP toInteger($keep) - 1"),
    Mutant("they go at once", "refusal_write", "WHERE kept * 10 > $keep * 11", "WHERE kept > $keep"),
]

DROPS = [
    Mutant("another tenant's revision", "note_dropped_tenant", "(mark:Revision {root: $root})", "(mark:Revision)"),
    Mutant("nobody did it", "note_dropped_tenant", "note.by = $by", "note.by = null"),
    Mutant("the oldest entry", "note_dropped_tenant", " DESC LIMIT", " LIMIT"),
    Mutant("another tenant's log", "note_dropped_tenant", "(change:Change {root: $root})", "(change:Change)"),
    Mutant("one note a name", "note_dropped_tenant", "{root: $root, made: coalesce(mark.made, '')}", "{root: $root}"),
    Mutant("those that are there, too", "dropped_tenants", "AND NOT EXISTS", "AND true OR EXISTS"),
    Mutant("not what was made anew", "dropped_tenants", "WHERE coalesce(mark.made, '') = note.made", ""),
    Mutant("no time", "dropped_tenants", "toString(note.at) AS at", "'2026-01-31' AS at"),
    Mutant("no head", "dropped_tenants", "note.head AS head", "null AS head"),
    Mutant("no policy", "dropped_tenants", "note.policy AS policy", "note.root AS policy"),
]

DIGESTS = [
    Mutant("another tenant's digest", "set_policy_digest", "{root: $root}", "{root: ''}"),
    Mutant("whatever the digest is", "set_policy_digest", "mark.digest = $short\n", "true\n"),
    Mutant("a digest stays short", "set_policy_digest", "mark.digest = $digest\n", "mark.digest = mark.digest\n"),
]
