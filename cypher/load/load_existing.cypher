// load_existing.cypher: finds which of these entities exist. For bulk import.
// $root  STRING          'metalake:ml'
// $refs  LIST OF STRING  ['table:hr.public.staff']
// Returns one row per existing entity: ref STRING, node INTEGER (its id in the database), created BOOLEAN (false: only
// a name with grants on it), owner STRING (or null)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', refs: ['table:hr.public.staff']}
UNWIND $refs AS ref
MATCH (entity:Entity {root: $root, ref: ref})
OPTIONAL MATCH (owner:Subject)-[:OWNS]->(entity)
RETURN ref, toInteger(substring(elementId(entity), 39)) AS node, coalesce(entity.exists, true) AS created, owner.ref AS owner
