// what_ends.cypher: which grants and memberships end, the earliest first?
// Leaves out: what does not end; and whether the subject has the same by another grant or membership.
// $limit  INTEGER  100, the maximum number of facts
// $root   STRING   'metalake:ml'
// Returns rows: until STRING (in UTC), fact STRING (ALLOW, DENY or MEMBER), privilege STRING (null for a membership),
// subject STRING, object STRING (of a membership the group or role), path PATH, says STRING (why a row has no answer),
// due BOOLEAN (facts have ended, but are still stored; run `grantpath expire`)
// In Neo4j Browser run this line first, then the whole file:
// :params {limit: 100, root: 'metalake:ml'}
OPTIONAL MATCH (mark:Revision {root: $root})
OPTIONAL CALL (mark) {
  WITH mark WHERE mark IS NOT NULL
  // 1 the facts that end: the index of each kind gives them in the order of their ends
  CALL () {
    MATCH path = ()-[edge:ALLOW]->() WHERE edge.root = $root AND edge.until >= ''
    RETURN path, edge ORDER BY edge.root, edge.until LIMIT toInteger($limit)
  UNION ALL
    MATCH path = ()-[edge:DENY]->() WHERE edge.root = $root AND edge.until >= ''
    RETURN path, edge ORDER BY edge.root, edge.until LIMIT toInteger($limit)
  UNION ALL
    MATCH path = ()-[edge:MEMBER_OF]->() WHERE edge.root = $root AND edge.until >= ''
    RETURN path, edge ORDER BY edge.root, edge.until LIMIT toInteger($limit)
  UNION ALL
    MATCH path = ()-[edge:HAS_ROLE]->() WHERE edge.root = $root AND edge.until >= ''
    RETURN path, edge ORDER BY edge.root, edge.until LIMIT toInteger($limit)
  }
  // 2 the first of all kinds
  WITH path, edge, startNode(edge) AS subject, endNode(edge) AS object
  RETURN path, edge, subject, object ORDER BY edge.until, subject.ref, object.ref, edge.privilege LIMIT toInteger($limit)
}
RETURN edge.until AS until, CASE WHEN edge:ALLOW OR edge:DENY THEN type(edge) WHEN edge IS NOT NULL THEN 'MEMBER' END AS fact,
  edge.privilege AS privilege, subject.ref AS subject, object.ref AS object, path,
  CASE WHEN mark IS NULL THEN 'there is no root ' + $root WHEN edge IS NULL THEN 'no grant and no membership ends in ' + $root END AS says,
  coalesce(mark.ends <= datetime.realtime().epochSeconds, false) AS due
ORDER BY until, subject, object, privilege
