// mirror_entities.cypher: the subjects and objects of a tenant in a range of references, for the Spark snapshot.
// $root  STRING  'metalake:ml'
// $low   STRING  '', the first reference of the range
// $high  STRING  '~', the first reference after it; all references are between '' and '~'
// Returns one row per entity: ref STRING, type STRING, exists BOOLEAN (false: only a name with grants on it), builtin BOOLEAN
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', low: '', high: '~'}
MATCH (entity:Entity {root: $root})
WHERE $low <= entity.ref < $high
RETURN entity.ref AS ref, entity.type AS type,
       coalesce(entity.exists, true) AS exists, coalesce(entity.builtin, false) AS builtin
