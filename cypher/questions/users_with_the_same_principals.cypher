// users_with_the_same_principals.cypher: which users belong to exactly the same groups and roles, directly or through
// others?
// Leaves out: users that belong to nothing; and grants to the users themselves, in which they can differ.
// $root  STRING  'metalake:ml'
// Returns rows: users LIST OF STRING, principals LIST OF STRING (their groups and roles), says STRING (why a row has no
// answer), due BOOLEAN (facts have ended, but are still stored; run `grantpath expire`)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml'}
// 1 the types of users, by the policy in the graph
OPTIONAL MATCH (kind:RuleType:RulePart {root: $root, listed: true})
WITH collect(kind.name) AS user_types
OPTIONAL CALL (user_types) {
  MATCH (user:Entity {root: $root}) WHERE user.type IN user_types AND user.ref >= '' AND coalesce(user.exists, true)
  // 2 the groups and roles of each user
  CALL (user) {
    MATCH (user)-[:MEMBER_OF|HAS_ROLE*1..]->(principal)
    WITH DISTINCT principal.ref AS ref ORDER BY ref
    RETURN collect(ref) AS principals
  }
  // 3 the users, grouped by these
  WITH user, principals ORDER BY user.ref
  WITH principals, collect(user.ref) AS users WHERE size(users) > 1 AND principals <> []
  RETURN users, principals
}
RETURN users, principals,
  CASE WHEN user_types = [] THEN 'there is no root ' + $root + ' with its policy in the graph; run `grantpath policy write ' + $root + '`'
    WHEN users IS NULL THEN 'no two users belong to the same groups and roles' END AS says,
  EXISTS { (mark:Revision {root: $root}) WHERE mark.ends <= datetime.realtime().epochSeconds } AS due
ORDER BY size(users) DESC, users[0]
