"""The queries around decisions and changes, broken: history, requests, roots, and what mirrors read."""

from .mutants import Mutant, each

HISTORY = [
    *each("log refused state revision", "half a change is not noticed", ".begun", ".revision"),
    *each("log refused", "after counts itself", "revision > $after", "revision >= $after"),
    Mutant("before is forgotten", "log", "change.revision < coalesce($before, change.revision + 1)", "true"),
    Mutant("before counts itself", "log", "change.revision < coalesce", "change.revision <= coalesce"),
    Mutant("before is forgotten", "refused", "refusal.revision < coalesce($before, refusal.revision + 1)", "true"),
    Mutant("before counts itself", "refused", "refusal.revision < coalesce", "refusal.revision <= coalesce"),
    *(
        Mutant(f"any {name}", file, f"(${name} IS NULL OR {entry}.{name} = ${name}", "(true")
        for file, entry in (("log", "change"), ("refused", "refusal"))
        for name in ("id", "actor", "object", "subject")
    ),
    *each("log refused", "any start", "$since IS NULL OR", "true OR"),
    *each("log refused", "any end", "$until IS NULL OR", "true OR"),
    *each("log refused", "the start is left out", ".at >= $since", ".at > $since"),
    *each("log refused", "the end counts", ".at < $until", ".at <= $until"),
    *each("log refused", "the first ones, not the last", " DESC", ""),
    Mutant(
        "the latest first",
        "log",
        "WITH change ORDER BY change.revision\n",
        "WITH change ORDER BY change.revision DESC\n",
    ),
    Mutant(
        "the latest first",
        "refused",
        "WITH refusal ORDER BY refusal.revision, refusal.at\n",
        "WITH refusal ORDER BY refusal.revision DESC, refusal.at DESC\n",
    ),
    *each("log refused", "no limit", "LIMIT toInteger($limit)", "LIMIT toInteger($limit) + 1"),
    Mutant("another tenant's log", "log", "(change:Change {root: $root})", "(change:Change)"),
    Mutant("another tenant's refusals", "refused", "(refusal:Refusal {root: $root})", "(refusal:Refusal)"),
    *each("log refused", "no active role", ".as_role, ", ""),
    Mutant("no reason", "refused", ",\n                          .reason}", "}"),
    Mutant("a batch is not told", "log", "coalesce(request.ids, [])", "[]"),
    Mutant("another tenant's batch", "log", "(request:Request {root: $root, id: $id})", "(request:Request {id: $id})"),
    Mutant("any batch", "log", "(request:Request {root: $root, id: $id})", "(request:Request {root: $root})"),
    Mutant("the asker's id finds nothing", "refused", " OR refusal.request = $id", ""),
    Mutant("the asker's id alone", "refused", "refusal.id = $id OR ", ""),
    Mutant("the asker's id is lost", "refuse", "request: $request", "request: null"),
    Mutant("refusals without a reason", "refuse", "reason: $reason", "reason: null"),
    Mutant("refusals of nobody", "refuse", "actor: $actor", "actor: null"),
    Mutant("refusals are changes", "refuse", "(refusal:Refusal {", "(refusal:Change {"),
    Mutant("nothing is remembered", "remember", "id: $id", "id: '-' + $id"),
    Mutant("another saying is remembered", "remember", "said: $said", "said: '-'"),
    Mutant("changes are forgotten", "remember", "ids: $ids", "ids: []"),
    Mutant("revisions are forgotten", "remember", "revisions: $revisions", "revisions: []"),
    Mutant(
        "no request is found",
        "request",
        "(request:Request {root: $root, id: $id})",
        "(request:Request {root: $root, id: ''})",
    ),
    Mutant(
        "any request will do", "request", "(request:Request {root: $root, id: $id})", "(request:Request {root: $root})"
    ),
    Mutant(
        "another tenant's request", "request", "(request:Request {root: $root, id: $id})", "(request:Request {id: $id})"
    ),
    Mutant(
        "no change is found",
        "request",
        "(change:Change {root: $root, id: $id})",
        "(change:Change {root: $root, id: ''})",
    ),
    Mutant(
        "a change has a part's id",
        "request",
        "(part:Change {root: $root}) WHERE part.id IN $parts",
        "(part:Change {root: ''})",
    ),
    Mutant(
        "a batch has a part's id",
        "request",
        "(part:Request {root: $root}) WHERE part.id IN $parts",
        "(part:Request {root: ''})",
    ),
    Mutant(
        "any change is in the way",
        "request",
        "(part:Change {root: $root}) WHERE part.id IN $parts",
        "(part:Change {root: $root})",
    ),
    Mutant(
        "any batch is in the way",
        "request",
        "(part:Request {root: $root}) WHERE part.id IN $parts",
        "(part:Request {root: $root})",
    ),
    Mutant("another tenant's is in the way", "request", "(part:Change {root: $root})", "(part:Change)"),
    Mutant("another tenant's batch is in the way", "request", "(part:Request {root: $root})", "(part:Request)"),
    Mutant("another tenant's change", "request", "(change:Change {root: $root, id: $id})", "(change:Change {id: $id})"),
]
ROOTS = [
    Mutant("all look dropped", "roots", "NOT EXISTS { MATCH (entity", "EXISTS { MATCH (entity"),
    Mutant("another's entities will do", "roots", "(entity:Entity {root: mark.root})", "(entity:Entity)"),
    Mutant("no policy", "root", "revision.policy AS policy", "null AS policy"),
    Mutant("no digest", "root", "revision.digest AS digest", "null AS digest"),
    Mutant("the digest for the source", "root", "revision.source AS source", "revision.digest AS source"),
    Mutant("any tenant", "root", "(revision:Revision {root: $root})", "(revision:Revision)"),
    Mutant("the revision is begun", "roots", "mark.revision AS revision", "mark.begun + 1 AS revision"),
    Mutant("out of order", "roots", "ORDER BY root", "ORDER BY root DESC"),
    Mutant("subjects for objects", "root_sizes", "THEN null ELSE 1 END) AS objects", "THEN 1 END) AS objects"),
    Mutant(
        "objects for subjects",
        "root_sizes",
        "entity:Subject THEN 1 END) AS subjects",
        "entity:Entity THEN 1 END) AS subjects",
    ),
    Mutant("groups alone", "root_sizes", "MEMBER_OF|HAS_ROLE", "MEMBER_OF"),
    Mutant("roles alone", "root_sizes", "MEMBER_OF|HAS_ROLE", "HAS_ROLE"),
    Mutant("owned for owning", "root_sizes", "(entity)-[:OWNS]->()", "()-[:OWNS]->()"),
    Mutant("no DENY", "root_sizes", "[:ALLOW|DENY]", "[:ALLOW]"),
    Mutant("no ALLOW", "root_sizes", "[:ALLOW|DENY]", "[:DENY]"),
    Mutant("all tenants", "root_sizes", "(entity:Entity {root: $root})", "(entity:Entity)"),
    Mutant("all tenants' changes", "root_sizes", "(change:Change {root: $root})", "(change:Change)"),
    *(
        Mutant(
            f"a {label} stays",
            "remove_root",
            f"MATCH ({word}:{label} {{root: $root}})",
            f"MATCH ({word}:{label} {{root: ''}})",
        )
        for word, label in (
            *(("entity", "Entity"), ("change", "Change"), ("refusal", "Refusal"), ("request", "Request")),
            *(("batch", "LoadedBatch"), ("doomed", "DoomedBatch")),
        )
    ),
    Mutant("one that exists is claimed", "claim_root", "WITH mark WHERE mark IS NULL\n", ""),
    Mutant("a claim says nothing", "claim_root", "SET gate.by = $by", "SET gate.claimed = $by"),
    Mutant("created without a claim", "create_root", " WHERE gate.by = $by", ""),
    Mutant("begun without a claim", "begin_root", " WHERE gate.by = $by", ""),
    Mutant("removed without a claim", "remove_root", "gate.by = $by AND ", ""),
    Mutant("nothing ends", "end_root", "DELETE mark", "SET mark.ended = true"),
    Mutant("another one ends", "end_root", "(mark:Revision {root: $root})", "(mark:Revision {root: ''})"),
    Mutant("one that was changed ends", "end_root", "mark.revision = $revision", "true"),
    Mutant("one that is being changed ends", "end_root", "mark.begun = $begun", "true"),
    Mutant("one that was created again ends", "end_root", "coalesce(mark.made, '') = $made", "true"),
    Mutant("one that is being loaded ends", "end_root", "coalesce(mark.loading, '') = coalesce($loading, '')", "true"),
    Mutant("names exist", "exists", " WHERE coalesce(entity.exists, true)", ""),
    Mutant("another tenant's exists", "exists", "{root: $root, ref: $ref}", "{ref: $ref}"),
    Mutant("anything exists", "exists", "{root: $root, ref: $ref}", "{root: $root}"),
    Mutant("names are like it", "names_like", " WHERE coalesce(entity.exists, true)", ""),
    Mutant("another tenant's names", "names_like", "{root: $root, type: $type}", "{type: $type}"),
    Mutant("names of any type", "names_like", "{root: $root, type: $type}", "{root: $root}"),
    Mutant("no names before it", "names_like", "entity.ref <= $ref", "entity.ref = $ref"),
    Mutant("no names behind it", "names_like", "entity.ref > $ref", "entity.ref = $ref"),
    Mutant("the farthest names before it", "names_like", "ORDER BY entity.ref DESC", "ORDER BY entity.ref"),
    Mutant("all names", "names_like", "LIMIT toInteger($limit)", "LIMIT 1000"),
    Mutant("another tenant's revision", "revision", "{root: $root}", "{root: ''}"),
    Mutant("one revision later", "revision", "mark.revision AS", "mark.revision + 1 AS"),
    Mutant("no policy", "revision", "mark.digest AS policy", "null AS policy"),
]
READING = [
    *each("state mirror_entities", "another tenant's", "(entity:Entity {root: $root})", "(entity:Entity)"),
    *each("state mirror_entities", "names exist", "coalesce(entity.exists, true)", "true"),
    *each("state mirror_entities", "nothing came with the policy", "coalesce(entity.builtin, false)", "false"),
    *each("state mirror_entities", "names for types", "entity.type", "entity.name"),
    Mutant("another tenant's edges", "state", "(source:Entity {root: $root})", "(source:Entity)"),
    *(
        Mutant(f"no {kind}", "state", "MEMBER_OF|HAS_ROLE|ALLOW|DENY|OWNS", "|".join(k for k in KINDS if k != kind))
        for KINDS in [("MEMBER_OF", "HAS_ROLE", "ALLOW", "DENY", "OWNS")]
        for kind in KINDS
    ),
    Mutant("edges turned", "state", "]->(target)", "]-(target)"),
    Mutant("no privilege", "state", "privilege: edge.privilege", "privilege: null"),
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
