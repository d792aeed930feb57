// names_like.cypher: some names of a type, for telling somebody the one he may have meant.
// $root   STRING  'metalake:ml'
// $type   STRING  'table'
// $start  STRING  'table:h', how they start
// Returns rows: ref STRING
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', type: 'table', start: 'table:h'}
MATCH (entity:Entity {root: $root, type: $type}) WHERE entity.ref STARTS WITH $start AND coalesce(entity.exists, true)
RETURN entity.ref AS ref
LIMIT 2000
