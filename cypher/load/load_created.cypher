// load_created.cypher: creates entities from names that held grants. For bulk import.
// $root   STRING           'metalake:ml'
// $load   STRING           '5f0c', the load in progress; otherwise nothing is written
// $nodes  LIST OF INTEGER  [1, 2], ids in the database
// Returns one row, or none if the load is not in progress: written INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', load: '5f0c', nodes: [1, 2]}
MATCH (mark:Revision {root: $root})
SET mark.batches = coalesce(mark.batches, 0) + 1
WITH mark WHERE mark.loading = $load
CALL () {
  UNWIND $nodes AS node
  MATCH (name:Entity {root: $root}) WHERE id(name) = node
  SET name.exists = null
  RETURN count(*) AS written
}
CREATE (:LoadedBatch {root: $root, number: mark.batches, names: $nodes})
RETURN written
