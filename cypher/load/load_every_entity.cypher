// load_every_entity.cypher: every entity of a tenant. For a bulk import that replaces all.
// $root  STRING  'metalake:ml'
// Returns one row an entity: ref STRING, node INTEGER (its id in the database), created BOOLEAN (not only a name that holds
// grants)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml'}
MATCH (entity:Entity {root: $root})
WHERE entity.ref >= '' // always true; lets the index on (root, ref) be used
RETURN entity.ref AS ref, id(entity) AS node, coalesce(entity.exists, true) AS created
