// entity_exists.cypher: finds an entity.
// $root  STRING  'metalake:ml'
// $ref   STRING  'table:hr.public.staff'
// Returns at most one row: ref STRING
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', ref: 'table:hr.public.staff'}
MATCH (entity:Entity {root: $root, ref: $ref}) WHERE coalesce(entity.exists, true)
RETURN entity.ref AS ref
