// what_is_granted_to_a_subject.cypher: what is granted to a subject, its groups and its roles?
// Leaves out: whether a grant is in effect: conditions, DENYs and inheritance decide. Ask check_by_name or
// which_by_name for a decision.
// $subject  STRING  'user:bob', or a group or role
// $root     STRING  'metalake:ml'
// Returns rows: effect STRING (ALLOW or DENY), privilege STRING, object STRING, principal STRING (the grantee),
// membership PATH (from the subject to the grantee), path PATH (the grant), says STRING (why a row has no answer), due
// BOOLEAN (facts have ended, but are still stored; run `grantpath expire`)
// In Neo4j Browser run this line first, then the whole file:
// :params {subject: 'user:bob', root: 'metalake:ml'}
OPTIONAL MATCH (subject:Entity {root: $root, ref: $subject}) WHERE coalesce(subject.exists, true)
OPTIONAL CALL (subject) {
  // 1 the subject, its groups and roles
  MATCH (subject)-[:MEMBER_OF|HAS_ROLE*0..]->(principal)
  WITH DISTINCT subject, principal
  // 2 the shortest path to each that has grants
  WHERE EXISTS { (principal)-[:ALLOW|DENY]->() }
  CALL (subject, principal) {
    MATCH membership = (subject)-[:MEMBER_OF|HAS_ROLE]->(principal) RETURN membership
  UNION ALL
    WITH subject, principal WHERE NOT EXISTS { (subject)-[:MEMBER_OF|HAS_ROLE]->(principal) }
    MATCH membership = SHORTEST 1 (subject)-[:MEMBER_OF|HAS_ROLE]->*(principal) RETURN membership
  }
  // 3 its grants
  MATCH path = (principal)-[grant:ALLOW|DENY]->(object)
  RETURN principal, membership, path, grant, object
}
RETURN type(grant) AS effect, grant.privilege AS privilege, object.ref AS object, principal.ref AS principal, membership, path,
  CASE WHEN subject IS NULL THEN $subject + ' does not exist in ' + $root
    WHEN grant IS NULL THEN 'nothing is granted to ' + $subject + ', its groups and its roles' END AS says,
  EXISTS { (mark:Revision {root: $root}) WHERE mark.ends <= datetime.realtime().epochSeconds } AS due
ORDER BY object, privilege, effect, principal
