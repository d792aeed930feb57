// log_deltas.cypher: the facts that changes added and removed, oldest first, in pages.
// $root   STRING   'metalake:ml'
// $now    INTEGER  null for the server's clock, or the seconds since 1970
// $after  INTEGER  0, only later revisions
// $limit  INTEGER  500, the maximum number of entries
// Returns one row: entries LIST OF MAP (revision, facts (their number; null if they are not recorded), added, removed
// (LIST OF STRING, canonical statements, or null), parts (the number of :Delta nodes that hold them instead, or null),
// renamed (of a rename or a move, instead of facts: the former and the new reference; or null), policy_before, policy_after (the sources of an upgrade)), revision, begun, revision_after, begun_after, due BOOLEAN
// (a fact has ended and must be removed first)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', now: null, after: 0, limit: 20}
MATCH (before:Revision {root: $root})
WITH before.revision AS revision, before.begun AS begun
CALL () {
  MATCH (change:Change {root: $root}) WHERE change.revision > $after
  WITH change ORDER BY change.root, change.revision LIMIT toInteger($limit)
  RETURN collect(change {.revision, .facts, .added, .removed, .parts, .renamed, .policy_before, .policy_after}) AS entries
}
MATCH (after:Revision {root: $root})
RETURN entries, revision, begun, after.revision AS revision_after, after.begun AS begun_after,
  coalesce(after.ends <= coalesce($now, datetime.realtime().epochSeconds), false) AS due
