// roles_with_the_same_grants.cypher: which roles have exactly the same grants?
// Leaves out: roles without grants; what they own; and what they have from roles that they hold.
// $root  STRING  'metalake:ml'
// Returns rows: roles LIST OF STRING, grants LIST OF STRING, says STRING (why a row has no answer), due BOOLEAN (facts
// have ended, but are still stored; run `grantpath expire`)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml'}
OPTIONAL MATCH (mark:Revision {root: $root})
OPTIONAL CALL (mark) {
  // 1 the grants of each role
  MATCH (role:Entity:Role {root: $root})-[grant:ALLOW|DENY]->(object) WHERE role.ref >= ''
  WITH role, type(grant) + ' ' + grant.privilege + ' on ' + object.ref AS line ORDER BY role.ref, line
  WITH role, collect(line) AS grants
  // 2 the roles, grouped by their grants
  WITH grants, collect(role.ref) AS roles WHERE size(roles) > 1
  RETURN roles, grants
}
RETURN roles, grants, CASE WHEN mark IS NULL THEN 'there is no root ' + $root
    WHEN roles IS NULL THEN 'no two roles have the same grants' END AS says,
  coalesce(mark.ends <= datetime.realtime().epochSeconds, false) AS due
ORDER BY size(roles) DESC, roles[0]
