// load_undone.cypher: unblocks readers after a load is undone.
// $root  STRING  'metalake:ml'
// $load  STRING  '5f0c', the load in progress; otherwise nothing is written
// Returns nothing
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', load: '5f0c'}
MATCH (mark:Revision {root: $root})
SET mark.locked = true // locks the node, so that the following clauses read its latest state
WITH mark WHERE mark.loading = $load
CALL () {
  MATCH (doomed:DoomedBatch {root: $root})
  DELETE doomed
}
SET mark.revision = mark.begun, mark.loading = null, mark.loading_what = null
