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
WITH batch, substring(elementId(batch), 1, 38) AS base // between 4, or 5 of an edge, and the number in an elementId()
CALL (batch, base) {
  UNWIND batch.edges AS each
  MATCH (:Entity {root: $root})-[edge]->() WHERE elementId(edge) = '5' + base + each
  DELETE edge
}
CALL (batch, base) {
  UNWIND batch.names AS each
  MATCH (name:Entity {root: $root}) WHERE elementId(name) = '4' + base + each
  SET name.exists = false
}
CALL (batch, base) {
  UNWIND batch.nodes AS each
  MATCH (node {root: $root}) WHERE elementId(node) = '4' + base + each // entities, and entries of a restored history
  DETACH DELETE node
}
DELETE batch
