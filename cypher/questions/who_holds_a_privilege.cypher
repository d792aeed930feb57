// who_holds_a_privilege.cypher: which users hold a privilege on an object, by which grant and path? Every ALLOW of it
// there or above, or on a tag there, to the user, its groups or its roles; a user to which a DENY of it applies is omitted.
// Leaves out: owners, privileges that imply it, other conditions, and one role at a time. Ask who_by_name for a
// decision.
// $privilege  STRING  'SELECT_TABLE'
// $object     STRING  'table:hr.public.staff'
// $root       STRING  'metalake:ml'
// Returns rows: user STRING, principal STRING (the grantee), place STRING (where it is granted), path PATH (the
// membership), granted PATH, says STRING (why a row has no answer), due BOOLEAN (facts have ended, but are still
// stored; run `grantpath expire`)
// In Neo4j Browser run this line first, then the whole file:
// :params {privilege: 'SELECT_TABLE', object: 'table:hr.public.staff', root: 'metalake:ml'}
// 1 the types of users, and how grants on tags count, by the policy in the graph
OPTIONAL MATCH (kind:RuleType:RulePart {root: $root, listed: true})
WITH collect(kind.name) AS user_types
OPTIONAL MATCH (fact:RuleFact:RulePart {root: $root}) WHERE fact.fact STARTS WITH 'ALLOW ' + $privilege + '#'
WITH user_types, collect(fact.fact) AS by_tag
OPTIONAL MATCH (object:Entity {root: $root, ref: $object})
OPTIONAL CALL (object, user_types, by_tag) {
  // 2 the grants of the privilege there and above, and on the tags there, and the users to which each applies
  MATCH (object)-[:CHILD_OF*0..]->(above)-[:TAGGED*0..1]->(place)
  WHERE place = above OR 'ALLOW ' + $privilege + '#' + place.type + ' ' + above.type IN by_tag
  WITH DISTINCT user_types, place
  MATCH (place)<-[grant:ALLOW|DENY {privilege: $privilege}]-(principal)
  CALL (principal, user_types) {
    MATCH (user)-[:MEMBER_OF|HAS_ROLE*0..]->(principal) WHERE user.type IN user_types AND coalesce(user.exists, true)
    RETURN DISTINCT user
  }
  // 3 the users to which no DENY applies
  WITH user, collect({type: type(grant), grant: grant, principal: principal, place: place}) AS found
  WHERE none(each IN found WHERE each.type = 'DENY')
  UNWIND found AS each
  WITH user, each.grant AS grant, each.principal AS principal, each.place AS place
  MATCH granted = (principal)-[grant]->(place)
  // 4 the path: a direct membership, which needs no search among the many that a user can have, or a shortest one
  CALL (user, principal) {
    MATCH path = (user)-[:MEMBER_OF|HAS_ROLE]->(principal) RETURN path
  UNION ALL
    WITH user, principal WHERE NOT EXISTS { (user)-[:MEMBER_OF|HAS_ROLE]->(principal) }
    MATCH path = SHORTEST 1 (user)-[:MEMBER_OF|HAS_ROLE]->*(principal) RETURN path
  }
  RETURN user, principal, place, path, granted
}
RETURN user.ref AS user, principal.ref AS principal, place.ref AS place, path, granted,
  CASE WHEN user_types = [] THEN 'there is no root ' + $root + ' with its policy in the graph; run `grantpath policy write ' + $root + '`'
    WHEN object IS NULL THEN $object + ' does not exist in ' + $root
    WHEN user IS NULL THEN 'no user holds ' + $privilege + ' on ' + $object END AS says,
  EXISTS { (mark:Revision {root: $root}) WHERE mark.ends <= datetime.realtime().epochSeconds } AS due
ORDER BY user, place, principal
