// remove_root.cypher: takes a part of an ended tenant away; run it until it removes nothing.
// $root  STRING  'metalake:ml'
// Returns one row: removed INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:gone'}
CALL () {
  MATCH (entity:Entity {root: $root}) RETURN entity AS node
UNION ALL
  MATCH (change:Change {root: $root}) RETURN change AS node
UNION ALL
  MATCH (refusal:Refusal {root: $root}) RETURN refusal AS node
UNION ALL
  MATCH (request:Request {root: $root}) RETURN request AS node
UNION ALL
  MATCH (batch:LoadedBatch {root: $root}) RETURN batch AS node
UNION ALL
  MATCH (doomed:DoomedBatch {root: $root}) RETURN doomed AS node
}
WITH node LIMIT 2000 // with all their edges they must fit in a transaction
DETACH DELETE node
RETURN count(*) AS removed
