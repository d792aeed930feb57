"""Literal mutants of the queries that write the history, requests and roots."""

from .literals import Mutant

HISTORY = [
    Mutant("the asker's id is lost", "refusal_write", "request: $request", "request: null"),
    Mutant("refusals without a reason", "refusal_write", "reason: $reason", "reason: null"),
    Mutant("refusals of nobody", "refusal_write", "actor: $actor", "actor: null"),
    Mutant("refusals are changes", "refusal_write", "(refusal:Refusal {", "(refusal:Change {"),
    Mutant("nothing is remembered", "idempotency_keep", "id: $id", "id: '-' + $id"),
    Mutant("another saying is remembered", "idempotency_keep", "said: $said", "said: '-'"),
    Mutant("changes are forgotten", "idempotency_keep", "ids: $ids", "ids: []"),
    Mutant("revisions are forgotten", "idempotency_keep", "revisions: $revisions", "revisions: []"),
    Mutant(
        "no request is found",
        "idempotency_find",
        "(request:Request {root: $root, id: $id})",
        "(request:Request {root: $root, id: ''})",
    ),
    Mutant(
        "any request will do",
        "idempotency_find",
        "(request:Request {root: $root, id: $id})",
        "(request:Request {root: $root})",
    ),
    Mutant(
        "another tenant's request",
        "idempotency_find",
        "(request:Request {root: $root, id: $id})",
        "(request:Request {id: $id})",
    ),
    Mutant(
        "no change is found",
        "idempotency_find",
        "(change:Change {root: $root, id: $id})",
        "(change:Change {root: $root, id: ''})",
    ),
    Mutant(
        "a change has a part's id",
        "idempotency_find",
        "(part:Change {root: $root}) WHERE part.id IN $parts",
        "(part:Change {root: ''})",
    ),
    Mutant(
        "a batch has a part's id",
        "idempotency_find",
        "(part:Request {root: $root}) WHERE part.id IN $parts",
        "(part:Request {root: ''})",
    ),
    Mutant(
        "any change is in the way",
        "idempotency_find",
        "(part:Change {root: $root}) WHERE part.id IN $parts",
        "(part:Change {root: $root})",
    ),
    Mutant(
        "any batch is in the way",
        "idempotency_find",
        "(part:Request {root: $root}) WHERE part.id IN $parts",
        "(part:Request {root: $root})",
    ),
    Mutant("another tenant's is in the way", "idempotency_find", "(part:Change {root: $root})", "(part:Change)"),
    Mutant(
        "another tenant's batch is in the way", "idempotency_find", "(part:Request {root: $root})", "(part:Request)"
    ),
    Mutant(
        "another tenant's change",
        "idempotency_find",
        "(change:Change {root: $root, id: $id})",
        "(change:Change {id: $id})",
    ),
]
ROOTS = [
    *(
        Mutant(
            f"a {label} stays",
            "remove_tenant",
            f"MATCH ({word}:{label} {{root: $root}})",
            f"MATCH ({word}:{label} {{root: ''}})",
        )
        for word, label in (
            *(("entity", "Entity"), ("change", "Change"), ("refusal", "Refusal"), ("request", "Request")),
            *(("batch", "LoadedBatch"), ("doomed", "DoomedBatch"), ("lane", "LoadLane"), ("part", "RulePart")),
        )
    ),
    Mutant("one that exists is claimed", "claim_tenant", "WITH mark WHERE mark IS NULL\n", ""),
    Mutant("a claim says nothing", "claim_tenant", "SET lock.by = $by", "SET lock.claimed = $by"),
    Mutant("created without a claim", "create_tenant", " WHERE lock.by = $by", ""),
    Mutant("begun without a claim", "begin_tenant", " WHERE lock.by = $by", ""),
    Mutant("removed without a claim", "remove_tenant", "lock.by = $by AND ", ""),
    Mutant("nothing ends", "end_tenant", "DELETE mark", "SET mark.ended = true"),
    Mutant("another one ends", "end_tenant", "(mark:Revision {root: $root})", "(mark:Revision {root: ''})"),
    Mutant("one that was changed ends", "end_tenant", "mark.revision = $revision", "true"),
    Mutant("one that is being changed ends", "end_tenant", "mark.begun = $begun", "true"),
    Mutant("one that was created again ends", "end_tenant", "coalesce(mark.made, '') = $made", "true"),
    Mutant(
        "one that is being loaded ends", "end_tenant", "coalesce(mark.loading, '') = coalesce($loading, '')", "true"
    ),
]
KEEPING = [*HISTORY, *ROOTS]
