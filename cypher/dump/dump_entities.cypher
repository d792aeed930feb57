// dump_entities.cypher: all subjects and objects of a tenant, by reference. For a dump, and for an upgrade of the policy.
// $root  STRING  'metalake:ml'
// Returns one row per entity: ref STRING, type STRING, created BOOLEAN (false: only a name with grants on it), securable BOOLEAN (in the tree of objects)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml'}
MATCH (entity:Entity {root: $root})
WHERE entity.ref >= '' // always true, so that the index on (root, ref) is used
RETURN entity.ref AS ref, entity.type AS type, coalesce(entity.exists, true) AS created, entity:Securable AS securable
ORDER BY entity.root, entity.ref // the order of the index, so that no sort delays the rows
