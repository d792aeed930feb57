// ending_facts.cypher: the grants and memberships that end, the earliest first: at most $limit.
// Returns one row: answer LIST OF MAP (fact: 'MEMBER', 'ALLOW' or 'DENY', privilege: null for a membership, subject,
// object, until), revision, begun, revision_after, begun_after, due BOOLEAN (a fact has ended and must be removed
// first), policy STRING (the digest of the tenant's policy), made STRING (the creation id; it differs if the tenant was
// recreated)
// $root    STRING          'metalake:ml'
// $now     INTEGER         null for the server's clock, or the seconds since 1970
// $by      STRING          '2026-12-31T00:00:00Z': only facts that end then or earlier
// $hidden  LIST OF STRING  [], references that answers omit
// $limit   INTEGER         1000
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', now: null, by: '2026-12-31T00:00:00Z', hidden: [], limit: 1000}
MATCH (before:Revision {root: $root})
WITH before.revision AS revision, before.begun AS begun
CALL () {
  CALL () {
    MATCH (subject)-[edge:ALLOW]->(object) WHERE edge.root = $root AND edge.until <= $by
    RETURN subject, edge, object
  UNION ALL
    MATCH (subject)-[edge:DENY]->(object) WHERE edge.root = $root AND edge.until <= $by
    RETURN subject, edge, object
  UNION ALL
    MATCH (subject)-[edge:MEMBER_OF]->(object) WHERE edge.root = $root AND edge.until <= $by
    RETURN subject, edge, object
  UNION ALL
    MATCH (subject)-[edge:HAS_ROLE]->(object) WHERE edge.root = $root AND edge.until <= $by
    RETURN subject, edge, object
  }
  WITH subject, edge, object WHERE NOT subject.ref IN $hidden AND NOT object.ref IN $hidden
  WITH subject, edge, object ORDER BY edge.until, subject.ref, object.ref, edge.privilege LIMIT toInteger($limit)
  RETURN collect({fact: CASE WHEN edge:MEMBER_OF OR edge:HAS_ROLE THEN 'MEMBER' ELSE type(edge) END, privilege: edge.privilege,
    subject: subject.ref, object: object.ref, until: edge.until}) AS answer
}
MATCH (after:Revision {root: $root})
RETURN answer, revision, begun, after.revision AS revision_after, after.begun AS begun_after,
  coalesce(after.ends <= coalesce($now, datetime.realtime().epochSeconds), false) AS due,
  after.digest AS policy, after.made AS made
