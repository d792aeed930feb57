// load_created.cypher: creates entities from names that had grants on them. For bulk import.
// $root   STRING           'metalake:ml'
// $load   STRING           '5f0c', the load in progress; otherwise nothing is written
// $lane   INTEGER          0, the lane in which the batch is written
// $number INTEGER          1, higher than those of the batches that this one needs
// $nodes  LIST OF INTEGER  [1, 2], ids in the database
// Returns one row, or none if the load is not in progress: written INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', load: '5f0c', lane: 0, number: 1, nodes: [1, 2]}
MATCH (lane:LoadLane {root: $root, number: $lane})
SET lane.locked = true // no other caller can take the load over now, because that locks all lanes
WITH lane
MATCH (mark:Revision {root: $root}) WHERE mark.loading = $load
WITH left(elementId(mark), 39) AS start // before the number of a node in its elementId()
CALL (start) {
  UNWIND $nodes AS node
  MATCH (name:Entity {root: $root}) WHERE elementId(name) = start + node
  SET name.exists = null
  RETURN count(*) AS written
}
CREATE (:LoadedBatch {root: $root, number: $number, names: $nodes})
RETURN written
