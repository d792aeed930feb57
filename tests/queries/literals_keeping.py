"""Literal mutants of the other queries: history, requests, roots, and mirrors."""

from .literals import Mutant, each

HISTORY = [
    *each("log refusals tenant_state revision", "half a change is not noticed", ".begun", ".revision"),
    *each("log refusals", "after counts itself", "revision > $after", "revision >= $after"),
    Mutant("before is forgotten", "log", "change.revision < coalesce($before, change.revision + 1)", "true"),
    Mutant("before counts itself", "log", "change.revision < coalesce", "change.revision <= coalesce"),
    Mutant("before is forgotten", "refusals", "refusal.revision < coalesce($before, refusal.revision + 1)", "true"),
    Mutant("before counts itself", "refusals", "refusal.revision < coalesce", "refusal.revision <= coalesce"),
    *(
        Mutant(f"any {name}", file, f"(${name} IS NULL OR {entry}.{name} = ${name}", "(true")
        for file, entry in (("log", "change"), ("refusals", "refusal"))
        for name in ("id", "actor", "object", "subject")
    ),
    *each("log refusals", "any start", "$since IS NULL OR", "true OR"),
    *each("log refusals", "any end", "$until IS NULL OR", "true OR"),
    *each("log refusals", "the start is left out", ".at >= $since", ".at > $since"),
    *each("log refusals", "the end counts", ".at < $until", ".at <= $until"),
    *each("log refusals", "the first ones, not the last", " DESC", ""),
    Mutant(
        "the latest first",
        "log",
        "WITH change ORDER BY change.revision\n",
        "WITH change ORDER BY change.revision DESC\n",
    ),
    Mutant(
        "the latest first",
        "refusals",
        "WITH refusal ORDER BY refusal.revision, refusal.at\n",
        "WITH refusal ORDER BY refusal.revision DESC, refusal.at DESC\n",
    ),
    *each("log refusals", "no limit", "LIMIT toInteger($limit)", "LIMIT toInteger($limit) + 1"),
    Mutant("another tenant's log", "log", "(change:Change {root: $root})", "(change:Change)"),
    Mutant("another tenant's refusals", "refusals", "(refusal:Refusal {root: $root})", "(refusal:Refusal)"),
    *each("log refusals", "no active role", ".as_role, ", ""),
    Mutant("no reason", "refusals", ",\n                          .reason}", "}"),
    Mutant("a batch is not told", "log", "coalesce(request.ids, [])", "[]"),
    Mutant("another tenant's batch", "log", "(request:Request {root: $root, id: $id})", "(request:Request {id: $id})"),
    Mutant("any batch", "log", "(request:Request {root: $root, id: $id})", "(request:Request {root: $root})"),
    Mutant("the asker's id finds nothing", "refusals", " OR refusal.request = $id", ""),
    Mutant("the asker's id alone", "refusals", "refusal.id = $id OR ", ""),
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
    Mutant("all look dropped", "list_tenants", "NOT EXISTS { MATCH (entity", "EXISTS { MATCH (entity"),
    Mutant("another's entities will do", "list_tenants", "(entity:Entity {root: mark.root})", "(entity:Entity)"),
    Mutant("no policy", "tenant_policy", "revision.policy AS policy", "null AS policy"),
    Mutant("no digest", "tenant_policy", "revision.digest AS digest", "null AS digest"),
    Mutant("the digest for the source", "tenant_policy", "revision.source AS source", "revision.digest AS source"),
    Mutant("any tenant", "tenant_policy", "(revision:Revision {root: $root})", "(revision:Revision)"),
    Mutant("the revision is begun", "list_tenants", "mark.revision AS revision", "mark.begun + 1 AS revision"),
    Mutant("out of order", "list_tenants", "ORDER BY root", "ORDER BY root DESC"),
    Mutant("subjects for objects", "tenant_sizes", "THEN null ELSE 1 END) AS objects", "THEN 1 END) AS objects"),
    Mutant(
        "objects for subjects",
        "tenant_sizes",
        "entity:Subject THEN 1 END) AS subjects",
        "entity:Entity THEN 1 END) AS subjects",
    ),
    Mutant("groups alone", "tenant_sizes", "MEMBER_OF|HAS_ROLE", "MEMBER_OF"),
    Mutant("roles alone", "tenant_sizes", "MEMBER_OF|HAS_ROLE", "HAS_ROLE"),
    Mutant("owned for owning", "tenant_sizes", "(entity)-[:OWNS]->()", "()-[:OWNS]->()"),
    Mutant("no DENY", "tenant_sizes", "[:ALLOW|DENY]", "[:ALLOW]"),
    Mutant("no ALLOW", "tenant_sizes", "[:ALLOW|DENY]", "[:DENY]"),
    Mutant("all tenants", "tenant_sizes", "(entity:Entity {root: $root})", "(entity:Entity)"),
    Mutant("all tenants' changes", "tenant_sizes", "(change:Change {root: $root})", "(change:Change)"),
    *(
        Mutant(
            f"a {label} stays",
            "remove_tenant",
            f"MATCH ({word}:{label} {{root: $root}})",
            f"MATCH ({word}:{label} {{root: ''}})",
        )
        for word, label in (
            *(("entity", "Entity"), ("change", "Change"), ("refusal", "Refusal"), ("request", "Request")),
            *(("batch", "LoadedBatch"), ("doomed", "DoomedBatch"), ("part", "RulePart")),
        )
    ),
    Mutant("one that exists is claimed", "claim_tenant", "WITH mark WHERE mark IS NULL\n", ""),
    Mutant("a claim says nothing", "claim_tenant", "SET gate.by = $by", "SET gate.claimed = $by"),
    Mutant("created without a claim", "create_tenant", " WHERE gate.by = $by", ""),
    Mutant("begun without a claim", "begin_tenant", " WHERE gate.by = $by", ""),
    Mutant("removed without a claim", "remove_tenant", "gate.by = $by AND ", ""),
    Mutant("nothing ends", "end_tenant", "DELETE mark", "SET mark.ended = true"),
    Mutant("another one ends", "end_tenant", "(mark:Revision {root: $root})", "(mark:Revision {root: ''})"),
    Mutant("one that was changed ends", "end_tenant", "mark.revision = $revision", "true"),
    Mutant("one that is being changed ends", "end_tenant", "mark.begun = $begun", "true"),
    Mutant("one that was created again ends", "end_tenant", "coalesce(mark.made, '') = $made", "true"),
    Mutant(
        "one that is being loaded ends", "end_tenant", "coalesce(mark.loading, '') = coalesce($loading, '')", "true"
    ),
    Mutant("names exist", "entity_exists", " WHERE coalesce(entity.exists, true)", ""),
    Mutant("another tenant's exists", "entity_exists", "{root: $root, ref: $ref}", "{ref: $ref}"),
    Mutant("anything exists", "entity_exists", "{root: $root, ref: $ref}", "{root: $root}"),
    Mutant("names are like it", "similar_names", " WHERE coalesce(entity.exists, true)", ""),
    Mutant("another tenant's names", "similar_names", "{root: $root, type: $type}", "{type: $type}"),
    Mutant("names of any type", "similar_names", "{root: $root, type: $type}", "{root: $root}"),
    Mutant("no names before it", "similar_names", "entity.ref <= $ref", "entity.ref = $ref"),
    Mutant("no names behind it", "similar_names", "entity.ref > $ref", "entity.ref = $ref"),
    Mutant("the farthest names before it", "similar_names", "ORDER BY entity.ref DESC", "ORDER BY entity.ref"),
    Mutant("all names", "similar_names", "LIMIT toInteger($limit)", "LIMIT 1000"),
    Mutant("another tenant's revision", "revision", "{root: $root}", "{root: ''}"),
    Mutant("one revision later", "revision", "mark.revision AS", "mark.revision + 1 AS"),
    Mutant("no policy", "revision", "mark.digest AS policy", "null AS policy"),
]
READING = [
    *each("tenant_state mirror_entities", "another tenant's", "(entity:Entity {root: $root})", "(entity:Entity)"),
    *each("tenant_state mirror_entities", "names exist", "coalesce(entity.exists, true)", "true"),
    *each("tenant_state mirror_entities", "nothing came with the policy", "coalesce(entity.builtin, false)", "false"),
    *each("tenant_state mirror_entities", "names for types", "entity.type", "entity.name"),
    Mutant("another tenant's edges", "tenant_state", "(source:Entity {root: $root})", "(source:Entity)"),
    *(
        Mutant(
            f"no {kind}", "tenant_state", "MEMBER_OF|HAS_ROLE|ALLOW|DENY|OWNS", "|".join(k for k in KINDS if k != kind)
        )
        for KINDS in [("MEMBER_OF", "HAS_ROLE", "ALLOW", "DENY", "OWNS")]
        for kind in KINDS
    ),
    Mutant("edges turned", "tenant_state", "]->(target)", "]-(target)"),
    Mutant("no privilege", "tenant_state", "privilege: edge.privilege", "privilege: null"),
    Mutant("another tenant's", "mirror_members", "(subject:Entity {root: $root})", "(subject:Entity)"),
    Mutant("no groups", "mirror_members", "[held:MEMBER_OF|HAS_ROLE]", "[held:HAS_ROLE]"),
    Mutant("no roles", "mirror_members", "[held:MEMBER_OF|HAS_ROLE]", "[held:MEMBER_OF]"),
    Mutant("turned", "mirror_members", "-[held:MEMBER_OF|HAS_ROLE]->", "<-[held:MEMBER_OF|HAS_ROLE]-"),
    Mutant("roles are groups", "mirror_members", "CASE WHEN held:HAS_ROLE THEN", "CASE WHEN held:MEMBER_OF THEN"),
    Mutant("another tenant's", "mirror_grants", "(subject:Entity {root: $root})", "(subject:Entity)"),
    Mutant("no ALLOW", "mirror_grants", "[grant:ALLOW|DENY|OWNS]", "[grant:DENY|OWNS]"),
    Mutant("no DENY", "mirror_grants", "[grant:ALLOW|DENY|OWNS]", "[grant:ALLOW|OWNS]"),
    Mutant("no owner", "mirror_grants", "[grant:ALLOW|DENY|OWNS]", "[grant:ALLOW|DENY]"),
    Mutant("turned", "mirror_grants", "-[grant:ALLOW|DENY|OWNS]->", "<-[grant:ALLOW|DENY|OWNS]-"),
    Mutant("no privilege", "mirror_grants", "coalesce(' ' + grant.privilege, '')", "''"),
]
KEEPING = [*HISTORY, *ROOTS, *READING]
