// load_remove.cypher: removes one noted batch of what a load removes. The ids are those that id() gives, so a batch
// names what was read.
// $root  STRING  'metalake:ml'
// $load  STRING  '5f0c', the load that is under way; nothing is written where it is not
// Returns nothing
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', load: '5f0c'}
MATCH (mark:Revision {root: $root})
SET mark.locked = true // takes the node's lock even where nothing changes, before what follows reads it
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
