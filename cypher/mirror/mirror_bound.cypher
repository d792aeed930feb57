// mirror_bound.cypher: the reference at which a range of entities ends. Each of Spark's tasks reads such ranges of a tenant.
// $root  STRING   'metalake:ml'
// $low   STRING   '', the first reference of the range
// $rows  INTEGER  20000, the number of entities in the range
// Returns at most one row: bound STRING (the first reference after the range); none if this is the last range
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', low: '', rows: 3}
MATCH (entity:Entity {root: $root})
WHERE entity.ref >= $low
WITH entity ORDER BY entity.root, entity.ref SKIP toInteger($rows) LIMIT 1
RETURN entity.ref AS bound
