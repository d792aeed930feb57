// load_undo.cypher: removes the newest batch that a load wrote, and its record.
// $root  STRING  'metalake:ml'
// $load  STRING  '5f0c', the load in progress; otherwise nothing is written
// Returns nothing
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', load: '5f0c'}
MATCH (mark:Revision {root: $root})
SET mark.locked = true // locks the node, so that the following clauses read its latest state
WITH mark WHERE mark.loading = $load
MATCH (batch:LoadedBatch {root: $root})
WITH batch ORDER BY batch.number DESC LIMIT 1
CALL (batch) {
  UNWIND batch.edges AS each
  MATCH (:Entity {root: $root})-[edge]->() WHERE id(edge) = each
  DELETE edge
}
CALL (batch) {
  UNWIND batch.names AS each
  MATCH (name:Entity {root: $root}) WHERE id(name) = each
  SET name.exists = false
}
CALL (batch) {
  UNWIND batch.nodes AS each
  MATCH (node {root: $root}) WHERE id(node) = each // entities, and entries of a restored history
  DETACH DELETE node
}
DELETE batch
