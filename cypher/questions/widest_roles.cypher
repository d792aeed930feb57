// widest_roles.cypher: which groups and roles give the most access: to how many objects, for how many users?
// Leaves out: DENYs and conditions, so the numbers are upper bounds; and what a group or role has from others that it
// belongs to.
// $limit  INTEGER  10, the maximum number of groups and roles
// $root   STRING   'metalake:ml'
// Returns rows: principal STRING, users INTEGER (that belong to it), grants INTEGER (ALLOWs), objects INTEGER (with an
// ALLOW, and everything below), says STRING (why a row has no answer), due BOOLEAN (facts have ended, but are still
// stored; run `grantpath expire`)
// In Neo4j Browser run this line first, then the whole file:
// :params {limit: 10, root: 'metalake:ml'}
// 1 the types of users, by the policy in the graph
OPTIONAL MATCH (kind:RuleType:RulePart {root: $root, listed: true})
WITH collect(kind.name) AS user_types
OPTIONAL CALL (user_types) {
  // 2 the places with an ALLOW to a subject that is not a user
  MATCH (principal:Entity:Subject {root: $root})-[:ALLOW]->(place) WHERE principal.ref >= '' AND NOT principal.type IN user_types
  WITH user_types, place, collect(DISTINCT principal) AS principals
  // 3 the objects, there and below: counted once for each place, and only for the highest of a subject's places
  CALL (place) { MATCH (place)<-[:CHILD_OF*0..]-(object) WHERE coalesce(object.exists, true) RETURN count(object) AS inside }
  CALL (place) { MATCH (place)-[:CHILD_OF*1..]->(above) RETURN collect(above) AS higher }
  UNWIND principals AS principal
  WITH user_types, principal, collect(place) AS places, collect({higher: higher, inside: inside}) AS counted
  WITH user_types, principal, reduce(objects = 0, each IN counted |
    objects + CASE WHEN any(above IN each.higher WHERE above IN places) THEN 0 ELSE each.inside END) AS objects
  // 4 the users
  CALL (principal, user_types) {
    MATCH (user)-[:MEMBER_OF|HAS_ROLE*0..]->(principal) WHERE user.type IN user_types
    RETURN count(DISTINCT user) AS users
  }
  RETURN principal, users, objects ORDER BY objects DESC, users DESC, principal.ref LIMIT toInteger($limit)
}
RETURN principal.ref AS principal, users, COUNT { (principal)-[:ALLOW]->() } AS grants, objects,
  CASE WHEN user_types = [] THEN 'there is no root ' + $root + ' with its policy in the graph; run `grantpath policy write ' + $root + '`'
    WHEN principal IS NULL THEN 'no group or role has an ALLOW' END AS says,
  EXISTS { (mark:Revision {root: $root}) WHERE mark.ends <= datetime.realtime().epochSeconds } AS due
ORDER BY objects DESC, users DESC, principal
