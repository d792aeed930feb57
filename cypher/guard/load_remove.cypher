// load_remove.cypher: removes one recorded batch of a load's removals. It names exactly what was read, by the numbers
// at the end of elementId().
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
WITH batch, substring(elementId(batch), 1, 38) AS base // between 4, or 5 of an edge, and the number in an elementId()
CALL (batch, base) {
  UNWIND batch.edges AS each
  MATCH (:Entity {root: $root})-[edge]->() WHERE elementId(edge) = '5' + base + each
  DELETE edge
}
CALL (batch, base) {
  UNWIND batch.unmade AS each
  MATCH (name:Entity {root: $root}) WHERE elementId(name) = '4' + base + each
  SET name.exists = false
}
CALL (batch, base) {
  UNWIND batch.nodes AS each
  MATCH (entity:Entity {root: $root}) WHERE elementId(entity) = '4' + base + each
  DETACH DELETE entity
}
DELETE batch
