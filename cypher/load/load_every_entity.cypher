// load_every_entity.cypher: all entities of a tenant. For a bulk import that replaces everything.
// $root  STRING  'metalake:ml'
// Returns one row per entity: ref STRING, node INTEGER (its id in the database), created BOOLEAN (false: only a
// name with grants on it)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml'}
MATCH (entity:Entity {root: $root})
WHERE entity.ref >= '' // always true, so that the index on (root, ref) is used
RETURN entity.ref AS ref, toInteger(substring(elementId(entity), 39)) AS node, coalesce(entity.exists, true) AS created
