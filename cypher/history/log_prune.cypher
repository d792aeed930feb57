// log_prune.cypher: removes the oldest entries of a log, with their facts, and the refused attempts at revisions below $up_to; run it until it removes
// nothing. The oldest go first, so that an interrupted pruning leaves a valid chain.
// $root   STRING   'metalake:ml'
// $made   STRING   '9f2c', the root's creation id, so that the log of a recreated root is kept
// $up_to  INTEGER  7, the revision of the newest entry to remove
// $limit  INTEGER  5000, the maximum number of entries
// Returns one row: removed INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', made: '9f2c', up_to: 7, limit: 5000}
OPTIONAL MATCH (mark:Revision {root: $root}) WHERE coalesce(mark.made, '') = $made
CALL (mark) {
  WITH mark WHERE mark IS NOT NULL
  MATCH (change:Change {root: $root}) WHERE change.revision <= $up_to
  RETURN change AS entry ORDER BY change.root, change.revision LIMIT toInteger($limit)
UNION ALL
  WITH mark WHERE mark IS NOT NULL
  MATCH (delta:Delta {root: $root}) WHERE delta.revision <= $up_to
  RETURN delta AS entry ORDER BY delta.root, delta.revision LIMIT 100 // each can hold 10,000 facts
UNION ALL
  WITH mark WHERE mark IS NOT NULL
  MATCH (refusal:Refusal {root: $root}) WHERE refusal.revision < $up_to
  RETURN refusal AS entry ORDER BY refusal.root, refusal.revision LIMIT toInteger($limit)
}
DETACH DELETE entry
RETURN count(*) AS removed
