// grants_on_the_root.cypher: what is granted on the root object, and so on everything below it?
// Leaves out: whether the policy inherits grants; if it does not, these apply to the root object only.
// $root  STRING  'metalake:ml'
// Returns rows: effect STRING (ALLOW, DENY or OWNS), privilege STRING (null for OWNS), subject STRING, users INTEGER
// (that it reaches: the subject, or its members), path PATH, says STRING (why a row has no answer), due BOOLEAN (facts
// have ended, but are still stored; run `grantpath expire`)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml'}
// 1 the types of users, by the policy in the graph
OPTIONAL MATCH (kind:RuleType:RulePart {root: $root, listed: true})
WITH collect(kind.name) AS user_types
OPTIONAL CALL (user_types) {
  // 2 the grants on the root object, and its owners
  MATCH (policy:RulePolicy {root: $root})
  MATCH (top:Entity {root: $root}) WHERE top.ref STARTS WITH policy.root_type + ':'
  MATCH path = (subject)-[grant:ALLOW|DENY|OWNS]->(top)
  // 3 the users that belong to each grantee
  CALL (subject, user_types) {
    MATCH (user)-[:MEMBER_OF|HAS_ROLE*0..]->(subject) WHERE user.type IN user_types
    RETURN count(DISTINCT user) AS users
  }
  RETURN subject, grant, path, users
}
RETURN type(grant) AS effect, grant.privilege AS privilege, subject.ref AS subject, users, path,
  CASE WHEN user_types = [] THEN 'there is no root ' + $root + ' with its policy in the graph; run `grantpath policy write ' + $root + '`'
    WHEN grant IS NULL THEN 'nothing is granted on the root object' END AS says,
  EXISTS { (mark:Revision {root: $root}) WHERE mark.ends <= datetime.realtime().epochSeconds } AS due
ORDER BY users DESC, effect, privilege, subject
