// who_could_grant_themselves.cypher: which users could give a privilege on an object to themselves, by one change? They
// own the object, the root object, or a tag of the object that carries such grants; or they hold the privilege to grant; or
// they may change memberships, and a group or role has the privilege; or they may tag the object, and have the privilege
// on a tag.
// Leaves out: the policy's own rules for changes, so name the privileges that it requires; chains of changes; and DENYs
// of the privilege, which such a user could often revoke. `grantpath change --by` asks the policy.
// $privilege   STRING  'SELECT_TABLE'
// $object      STRING  'table:hr.public.staff'
// $grant_with  STRING  'MANAGE_GRANTS', the privilege that grants require, on the object or the root object
// $join_with   STRING  'MANAGE_GROUPS', the privilege that changes of memberships require
// $tag_with    STRING  'MODIFY_TABLE', the privilege that tagging the object requires, there or above it
// $root        STRING  'metalake:ml'
// Returns rows: user STRING, how STRING (owns, grants, joins or tags), by STRING (who owns or has the privilege to do
// so), gains STRING (the group or role to join, or the tag to give the object), path PATH (from the user to `by`), says
// STRING (why a row has no answer), due BOOLEAN (facts have ended, but are still stored; run `grantpath expire`)
// In Neo4j Browser run this line first, then the whole file:
// :params {privilege: 'SELECT_TABLE', object: 'table:hr.public.staff', grant_with: 'MANAGE_GRANTS', join_with: 'MANAGE_GROUPS', tag_with: 'MODIFY_TABLE', root: 'metalake:ml'}
// 1 the types of users, and how grants on tags count, by the policy in the graph
OPTIONAL MATCH (kind:RuleType:RulePart {root: $root, listed: true})
WITH collect(kind.name) AS user_types
OPTIONAL MATCH (fact:RuleFact:RulePart {root: $root}) WHERE fact.fact STARTS WITH 'ALLOW ' + $privilege + '#'
WITH user_types, collect(fact.fact) AS by_tag
OPTIONAL MATCH (object:Entity {root: $root, ref: $object})
OPTIONAL CALL (object, user_types, by_tag) {
  // 2 the tags of the object that count; what to join: groups and roles with an ALLOW of the privilege there or above
  CALL (object, by_tag) {
    MATCH (object)-[:CHILD_OF*0..]->(above)-[:TAGGED]->(tag)
    WHERE 'ALLOW ' + $privilege + '#' + tag.type + ' ' + above.type IN by_tag
    RETURN collect(DISTINCT tag) AS tags
  }
  CALL (object, tags, user_types) {
    MATCH (object)-[:CHILD_OF*0..]->(place)
    WITH tags, user_types, collect(place) AS places
    UNWIND places + tags AS place
    MATCH (place)<-[:ALLOW {privilege: $privilege}]-(gains) WHERE NOT gains.type IN user_types
    RETURN collect(DISTINCT gains.ref) AS joined
  }
  CALL (object, tags, user_types) {
    // 3 who could grant it, join or tag: owners, and users with a privilege to do so and no DENY of it
    CALL (object, tags) {
      MATCH (object)-[:CHILD_OF*0..]->(place) WHERE place = object OR NOT EXISTS { (place)-[:CHILD_OF]->() }
      MATCH (by)-[right:ALLOW|DENY|OWNS]->(place) WHERE type(right) = 'OWNS' OR right.privilege IN [$grant_with, $join_with]
      RETURN by, right
    UNION
      MATCH (object)-[:CHILD_OF*0..]->(place)<-[right:ALLOW|DENY {privilege: $tag_with}]-(by)
      RETURN by, right
    UNION
      UNWIND tags AS place
      MATCH (by)-[right:ALLOW|DENY|OWNS]->(place) WHERE type(right) = 'OWNS' OR right.privilege = $grant_with
      RETURN by, right
    }
    CALL (by, user_types) {
      MATCH (user)-[:MEMBER_OF|HAS_ROLE*0..]->(by) WHERE user.type IN user_types AND coalesce(user.exists, true)
      RETURN DISTINCT user
    }
    WITH user, collect({effect: type(right), right: coalesce(right.privilege, ''), by: by}) AS rights
    WITH user, rights, [each IN rights WHERE each.effect = 'DENY' | each.right] AS denied
    UNWIND rights AS each
    WITH user, each WHERE NOT each.right IN denied
    UNWIND CASE each.right WHEN '' THEN ['owns'] ELSE [way IN [[$grant_with, 'grants'], [$join_with, 'joins'], [$tag_with, 'tags']]
      WHERE way[0] = each.right | way[1]] END AS way
    WITH user, each.by AS by, collect(DISTINCT way) AS ways
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
  CALL (object, user, how, joined, tags, by_tag) {
    UNWIND CASE how WHEN 'joins' THEN joined WHEN 'tags' THEN [] ELSE [null] END AS gains
    RETURN gains
  UNION ALL
    // 5 the tags that would give it: with an ALLOW of the privilege to the user
    WITH * WHERE how = 'tags'
    MATCH (user)-[:MEMBER_OF|HAS_ROLE*0..]->(principal)
    WITH DISTINCT object, tags, by_tag, principal
    MATCH (principal)-[:ALLOW {privilege: $privilege}]->(tag)
    WHERE 'ALLOW ' + $privilege + '#' + tag.type + ' ' + object.type IN by_tag AND NOT tag IN tags
    RETURN DISTINCT tag.ref AS gains
  }
  RETURN user, how, by, gains, path
}
RETURN user.ref AS user, how, by.ref AS by, gains, path,
  CASE WHEN user_types = [] THEN 'there is no root ' + $root + ' with its policy in the graph; run `grantpath policy write ' + $root + '`'
    WHEN object IS NULL THEN $object + ' does not exist in ' + $root
    WHEN user IS NULL THEN 'no user could give it to themselves by one change' END AS says,
  EXISTS { (mark:Revision {root: $root}) WHERE mark.ends <= datetime.realtime().epochSeconds } AS due
ORDER BY user, how, by, gains
