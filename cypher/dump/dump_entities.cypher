// dump_entities.cypher: every subject and object of a tenant, by reference. For a dump, and for an upgrade of the policy.
// $root  STRING  'metalake:ml'
// Returns one row an entity: ref STRING, type STRING, created BOOLEAN (not only a name that holds grants)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml'}
MATCH (entity:Entity {root: $root})
WHERE entity.ref >= '' // always true; lets the index on (root, ref) be used
RETURN entity.ref AS ref, entity.type AS type, coalesce(entity.exists, true) AS created
ORDER BY entity.root, entity.ref // the index's own order: nothing is sorted, so rows come at once
