// due_facts.cypher: the grants and memberships whose end has come, the earliest ends first; of one end, the DENYs last.
// $root   STRING   'metalake:ml'
// $now    INTEGER  null for the server's clock, or the seconds since 1970
// $limit  INTEGER  5000
// Returns one row per fact: fact STRING ('MEMBER', 'ALLOW' or 'DENY'), privilege STRING (null for a membership),
// subject STRING, object STRING, until STRING
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', now: null, limit: 5000}
// a time in UTC, whatever the zone of the server is
WITH toString(datetime('1970-01-01T00:00:00Z') + duration({seconds: coalesce($now, datetime.realtime().epochSeconds)})) AS clock
// as ends are written: toString() omits the seconds if they are 00
WITH left(clock, 16) + CASE size(clock) WHEN 17 THEN ':00' ELSE substring(clock, 16, 3) END + 'Z' AS now
// ordered by the index, whose first key is the root: each part reads no more than the limit
CALL (now) {
  MATCH (subject)-[edge:ALLOW]->(object) WHERE edge.root = $root AND edge.until <= now
  RETURN subject, edge, object ORDER BY edge.root, edge.until LIMIT toInteger($limit)
UNION ALL
  MATCH (subject)-[edge:MEMBER_OF]->(object) WHERE edge.root = $root AND edge.until <= now
  RETURN subject, edge, object ORDER BY edge.root, edge.until LIMIT toInteger($limit)
UNION ALL
  MATCH (subject)-[edge:HAS_ROLE]->(object) WHERE edge.root = $root AND edge.until <= now
  RETURN subject, edge, object ORDER BY edge.root, edge.until LIMIT toInteger($limit)
UNION ALL
  MATCH (subject)-[edge:DENY]->(object) WHERE edge.root = $root AND edge.until <= now
  RETURN subject, edge, object ORDER BY edge.root, edge.until LIMIT toInteger($limit)
}
WITH subject, edge, object ORDER BY edge.until, edge:DENY LIMIT toInteger($limit)
RETURN CASE WHEN edge:MEMBER_OF OR edge:HAS_ROLE THEN 'MEMBER' ELSE type(edge) END AS fact, edge.privilege AS privilege,
  subject.ref AS subject, object.ref AS object, edge.until AS until
