// refusals.cypher: the last refused attempts of a tenant, oldest first.
// $root      STRING          'metalake:ml'
// $now       INTEGER         null for the server's clock, or the seconds since 1970
// $limit     INTEGER         20, the maximum number of entries
// $after     INTEGER         -1, only later revisions
// $before    INTEGER         null, or only earlier revisions
// $id        STRING          '5f0c', the attempt with this id, or those of the request with this id, or null for all
// $actor     STRING          'user:ann', or null for all
// $object    STRING          'table:hr.public.staff', the object of the change, or null for all
// $subject   STRING          'role:analyst', the subject that gained or lost something, or null for all
// $former    STRING          'metalake:' if $object is the root object, whose name may have been another one when an entry was written; or null
// $since     ZONED DATETIME  datetime('2026-01-31T00:00Z'), not before this, or null
// $until     ZONED DATETIME  datetime('2026-02-28T00:00Z'), before this, or null
// Returns one row: refusals LIST OF MAP (revision, id, at, actor, as_role, statement, object, subject, reason),
// revision, begun, revision_after, begun_after, due BOOLEAN (a fact has ended and must be removed first)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', now: null, limit: 20, after: -1, before: null, id: null, actor: null, object: null, subject: null, former: null, since: null, until: null}
MATCH (before:Revision {root: $root})
WITH before.revision AS revision, before.begun AS begun
CALL () {
  MATCH (refusal:Refusal {root: $root})
  WHERE refusal.revision > $after // so that the index on (root, revision) is used
    AND refusal.revision < coalesce($before, 9223372036854775807) // the greatest INTEGER
    AND ($id IS NULL OR refusal.id = $id OR refusal.request = $id)
    AND ($actor IS NULL OR refusal.actor = $actor)
    AND ($object IS NULL OR refusal.object = $object OR refusal.object STARTS WITH $former)
    AND ($subject IS NULL OR refusal.subject = $subject)
    AND ($since IS NULL OR refusal.at >= $since)
    AND ($until IS NULL OR refusal.at < $until)
  WITH refusal ORDER BY refusal.root DESC, refusal.revision DESC, refusal.at DESC LIMIT toInteger($limit)
  WITH refusal ORDER BY refusal.revision, refusal.at
  RETURN collect(refusal {.revision, .id, at: toString(refusal.at), .actor, .as_role, .statement, .object, .subject,
                          .reason}) AS refusals
}
MATCH (after:Revision {root: $root})
RETURN refusals, revision, begun, after.revision AS revision_after, after.begun AS begun_after,
  coalesce(after.ends <= coalesce($now, datetime.realtime().epochSeconds), false) AS due
