// who_could_grant_themselves.cypher: which users could give a privilege on an object to themselves, by one change? They
// own the object or the root object; or they hold the privilege to grant; or they may change memberships, and a group
// or role has the privilege.
// Leaves out: the policy's own rules for changes, so name the privileges that it requires; chains of changes; tags; and DENYs
// of the privilege, which such a user could often revoke. `grantpath change --by` asks the policy.
// $privilege   STRING  'SELECT_TABLE'
// $object      STRING  'table:hr.public.staff'
// $grant_with  STRING  'MANAGE_GRANTS', the privilege that grants require, on the object or the root object
// $join_with   STRING  'MANAGE_GROUPS', the privilege that changes of memberships require
// $root        STRING  'metalake:ml'
// Returns rows: user STRING, how STRING (owns, grants or joins), by STRING (who owns or has the privilege to do so),
// gains STRING (the group or role to join), path PATH (from the user to `by`), says STRING (why a row has no answer)
// In Neo4j Browser run this line first, then the whole file:
// :params {privilege: 'SELECT_TABLE', object: 'table:hr.public.staff', grant_with: 'MANAGE_GRANTS', join_with: 'MANAGE_GROUPS', root: 'metalake:ml'}
// 1 the types of users, by the policy in the graph
OPTIONAL MATCH (kind:RuleType:RulePart {root: $root, listed: true})
WITH collect(kind.name) AS user_types
OPTIONAL MATCH (object:Entity {root: $root, ref: $object})
OPTIONAL CALL (object, user_types) {
  // 2 what to join: groups and roles with an ALLOW of the privilege there or above
  CALL (object, user_types) {
    MATCH (object)-[:CHILD_OF*0..]->()<-[:ALLOW {privilege: $privilege}]-(gains) WHERE NOT gains.type IN user_types
    RETURN collect(DISTINCT gains.ref) AS joined
  }
  CALL (object, user_types) {
    // 3 who could grant it, or may join: owners, and users with a privilege to do so and no DENY of it
    MATCH (object)-[:CHILD_OF*0..]->(place) WHERE place = object OR NOT EXISTS { (place)-[:CHILD_OF]->() }
    MATCH (by)-[right:ALLOW|DENY|OWNS]->(place) WHERE type(right) = 'OWNS' OR right.privilege IN [$grant_with, $join_with]
    CALL (by, user_types) {
      MATCH (user)-[:MEMBER_OF|HAS_ROLE*0..]->(by) WHERE user.type IN user_types AND coalesce(user.exists, true)
      RETURN DISTINCT user
    }
    WITH user, collect({effect: type(right), right: coalesce(right.privilege, ''), by: by}) AS rights
    WITH user, rights, [each IN rights WHERE each.effect = 'DENY' | each.right] AS denied
    UNWIND rights AS each
    WITH user, each WHERE NOT each.right IN denied
    WITH user, each.by AS by, collect(DISTINCT CASE each.right WHEN $join_with THEN 'joins' WHEN '' THEN 'owns' ELSE 'grants' END) AS ways
    // 4 the path: a direct membership, which needs no search among the many that a user can have, or a shortest one
    CALL (user, by) {
      MATCH path = (user)-[:MEMBER_OF|HAS_ROLE]->(by) RETURN path
    UNION ALL
      WITH user, by WHERE NOT EXISTS { (user)-[:MEMBER_OF|HAS_ROLE]->(by) }
      MATCH path = SHORTEST 1 (user)-[:MEMBER_OF|HAS_ROLE]->*(by) RETURN path
    }
    RETURN user, by, ways, path
  }
  UNWIND ways AS how
  UNWIND CASE how WHEN 'joins' THEN joined ELSE [null] END AS gains
  RETURN user, how, by, gains, path
}
RETURN user.ref AS user, how, by.ref AS by, gains, path,
  CASE WHEN user_types = [] THEN 'there is no root ' + $root + ' with its policy in the graph; run `grantpath policy write ' + $root + '`'
    WHEN object IS NULL THEN $object + ' does not exist in ' + $root
    WHEN user IS NULL THEN 'no user could give it to themselves by one change' END AS says
ORDER BY user, how, by, gains
