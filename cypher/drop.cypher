// drop.cypher: an entity goes with everything inside it, and every edge on these.
// $root  STRING   'metalake:ml'
// $ref   STRING   'table:hr.public.staff'
// $all   BOOLEAN  false; true where the root goes, with every user and group
// Returns one row: dropped INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', ref: 'table:hr.public.staff', all: false}
CALL () {
  MATCH (inner:Entity)-[:CHILD_OF*0..]->(:Entity {root: $root, ref: $ref})
  RETURN inner
UNION
  MATCH (inner:Entity {root: $root}) WHERE $all
  RETURN inner
}
WITH collect(inner) AS gone
FOREACH (each IN gone | DETACH DELETE each)
RETURN size(gone) AS dropped
