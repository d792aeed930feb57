// log.cypher: the last accepted changes of a tenant, oldest first.
// $root      STRING          'metalake:ml'
// $now       INTEGER         null for the server's clock, or the seconds since 1970
// $limit     INTEGER         20, the maximum number of entries
// $after     INTEGER         0, only later revisions
// $before    INTEGER         null, or only earlier revisions
// $id        STRING          '5f0c', the change with this id, or the batch of changes with it, or null for all
// $actor     STRING          'user:ann', or null for all
// $object    STRING          'table:hr.public.staff', the object of the change, or another entity that it changed, or null for all
// $subject   STRING          'role:analyst', the subject that gained or lost something, or another changed entity, or null for all
// $former    STRING          'metalake:' if $object is the root object, whose name may have been another one when an entry was written; or null
// $since     ZONED DATETIME  datetime('2026-01-31T00:00Z'), not before this, or null
// $until     ZONED DATETIME  datetime('2026-02-28T00:00Z'), before this, or null
// Returns one row: changes LIST OF MAP (revision, id, at, actor, as_role, statement, object, subject, hash), begins
// INTEGER (the revision of the first entry, if older ones were pruned; otherwise null), revision, begun,
// revision_after, begun_after, due BOOLEAN (a fact has ended and must be removed first)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', now: null, limit: 20, after: 0, before: null, id: null, actor: null, object: null, subject: null, former: null, since: null, until: null}
MATCH (before:Revision {root: $root})
OPTIONAL MATCH (request:Request {root: $root, id: $id}) // a batch, whose changes have their own ids
WITH before.revision AS revision, before.begun AS begun, coalesce(request.ids, []) AS batch
CALL (batch) {
  MATCH (change:Change {root: $root})
  WHERE change.revision > $after // so that the index on (root, revision) is used
    AND change.revision < coalesce($before, 9223372036854775807) // the greatest INTEGER
    AND ($id IS NULL OR change.id = $id OR change.id IN batch)
    AND ($actor IS NULL OR change.actor = $actor)
    AND ($object IS NULL OR change.object = $object OR $object IN coalesce(change.touched, [])
      OR any(ref IN coalesce(change.touched, []) + [change.object] WHERE ref STARTS WITH $former) OR EXISTS {
        MATCH (delta:Delta {root: $root, revision: change.revision}) WHERE change.parts > 0
          AND ($object IN delta.touched OR any(ref IN delta.touched WHERE ref STARTS WITH $former)) })
    AND ($subject IS NULL OR change.subject = $subject OR $subject IN coalesce(change.touched, []) OR EXISTS {
      MATCH (delta:Delta {root: $root, revision: change.revision}) WHERE change.parts > 0 AND $subject IN delta.touched })
    AND ($since IS NULL OR change.at >= $since)
    AND ($until IS NULL OR change.at < $until)
  WITH change ORDER BY change.root DESC, change.revision DESC LIMIT toInteger($limit)
  WITH change ORDER BY change.revision
  RETURN collect(change {.revision, .id, at: toString(change.at), .actor, .as_role, .statement, .object, .subject,
                         .hash}) AS changes
}
MATCH (after:Revision {root: $root})
WITH *, head(COLLECT {
    MATCH (first:Change {root: $root}) WHERE first.revision >= 0
    RETURN first {.revision, .previous} AS entry ORDER BY first.root, first.revision LIMIT 1
  }) AS first
RETURN changes, CASE WHEN first.previous <> '' THEN first.revision END AS begins, revision, begun, after.revision AS revision_after, after.begun AS begun_after,
  coalesce(after.ends <= coalesce($now, datetime.realtime().epochSeconds), false) AS due
