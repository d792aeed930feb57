// delta_part.cypher: one part of the facts of a change with so many facts that they are stored in parts.
// $root  STRING   'metalake:ml'
// $now   INTEGER  null for the server's clock, or the seconds since 1970
// $at    INTEGER  7, the revision of the change
// $part  INTEGER  0
// Returns one row: content MAP (added, removed, touched: LIST OF STRING; null if there is no such part), revision,
// begun, revision_after, begun_after, due BOOLEAN (a fact has ended and must be removed first)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', now: null, at: 7, part: 0}
MATCH (before:Revision {root: $root})
WITH before.revision AS revision, before.begun AS begun, head(COLLECT {
    MATCH (delta:Delta {root: $root, revision: $at}) WHERE delta.part = $part
    RETURN delta {.added, .removed, .touched} LIMIT 1
  }) AS content
MATCH (after:Revision {root: $root})
RETURN content, revision, begun, after.revision AS revision_after, after.begun AS begun_after,
  coalesce(after.ends <= coalesce($now, datetime.realtime().epochSeconds), false) AS due
