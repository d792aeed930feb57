// drop.cypher: entities go with everything inside them, and every edge on these; a name that was never created goes with
// its last grant.
// $root  STRING          'metalake:ml'
// $refs  LIST OF STRING  ['table:hr.public.staff']
// $all   BOOLEAN         false; true where the root goes, with every user and group
// Returns one row: dropped INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', refs: ['table:hr.public.staff'], all: false}
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
FOREACH (each IN gone | DETACH DELETE each)
WITH gone, names
CALL (names) {
  UNWIND names AS name
  WITH name WHERE NOT EXISTS {
    MATCH (name)<-[:CHILD_OF*0..]-(inner) WHERE coalesce(inner.exists, true) OR EXISTS { (inner)<-[:ALLOW|DENY]-() } }
  WITH collect(name) AS idle
  FOREACH (each IN idle | DETACH DELETE each)
}
RETURN size(gone) AS dropped
