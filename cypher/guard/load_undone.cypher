// load_undone.cypher: a load is undone: readers are let in.
// $root  STRING  'metalake:ml'
// $load  STRING  '5f0c', the load that is under way; nothing is written where it is not
// Returns nothing
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', load: '5f0c'}
MATCH (mark:Revision {root: $root})
SET mark.locked = true // takes the node's lock even where nothing changes, before what follows reads it
WITH mark WHERE mark.loading = $load
CALL () {
  MATCH (doomed:DoomedBatch {root: $root})
  DELETE doomed
}
SET mark.revision = mark.begun, mark.loading = null, mark.loading_what = null, mark.batches = null
