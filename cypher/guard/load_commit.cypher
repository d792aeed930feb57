// load_commit.cypher: the commit point of a load. If the load dies later, it is completed, not undone.
// $root  STRING  'metalake:ml'
// $load  STRING  '5f0c', the load in progress; otherwise nothing is written
// Returns one row, or none if the load is not in progress: revision INTEGER, removals INTEGER (batches to remove)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', load: '5f0c'}
MATCH (mark:Revision {root: $root})
SET mark.locked = true // locks the node, so that the following clauses read its latest state
WITH mark WHERE mark.loading = $load
SET mark.loading_done = true
WITH mark
CALL () {
  MATCH (batch:LoadedBatch {root: $root})
  DELETE batch
}
RETURN mark.begun AS revision, COUNT { (:DoomedBatch {root: $root}) } AS removals
