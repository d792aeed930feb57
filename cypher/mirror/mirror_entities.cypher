// mirror_entities.cypher: all subjects and objects of a tenant, for the Spark snapshot.
// $root        STRING          'metalake:ml'
// Returns one row per entity: ref STRING, type STRING, there BOOLEAN, builtin BOOLEAN
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml'}
MATCH (entity:Entity {root: $root})
WHERE entity.ref >= '' // always true, so that the index on (root, ref) is used
RETURN entity.ref AS ref, entity.type AS type,
       coalesce(entity.exists, true) AS there, coalesce(entity.builtin, false) AS builtin
