// what_an_actor_changed.cypher: what did an actor change last?
// Leaves out: refused changes; and entries that were pruned from the log.
// $actor  STRING   'user:ann'
// $limit  INTEGER  10, the maximum number of changes
// $root   STRING   'metalake:ml'
// Returns rows: revision INTEGER, at ZONED DATETIME, as_role STRING (the actor's active role, or null), statement
// STRING, says STRING (why a row has no answer), due BOOLEAN (facts have ended, but are still stored; run `grantpath
// expire`)
// In Neo4j Browser run this line first, then the whole file:
// :params {actor: 'user:ann', limit: 10, root: 'metalake:ml'}
OPTIONAL MATCH (mark:Revision {root: $root})
OPTIONAL CALL (mark) {
  // 1 the entries of the log by the actor, the latest first
  MATCH (change:Change {root: $root, actor: $actor}) WHERE change.revision >= 0
  RETURN change ORDER BY change.root DESC, change.revision DESC LIMIT toInteger($limit)
}
RETURN change.revision AS revision, change.at AS at, change.as_role AS as_role, change.statement AS statement, CASE WHEN mark IS NULL THEN 'there is no root ' + $root
    WHEN change IS NULL THEN CASE WHEN EXISTS { (:Entity {root: $root, ref: $actor}) } THEN 'the log has no change by ' + $actor
      ELSE $actor + ' does not exist in ' + $root + ', and the log has no change by it' END END AS says,
  coalesce(mark.ends <= datetime.realtime().epochSeconds, false) AS due
ORDER BY revision DESC
