// load_remove.cypher: removes one recorded batch of a load's removals. The ids are those of id(), so that a batch
// names exactly what was read.
// $root  STRING  'metalake:ml'
// $load  STRING  '5f0c', the load in progress; otherwise nothing is written
// Returns nothing
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', load: '5f0c'}
MATCH (mark:Revision {root: $root})
SET mark.locked = true // locks the node, so that the following clauses read its latest state
WITH mark WHERE mark.loading = $load
MATCH (batch:DoomedBatch {root: $root})
WITH batch LIMIT 1
CALL (batch) {
  UNWIND batch.edges AS each
  MATCH (:Entity {root: $root})-[edge]->() WHERE id(edge) = each
  DELETE edge
}
CALL (batch) {
  UNWIND batch.unmade AS each
  MATCH (name:Entity {root: $root}) WHERE id(name) = each
  SET name.exists = false
}
CALL (batch) {
  UNWIND batch.nodes AS each
  MATCH (entity:Entity {root: $root}) WHERE id(entity) = each
  DETACH DELETE entity
}
DELETE batch
