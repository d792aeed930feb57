// drop.cypher: entities go with everything inside them, and every edge on these.
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
FOREACH (each IN gone | DETACH DELETE each)
RETURN size(gone) AS dropped
