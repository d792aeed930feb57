// users_without_a_group.cypher: which users are in no group?
// Leaves out: groups to which a user belongs only through a role.
// $root  STRING  'metalake:ml'
// Returns rows: user STRING, roles LIST OF STRING (that it holds directly), says STRING (why a row has no answer), due
// BOOLEAN (facts have ended, but are still stored; run `grantpath expire`)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml'}
// 1 the types of users, by the policy in the graph
OPTIONAL MATCH (kind:RuleType:RulePart {root: $root, listed: true})
WITH collect(kind.name) AS user_types
OPTIONAL CALL (user_types) {
  // 2 the users without a membership in a group
  MATCH (user:Entity {root: $root}) WHERE user.type IN user_types AND user.ref >= '' AND coalesce(user.exists, true)
    AND NOT EXISTS { (user)-[:MEMBER_OF]->() }
  RETURN user
}
RETURN user.ref AS user, COLLECT { MATCH (user)-[:HAS_ROLE]->(role) RETURN role.ref AS ref ORDER BY ref } AS roles,
  CASE WHEN user_types = [] THEN 'there is no root ' + $root + ' with its policy in the graph; run `grantpath policy write ' + $root + '`'
    WHEN user IS NULL THEN 'every user is in a group' END AS says,
  EXISTS { (mark:Revision {root: $root}) WHERE mark.ends <= datetime.realtime().epochSeconds } AS due
ORDER BY user
