// subjects_with_two_privileges.cypher: which users hold two privileges on one object that should not be held together?
// Each by an ALLOW there or above, or on a tag there, to the user, its groups or its roles, and without a DENY.
// Leaves out: owners, privileges that imply these, other conditions, and one role at a time. Ask check_by_name for a
// decision.
// $privilege  STRING  'SELECT_TABLE'
// $second     STRING  'MODIFY_TABLE', the other privilege
// $object     STRING  'table:hr.public.staff'
// $root       STRING  'metalake:ml'
// Returns rows: user STRING, first_by LIST OF STRING (the grantees of the first privilege), second_by LIST OF STRING,
// paths LIST OF PATH (from the user to the grantees), says STRING (why a row has no answer), due BOOLEAN (facts have
// ended, but are still stored; run `grantpath expire`)
// In Neo4j Browser run this line first, then the whole file:
// :params {privilege: 'SELECT_TABLE', second: 'MODIFY_TABLE', object: 'table:hr.public.staff', root: 'metalake:ml'}
// 1 the types of users, and how grants on tags count, by the policy in the graph
OPTIONAL MATCH (kind:RuleType:RulePart {root: $root, listed: true})
WITH collect(kind.name) AS user_types
OPTIONAL MATCH (fact:RuleFact:RulePart {root: $root}) WHERE any(name IN [$privilege, $second] WHERE fact.fact STARTS WITH 'ALLOW ' + name + '#')
WITH user_types, collect(fact.fact) AS by_tag
OPTIONAL MATCH (object:Entity {root: $root, ref: $object})
OPTIONAL CALL (object, user_types, by_tag) {
  // 2 the grants of both privileges there and above, and on the tags there, and the users to which each applies
  MATCH (object)-[:CHILD_OF*0..]->(above)-[:TAGGED*0..1]->(place)<-[grant:ALLOW|DENY]-(principal)
  WHERE grant.privilege IN [$privilege, $second]
    AND (place = above OR 'ALLOW ' + grant.privilege + '#' + place.type + ' ' + above.type IN by_tag)
  CALL (principal, user_types) {
    MATCH (user)-[:MEMBER_OF|HAS_ROLE*0..]->(principal) WHERE user.type IN user_types AND coalesce(user.exists, true)
    RETURN DISTINCT user
  }
  // 3 the users with both, and without a DENY
  WITH user, collect(DISTINCT principal) AS principals, collect(DISTINCT CASE grant.privilege WHEN $privilege THEN principal.ref END) AS first_by,
    collect(DISTINCT CASE grant.privilege WHEN $second THEN principal.ref END) AS second_by, collect(type(grant)) AS effects
  WHERE first_by <> [] AND second_by <> [] AND NOT 'DENY' IN effects
  CALL (user, principals) {
    UNWIND principals AS principal
    CALL (user, principal) {
      MATCH path = (user)-[:MEMBER_OF|HAS_ROLE]->(principal) RETURN path
    UNION ALL
      WITH user, principal WHERE NOT EXISTS { (user)-[:MEMBER_OF|HAS_ROLE]->(principal) }
      MATCH path = SHORTEST 1 (user)-[:MEMBER_OF|HAS_ROLE]->*(principal) RETURN path
    }
    RETURN collect(path) AS paths
  }
  RETURN user, first_by, second_by, paths
}
RETURN user.ref AS user, COLLECT { UNWIND first_by AS ref RETURN ref ORDER BY ref } AS first_by,
  COLLECT { UNWIND second_by AS ref RETURN ref ORDER BY ref } AS second_by, paths,
  CASE WHEN user_types = [] THEN 'there is no root ' + $root + ' with its policy in the graph; run `grantpath policy write ' + $root + '`'
    WHEN object IS NULL THEN $object + ' does not exist in ' + $root
    WHEN user IS NULL THEN 'no user holds ' + $privilege + ' and ' + $second + ' on ' + $object END AS says,
  EXISTS { (mark:Revision {root: $root}) WHERE mark.ends <= datetime.realtime().epochSeconds } AS due
ORDER BY user
