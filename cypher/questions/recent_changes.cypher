// recent_changes.cypher: what was changed last?
// Leaves out: refused changes; and entries that were pruned from the log.
// $limit  INTEGER  10, the maximum number of changes
// $root   STRING   'metalake:ml'
// Returns rows: revision INTEGER, at ZONED DATETIME, actor STRING (null for a fact), statement STRING, says STRING (why
// a row has no answer), due BOOLEAN (facts have ended, but are still stored; run `grantpath expire`)
// In Neo4j Browser run this line first, then the whole file:
// :params {limit: 10, root: 'metalake:ml'}
OPTIONAL MATCH (mark:Revision {root: $root})
OPTIONAL CALL (mark) {
  // 1 the entries of the log, the latest first
  MATCH (change:Change {root: $root}) WHERE change.revision >= 0
  RETURN change ORDER BY change.root DESC, change.revision DESC LIMIT toInteger($limit)
}
RETURN change.revision AS revision, change.at AS at, change.actor AS actor, change.statement AS statement, CASE WHEN mark IS NULL THEN 'there is no root ' + $root
    WHEN change IS NULL THEN 'the log of ' + $root + ' is empty' END AS says,
  coalesce(mark.ends <= datetime.realtime().epochSeconds, false) AS due
ORDER BY revision DESC
