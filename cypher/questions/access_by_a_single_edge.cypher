// access_by_a_single_edge.cypher: on which single edges does a subject's privilege on an object depend? Each row is a
// membership or grant: if it is removed, the subject has no ALLOW of the privilege there or above, or on a tag there.
// Leaves out: owners, tags that could be removed from the object, privileges that imply it, DENYs and other conditions.
// Ask check_by_name for a decision.
// $subject    STRING  'user:bob'
// $privilege  STRING  'SELECT_TABLE'
// $object     STRING  'table:hr.public.staff'
// $root       STRING  'metalake:ml'
// Returns rows: start STRING, edge STRING (MEMBER_OF, HAS_ROLE or ALLOW), end STRING, path PATH, says STRING (why a row
// has no answer), due BOOLEAN (facts have ended, but are still stored; run `grantpath expire`)
// In Neo4j Browser run this line first, then the whole file:
// :params {subject: 'user:bob', privilege: 'SELECT_TABLE', object: 'table:hr.public.staff', root: 'metalake:ml'}
OPTIONAL MATCH (subject:Entity {root: $root, ref: $subject}) WHERE coalesce(subject.exists, true)
OPTIONAL MATCH (object:Entity {root: $root, ref: $object})
OPTIONAL MATCH (fact:RuleFact:RulePart {root: $root}) WHERE fact.fact STARTS WITH 'ALLOW ' + $privilege + '#'
WITH subject, object, collect(fact.fact) AS by_tag
OPTIONAL CALL (subject, object, by_tag) {
  // 1 the subject with its groups and roles, and their ALLOWs on the object and above it, and on the tags there
  CALL (subject) { MATCH (subject)-[:MEMBER_OF|HAS_ROLE*0..]->(principal) RETURN collect(DISTINCT principal) AS principals }
  MATCH (object)-[:CHILD_OF*0..]->(above)-[:TAGGED*0..1]->(place)<-[grant:ALLOW {privilege: $privilege}]-(grantee)
  WHERE grantee IN principals AND (place = above OR 'ALLOW ' + $privilege + '#' + place.type + ' ' + above.type IN by_tag)
  WITH principals, collect(DISTINCT grant) AS grants, collect(DISTINCT grantee) AS grantees
  // 2 the principals that lead to a grantee, each with all that it belongs to
  CALL (principals, grantees) {
    UNWIND principals AS node
    CALL (node) { MATCH (node)-[:MEMBER_OF|HAS_ROLE*0..]->(above) RETURN collect(DISTINCT above) AS above }
    WITH node, above WHERE any(grantee IN grantees WHERE grantee IN above)
    RETURN collect(node) AS leading, collect({node: node, above: above}) AS reached
  }
  // 3 the edges of each that lead to a grant
  UNWIND reached AS each
  WITH grants, leading, reached, each.node AS node, each.above AS above, [one IN reached WHERE each.node IN one.above | one.node] AS before
  CALL (node, grants, leading) {
    MATCH (node)-[edge:MEMBER_OF|HAS_ROLE|ALLOW]->(end) WHERE edge IN grants OR end IN leading AND type(edge) <> 'ALLOW'
    RETURN collect(edge) AS edges
  }
  // 4 those with a single such edge, if no other path avoids it
  WITH * WHERE size(edges) = 1 AND all(other IN leading WHERE other IN above OR other IN before) AND NOT EXISTS {
    UNWIND before AS other
    MATCH (other)-[way:MEMBER_OF|HAS_ROLE|ALLOW]->(end) WHERE other <> node
      AND (way IN grants OR end IN leading AND NOT end IN before AND type(way) <> 'ALLOW') }
  MATCH path = (node)-[edge]->(end) WHERE edge = edges[0]
  RETURN true AS has, node, edge, end, path
}
RETURN node.ref AS start, type(edge) AS edge, end.ref AS end, path,
  CASE WHEN subject IS NULL THEN $subject + ' does not exist in ' + $root WHEN object IS NULL THEN $object + ' does not exist in ' + $root
    WHEN has IS NULL THEN 'the subject has no ALLOW, or has it by several ways' END AS says,
  EXISTS { (mark:Revision {root: $root}) WHERE mark.ends <= datetime.realtime().epochSeconds } AS due
ORDER BY length(path), start
