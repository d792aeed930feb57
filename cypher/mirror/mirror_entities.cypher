// mirror_entities.cypher: every subject and object of a tenant, for the Spark snapshot.
// $root        STRING          'metalake:ml'
// Returns one row an entity: ref STRING, type STRING, there BOOLEAN, builtin BOOLEAN
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml'}
MATCH (entity:Entity {root: $root})
WHERE entity.ref >= '' // always true; lets the index on (root, ref) be used
RETURN entity.ref AS ref, entity.type AS type,
       coalesce(entity.exists, true) AS there, coalesce(entity.builtin, false) AS builtin
