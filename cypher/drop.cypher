// drop.cypher: an entity goes with everything inside it, and every edge on these.
// $root  STRING  'metalake:ml'
// $ref   STRING  'table:hr.public.staff'
// Returns one row: dropped INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', ref: 'table:hr.public.staff'}
MATCH (entity:Entity {root: $root, ref: $ref})
MATCH (inner:Entity)-[:CHILD_OF*0..]->(entity)
WITH collect(DISTINCT inner) AS gone
FOREACH (each IN gone | DETACH DELETE each)
RETURN size(gone) AS dropped
