// set_ends.cypher: notes on the marks of a tenant when the next of its facts ends. Only for the holder of the lock, after it has read
// these marks and found no fact that has ended.
// $root      STRING   'metalake:ml'
// $revision  INTEGER  11, as read by the caller
// $begun     INTEGER  11, as read by the caller
// $made      STRING   '5f0c', the tenant's creation id, as read by the caller
// $now       INTEGER  null for the server's clock, or the seconds since 1970
// Returns at most one row, none if the marks have changed: due BOOLEAN (a fact has ended nevertheless)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', revision: 11, begun: 11, made: '5f0c', now: null}
CALL () {
  MATCH ()-[edge:ALLOW]->() WHERE edge.root = $root AND edge.until >= ''
  RETURN min(edge.until) AS ends
UNION ALL
  MATCH ()-[edge:DENY]->() WHERE edge.root = $root AND edge.until >= ''
  RETURN min(edge.until) AS ends
UNION ALL
  MATCH ()-[edge:MEMBER_OF]->() WHERE edge.root = $root AND edge.until >= ''
  RETURN min(edge.until) AS ends
UNION ALL
  MATCH ()-[edge:HAS_ROLE]->() WHERE edge.root = $root AND edge.until >= ''
  RETURN min(edge.until) AS ends
}
WITH min(ends) AS ends
MATCH (mark:Revision {root: $root})
SET mark.locked = true // locks the node, so that the following clauses read its latest state
WITH mark, ends WHERE mark.revision = $revision AND mark.begun = $begun AND coalesce(mark.made, '') = $made
  AND mark.loading IS NULL
SET mark.ends = datetime(ends).epochSeconds
RETURN coalesce(mark.ends <= coalesce($now, datetime.realtime().epochSeconds), false) AS due
