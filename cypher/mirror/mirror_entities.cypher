// mirror_entities.cypher: the subjects and objects of a tenant in a range of references, for snapshots and copies in memory.
// $root  STRING  'metalake:ml'
// $low   STRING  '', the first reference of the range
// $high  STRING  '~', the first reference after it; all references are between '' and '~'
// Returns one row per type and state: type STRING, exists BOOLEAN (false: only names with grants on them), builtin BOOLEAN,
//         refs LIST OF STRING (a row for each entity would take twice as long to read)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', low: '', high: '~'}
MATCH (entity:Entity {root: $root})
WHERE $low <= entity.ref < $high
RETURN entity.type AS type, coalesce(entity.exists, true) AS exists, coalesce(entity.builtin, false) AS builtin,
       collect(entity.ref) AS refs
