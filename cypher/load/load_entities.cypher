// load_entities.cypher: creates entities of one type below their parents. For bulk import.
// $root     STRING           'metalake:ml'
// $load     STRING           '5f0c', the load in progress; otherwise nothing is written
// $lane     INTEGER          0, the lane in which the batch is written
// $number   INTEGER          1, higher than those of the batches that this one needs
// $type     STRING           'table'
// $labels   LIST OF STRING   ['Securable', 'Table']
// $exists   BOOLEAN          null, or false: only names with grants on them
// $parents  LIST OF INTEGER  [1], for each entity the id of its parent in the database, or null
// $refs     LIST OF STRING   ['table:hr.public.staff']
// $names    LIST OF STRING   ['staff']
// Returns one row, or none if the load is not in progress: entities LIST OF INTEGER (their places in the
// lists), nodes LIST OF INTEGER (their ids)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', load: '5f0c', lane: 0, number: 1, type: 'table', labels: ['Securable', 'Table'], exists: null, parents: [1], refs: ['table:hr.public.staff'], names: ['staff']}
MATCH (lane:LoadLane {root: $root, number: $lane})
SET lane.locked = true // no other caller can take the load over now, because that locks all lanes
WITH lane
MATCH (mark:Revision {root: $root}) WHERE mark.loading = $load
WITH left(elementId(mark), 39) AS node // before the number of a node in its elementId()
CALL (node) {
  UNWIND range(0, size($refs) - 1) AS at
  OPTIONAL MATCH (parent) WHERE elementId(parent) = node + $parents[at]
  CREATE (entity:Entity:$($labels) {root: $root, ref: $refs[at], type: $type, name: $names[at], exists: $exists})
  FOREACH (above IN CASE WHEN parent IS NULL THEN [] ELSE [parent] END | CREATE (entity)-[:CHILD_OF]->(above))
  RETURN collect(at) AS entities, collect(toInteger(substring(elementId(entity), 39))) AS nodes
}
CREATE (:LoadedBatch {root: $root, number: $number, nodes: nodes})
RETURN entities, nodes
