// renames.cypher: the renames and moves in the log of a tenant, and the drops since the first of them, newest first.
// $root  STRING          'metalake:ml'
// $now   INTEGER         null for the server's clock, or the seconds since 1970
// $refs  LIST OF STRING  ['table:hr.public.staff'], entities
// Returns one row: entries LIST OF MAP (revision, statement), existing LIST OF STRING (those of $refs that exist),
// revision, begun, revision_after, begun_after, due BOOLEAN (a fact has ended and must be removed first)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', now: null, refs: ['table:hr.public.staff']}
MATCH (before:Revision {root: $root})
WITH before.revision AS revision, before.begun AS begun
WITH revision, begun, COLLECT {
  MATCH (change:Change {root: $root})
  WHERE change.revision > 0 // so that the index on (root, revision) is used
    AND (change.statement STARTS WITH 'rename ' OR change.statement STARTS WITH 'move ')
  RETURN change {.revision, .statement} ORDER BY change.revision DESC
} AS renames
WITH revision, begun, renames, COLLECT {
  MATCH (change:Change {root: $root})
  // before the first rename, a name had no other entity
  WHERE change.revision > last(renames).revision AND change.statement STARTS WITH 'drop '
  RETURN change {.revision, .statement} ORDER BY change.revision DESC
} AS drops
WITH revision, begun, COLLECT {
  UNWIND renames + drops AS entry
  RETURN entry ORDER BY entry.revision DESC
} AS entries, COLLECT {
  UNWIND $refs AS ref
  MATCH (entity:Entity {root: $root, ref: ref}) WHERE coalesce(entity.exists, true)
  RETURN ref
} AS existing
MATCH (after:Revision {root: $root})
RETURN entries, existing, revision, begun, after.revision AS revision_after, after.begun AS begun_after,
  coalesce(after.ends <= coalesce($now, datetime.realtime().epochSeconds), false) AS due
