// drop.cypher: removes entities with their subtrees and all edges; and names that were never created, with
// their last grant. Members of $kept remain as names with only these memberships.
// $root  STRING          'metalake:ml'
// $refs  LIST OF STRING  ['table:hr.public.staff']
// $all   BOOLEAN         true to remove the root with all users and groups
// $kept  LIST OF STRING  ['role:service_admin'], the groups and roles whose members only the operator sets
// Returns one row: dropped INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', refs: ['table:hr.public.staff'], all: false, kept: ['role:service_admin']}
CALL () {
  UNWIND $refs AS ref
  MATCH (inner:Entity)-[:CHILD_OF*0..]->(:Entity {root: $root, ref: ref})
  RETURN inner
UNION
  UNWIND CASE WHEN $all THEN [true] ELSE [] END AS every
  MATCH (inner:Entity {root: $root})
  RETURN inner
}
WITH collect(inner) AS gone
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
WITH gone, names
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
  MATCH (part:RulePart {root: $root}) // the policy that is written beside the root
  DETACH DELETE part
}
RETURN size(gone) AS dropped
