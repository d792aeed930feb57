// roles_without_holders.cypher: which roles have no users? No user holds the role, directly or through a group or role.
// Leaves out: built-in roles; and users that get the role when the policy gives it to everyone.
// $root  STRING  'metalake:ml'
// Returns rows: role STRING, held_by LIST OF STRING (groups and roles without users that hold it), grants INTEGER (to
// the role), says STRING (why a row has no answer), due BOOLEAN (facts have ended, but are still stored; run `grantpath
// expire`)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml'}
// 1 the types of users, by the policy in the graph
OPTIONAL MATCH (kind:RuleType:RulePart {root: $root, listed: true})
WITH collect(kind.name) AS user_types
OPTIONAL CALL (user_types) {
  MATCH (role:Entity:Role {root: $root}) WHERE role.ref >= '' AND NOT coalesce(role.builtin, false)
  // 2 what holds the role, directly or through others
  CALL (role) {
    MATCH (holder)-[:MEMBER_OF|HAS_ROLE*0..]->(role)
    RETURN collect(DISTINCT holder) AS holders
  }
  WITH role, holders, user_types WHERE none(holder IN holders WHERE holder.type IN user_types)
  RETURN role, holders
}
RETURN role.ref AS role, COLLECT { UNWIND holders AS holder WITH holder.ref AS ref WHERE ref <> role.ref RETURN ref ORDER BY ref } AS held_by,
  COUNT { (role)-[:ALLOW|DENY]->() } AS grants,
  CASE WHEN user_types = [] THEN 'there is no root ' + $root + ' with its policy in the graph; run `grantpath policy write ' + $root + '`'
    WHEN role IS NULL THEN 'every role has a user' END AS says,
  EXISTS { (mark:Revision {root: $root}) WHERE mark.ends <= datetime.realtime().epochSeconds } AS due
ORDER BY role
