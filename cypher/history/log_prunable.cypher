// log_prunable.cypher: the entries of a log that would be pruned. For a writer that holds the lock.
// $root    STRING          'metalake:ml'
// $before  INTEGER         7, entries of earlier revisions, or null
// $since   ZONED DATETIME  datetime('2026-01-31T00:00Z'), entries older than the first one at or after this time, or null
// Returns one row: entries INTEGER (their number), up_to INTEGER (the revision of the newest of them), hash STRING (its hash),
// chained INTEGER (the revision of the first entry that has a hash), made STRING (the root's creation id)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', before: 7, since: null}
MATCH (mark:Revision {root: $root})
WITH mark, coalesce($before, head(COLLECT {
    MATCH (change:Change {root: $root}) WHERE change.revision >= 0 AND change.at >= $since
    RETURN change.revision AS revision ORDER BY change.root, change.revision LIMIT 1
  }), mark.begun + 1) AS bound
WITH mark, COUNT { MATCH (change:Change {root: $root}) WHERE change.revision < bound } AS entries, head(COLLECT {
    MATCH (change:Change {root: $root}) WHERE change.revision < bound
    RETURN change {.revision, .hash} AS entry ORDER BY change.root DESC, change.revision DESC LIMIT 1
  }) AS newest
RETURN entries, newest.revision AS up_to, newest.hash AS hash, head(COLLECT {
    MATCH (change:Change {root: $root}) WHERE change.revision >= 0 AND change.hash IS NOT NULL
    RETURN change.revision AS revision ORDER BY change.root, change.revision LIMIT 1
  }) AS chained, coalesce(mark.made, '') AS made
