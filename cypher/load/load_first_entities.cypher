// load_first_entities.cypher: the first entities of a tenant, to find out whether it is small. For bulk import.
// $root   STRING   'metalake:ml'
// $limit  INTEGER  10000
// Returns one row per entity: ref STRING
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', limit: 10000}
MATCH (entity:Entity {root: $root}) WHERE entity.ref >= '' // always true, so that the index on (root, ref) is used
RETURN entity.ref AS ref
LIMIT toInteger($limit)
