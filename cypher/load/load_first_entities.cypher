// load_first_entities.cypher: the first entities of a tenant, to see whether it holds little. For bulk import.
// $root   STRING   'metalake:ml'
// $limit  INTEGER  10000
// Returns one row an entity: ref STRING
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', limit: 10000}
MATCH (entity:Entity {root: $root}) WHERE entity.ref >= '' // always true; lets the index on (root, ref) be used
RETURN entity.ref AS ref
LIMIT toInteger($limit)
