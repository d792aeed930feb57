// denies_without_an_allow.cypher: which DENYs override nothing now? Neither the grantee nor a member of it has an ALLOW of
// the privilege on the object, above or below it, directly or through groups and roles.
// Leaves out: privileges that imply the denied one, and ownership. A DENY without an ALLOW can be intended: it also
// overrides later ALLOWs.
// $root  STRING  'metalake:ml'
// Returns rows: subject STRING, privilege STRING, object STRING, path PATH, says STRING (why a row has no answer), due
// BOOLEAN (facts have ended, but are still stored; run `grantpath expire`)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml'}
OPTIONAL MATCH (mark:Revision {root: $root})
OPTIONAL CALL (mark) {
  // 1 the DENYs, by privilege and place: their object with what is below it, and each place above
  MATCH (subject:Entity {root: $root})-[grant:DENY]->(object) WHERE subject.ref >= ''
  WITH object, collect(grant) AS denies
  CALL (object) { RETURN object AS place, true AS below UNION ALL MATCH (object)-[:CHILD_OF*1..]->(place) RETURN place, false AS below }
  UNWIND denies AS grant
  WITH place, below, grant.privilege AS privilege, collect(grant) AS denies
  WITH place, below, collect({privilege: privilege, denies: denies}) AS denied
  // 2 the ALLOWs there, and the grantees with their members: one search for all DENYs of a privilege
  CALL (place, below, denied) {
    UNWIND CASE WHEN below THEN COLLECT { MATCH (place)<-[:CHILD_OF*0..]-(inner) RETURN inner } ELSE [place] END AS inner
    MATCH (inner)<-[allow:ALLOW]-(grantee) WHERE allow.privilege IN [each IN denied | each.privilege]
    RETURN allow.privilege AS privilege, collect(DISTINCT grantee) AS grantees
  }
  CALL (grantees) {
    UNWIND grantees AS grantee
    MATCH (member)-[:MEMBER_OF|HAS_ROLE*0..]->(grantee)
    RETURN collect(DISTINCT member) AS allowed
  }
  UNWIND [each IN denied WHERE each.privilege = privilege | each.denies] AS denies
  // 3 the DENYs whose grantee is one of these, or has one as a member
  CALL (denies, allowed) {
    UNWIND denies AS grant
    WITH startNode(grant) AS subject, allowed, collect(grant) AS own
    CALL (subject) { MATCH (member)-[:MEMBER_OF|HAS_ROLE*0..]->(subject) RETURN collect(DISTINCT member) AS members }
    WITH own WHERE any(member IN members WHERE member IN allowed)
    UNWIND own AS grant
    RETURN grant
  }
  RETURN collect(DISTINCT grant) AS overriding
}
OPTIONAL CALL (mark, overriding) {
  // 4 the others
  MATCH path = (subject:Entity {root: $root})-[grant:DENY]->(object) WHERE subject.ref >= '' AND NOT grant IN overriding
  RETURN subject, grant, object, path
}
RETURN subject.ref AS subject, grant.privilege AS privilege, object.ref AS object, path, CASE WHEN mark IS NULL THEN 'there is no root ' + $root
    WHEN grant IS NULL THEN 'no DENY is without an ALLOW that it overrides' END AS says,
  coalesce(mark.ends <= datetime.realtime().epochSeconds, false) AS due
ORDER BY subject, object, privilege
