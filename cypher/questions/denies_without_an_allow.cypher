// denies_without_an_allow.cypher: which DENYs override nothing now? Neither the grantee nor a member of it has an ALLOW of
// the privilege on the object, above or below it, directly or through groups and roles.
// Leaves out: privileges that imply the denied one, and ownership. A DENY without an ALLOW can be intended: it also
// overrides later ALLOWs.
// $root  STRING  'metalake:ml'
// Returns rows: subject STRING, privilege STRING, object STRING, path PATH, says STRING (why a row has no answer)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml'}
OPTIONAL MATCH (mark:Revision {root: $root})
OPTIONAL CALL (mark) {
  // 1 the DENYs
  MATCH (subject:Entity {root: $root})-[grant:DENY]->(object) WHERE subject.ref >= ''
  // 2 the grantee and its members, with their groups and roles
  CALL (subject) {
    MATCH (member)-[:MEMBER_OF|HAS_ROLE*0..]->(subject)
    WITH DISTINCT member
    MATCH (member)-[:MEMBER_OF|HAS_ROLE*0..]->(principal)
    RETURN collect(DISTINCT principal) AS principals
  }
  // 3 none of these has an ALLOW on the object, above or below it
  WITH * WHERE NOT EXISTS {
    UNWIND principals AS principal
    MATCH (principal)-[:ALLOW {privilege: grant.privilege}]->(place)
    WHERE EXISTS { (place)-[:CHILD_OF*0..]->(object) } OR EXISTS { (object)-[:CHILD_OF*0..]->(place) } }
  MATCH path = (subject)-[grant]->(object)
  RETURN subject, grant, object, path
}
RETURN subject.ref AS subject, grant.privilege AS privilege, object.ref AS object, path, CASE WHEN mark IS NULL THEN 'there is no root ' + $root
    WHEN grant IS NULL THEN 'no DENY is without an ALLOW that it overrides' END AS says
ORDER BY subject, object, privilege
