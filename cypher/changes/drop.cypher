// drop.cypher: removes entities with their subtrees and all edges. It also removes a name that was never created, if its last
// grant is removed. A removed member of a group or role of $kept remains as a name that has only such memberships.
// $root  STRING          'metalake:ml'
// $refs  LIST OF STRING  ['table:hr.public.staff']
// $all   BOOLEAN         true to remove the root with all users and groups
// $kept  LIST OF STRING  ['role:service_admin'], the groups and roles whose members only the operator sets
// $most  INTEGER         200000, the maximum number of removed facts; one more is returned if there are more
// Returns one row: removed LIST (for each removed fact: the one of $refs that caused it, 'ENTITY', 'MEMBER', 'OWNS',
// 'TAGGED', 'ALLOW' or 'DENY', and its privilege, subject, object and end, or null; at most $most + 1 facts)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', refs: ['table:hr.public.staff'], all: false, kept: ['role:service_admin'], most: 200000}
CALL () {
  UNWIND $refs AS ref
  MATCH (inner:Entity)-[:CHILD_OF*0..]->(:Entity {root: $root, ref: ref})
  RETURN inner, ref
UNION
  UNWIND CASE WHEN $all THEN [true] ELSE [] END AS every
  MATCH (inner:Entity {root: $root}) WHERE inner.ref >= '' // so that the index is used
  RETURN inner, $refs[0] AS ref
}
WITH collect(DISTINCT inner) AS gone, collect({inner: inner, ref: ref}) AS reached
CALL (gone, reached) {
  // the facts that are removed with each entity: itself and its edges, except its memberships in $kept
  UNWIND reached AS each
  WITH gone, each.inner AS inner, each.ref AS ref
  CALL (inner, gone) {
    WITH inner WHERE coalesce(inner.exists, true)
    RETURN 'ENTITY' AS fact, null AS privilege, null AS subject, inner.ref AS object, null AS until
  UNION
    MATCH (inner)-[edge:MEMBER_OF|HAS_ROLE|OWNS|TAGGED|ALLOW|DENY]->(end) WHERE $all OR end IN gone OR NOT end.ref IN $kept
      OR NOT (edge:MEMBER_OF OR edge:HAS_ROLE)
    RETURN CASE WHEN edge:MEMBER_OF OR edge:HAS_ROLE THEN 'MEMBER' ELSE type(edge) END AS fact, edge.privilege AS privilege,
      inner.ref AS subject, end.ref AS object, edge.until AS until
  UNION
    MATCH (start)-[edge:MEMBER_OF|HAS_ROLE|OWNS|TAGGED|ALLOW|DENY]->(inner)
    RETURN CASE WHEN edge:MEMBER_OF OR edge:HAS_ROLE THEN 'MEMBER' ELSE type(edge) END AS fact, edge.privilege AS privilege,
      start.ref AS subject, inner.ref AS object, edge.until AS until
  }
  WITH ref, fact, privilege, subject, object, until LIMIT toInteger($most) + 1
  RETURN collect([ref, fact, privilege, subject, object, until]) AS removed
}
CALL (gone) {
  UNWIND CASE WHEN $all THEN [] ELSE gone END AS holder
  MATCH (holder)-[:ALLOW|DENY]->(object:Securable {exists: false})-[:CHILD_OF*0..]->(name:Securable)
  WHERE name.exists = false AND NOT name IN gone
  RETURN collect(DISTINCT name) AS names
}
CALL (gone) {
  UNWIND CASE WHEN $all THEN [] ELSE gone END AS each
  MATCH (each)-[:MEMBER_OF|HAS_ROLE]->(list) WHERE list.ref IN $kept AND NOT list IN gone
  RETURN collect(DISTINCT each) AS listed
}
CALL (listed) {
  UNWIND listed AS each
  SET each.exists = false
  WITH each
  MATCH (each)-[edge]-(other)
  WHERE NOT (startNode(edge) = each AND (edge:CHILD_OF OR (edge:MEMBER_OF OR edge:HAS_ROLE) AND other.ref IN $kept))
  DELETE edge
}
FOREACH (each IN [one IN gone WHERE NOT one IN listed] | DETACH DELETE each)
WITH gone, removed, names
CALL (names) {
  UNWIND names AS name
  WITH name WHERE NOT EXISTS {
    MATCH (name)<-[:CHILD_OF*0..]-(inner) WHERE coalesce(inner.exists, true) OR EXISTS { (inner)<-[:ALLOW|DENY]-() }
      OR EXISTS { MATCH (inner)-[:MEMBER_OF|HAS_ROLE]->(list) WHERE list.ref IN $kept } }
  WITH collect(name) AS idle
  FOREACH (each IN idle | DETACH DELETE each)
}
CALL () {
  UNWIND CASE WHEN $all THEN [true] ELSE [] END AS every
  MATCH (part:RulePart {root: $root}) // the copy of the policy
  DETACH DELETE part
}
RETURN removed
