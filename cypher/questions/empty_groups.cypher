// empty_groups.cypher: which groups have no users? No user is in the group, directly or through another group.
// Leaves out: roles (see roles_without_holders).
// $root  STRING  'metalake:ml'
// Returns rows: group STRING, members LIST OF STRING (groups without users that are in it), grants INTEGER (to the
// group), says STRING (why a row has no answer), due BOOLEAN (facts have ended, but are still stored; run `grantpath
// expire`)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml'}
// 1 the types of users, by the policy in the graph
OPTIONAL MATCH (kind:RuleType:RulePart {root: $root, listed: true})
WITH collect(kind.name) AS user_types
OPTIONAL CALL (user_types) {
  MATCH (kind:RuleType:RulePart {root: $root, kind: 'group'})
  MATCH (group:Entity {root: $root}) WHERE group.ref STARTS WITH kind.name + ':' AND coalesce(group.exists, true)
  // 2 what is in the group, directly or through others
  CALL (group) {
    MATCH (member)-[:MEMBER_OF*0..]->(group)
    RETURN collect(DISTINCT member) AS members
  }
  WITH group, members, user_types WHERE none(member IN members WHERE member.type IN user_types)
  RETURN group, members
}
RETURN group.ref AS group, COLLECT { UNWIND members AS member WITH member.ref AS ref WHERE ref <> group.ref RETURN ref ORDER BY ref } AS members,
  COUNT { (group)-[:ALLOW|DENY]->() } AS grants,
  CASE WHEN user_types = [] THEN 'there is no root ' + $root + ' with its policy in the graph; run `grantpath policy write ' + $root + '`'
    WHEN group IS NULL THEN 'every group has a user' END AS says,
  EXISTS { (mark:Revision {root: $root}) WHERE mark.ends <= datetime.realtime().epochSeconds } AS due
ORDER BY group
