// grants_to_users_directly.cypher: which grants are to users themselves, and not to a group or role?
// Leaves out: whether they are in effect; and ownership (see everything_a_user_owns).
// $root  STRING  'metalake:ml'
// Returns rows: user STRING, effect STRING (ALLOW or DENY), privilege STRING, object STRING, path PATH, says STRING
// (why a row has no answer), due BOOLEAN (facts have ended, but are still stored; run `grantpath expire`)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml'}
// 1 the types of users, by the policy in the graph
OPTIONAL MATCH (kind:RuleType:RulePart {root: $root, listed: true})
WITH collect(kind.name) AS user_types
OPTIONAL CALL (user_types) {
  // 2 the grants of the users
  MATCH (user:Entity {root: $root}) WHERE user.type IN user_types AND user.ref >= ''
  MATCH path = (user)-[grant:ALLOW|DENY]->(object)
  RETURN user, grant, object, path
}
RETURN user.ref AS user, type(grant) AS effect, grant.privilege AS privilege, object.ref AS object, path,
  CASE WHEN user_types = [] THEN 'there is no root ' + $root + ' with its policy in the graph; run `grantpath policy write ' + $root + '`'
    WHEN grant IS NULL THEN 'no grant is to a user' END AS says,
  EXISTS { (mark:Revision {root: $root}) WHERE mark.ends <= datetime.realtime().epochSeconds } AS due
ORDER BY user, object, privilege, effect
