// users_without_any_grant.cypher: which users have no grant and own nothing, themselves or through their groups and
// roles?
// Leaves out: what the policy allows to everyone; and DENYs, because a DENY gives nothing.
// $root  STRING  'metalake:ml'
// Returns rows: user STRING, principals LIST OF STRING (the groups and roles to which it belongs), says STRING (why a
// row has no answer), due BOOLEAN (facts have ended, but are still stored; run `grantpath expire`)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml'}
// 1 the types of users, by the policy in the graph
OPTIONAL MATCH (kind:RuleType:RulePart {root: $root, listed: true})
WITH collect(kind.name) AS user_types
OPTIONAL CALL (user_types) {
  MATCH (user:Entity {root: $root}) WHERE user.type IN user_types AND user.ref >= '' AND coalesce(user.exists, true)
  // 2 the user with its groups and roles
  CALL (user) {
    MATCH (user)-[:MEMBER_OF|HAS_ROLE*0..]->(principal)
    RETURN collect(DISTINCT principal) AS principals
  }
  // 3 none of them has an ALLOW or owns an object
  WITH user, principals WHERE none(principal IN principals WHERE EXISTS { (principal)-[:ALLOW|OWNS]->() })
  RETURN user, principals
}
RETURN user.ref AS user, COLLECT { UNWIND principals AS each WITH each.ref AS ref WHERE ref <> user.ref RETURN ref ORDER BY ref } AS principals,
  CASE WHEN user_types = [] THEN 'there is no root ' + $root + ' with its policy in the graph; run `grantpath policy write ' + $root + '`'
    WHEN user IS NULL THEN 'every user has a grant or owns an object' END AS says,
  EXISTS { (mark:Revision {root: $root}) WHERE mark.ends <= datetime.realtime().epochSeconds } AS due
ORDER BY user
