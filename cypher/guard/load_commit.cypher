// load_commit.cypher: past this point a load is not undone any more but completed.
// $root  STRING  'metalake:ml'
// $load  STRING  '5f0c', the load that is under way; nothing is written where it is not
// Returns one row, or none where the load is not under way: revision INTEGER, doomed INTEGER (batches to remove)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', load: '5f0c'}
MATCH (mark:Revision {root: $root})
SET mark.locked = true // takes the node's lock even where nothing changes, before what follows reads it
WITH mark WHERE mark.loading = $load
SET mark.batches = null, mark.loading_done = true
WITH mark
CALL () {
  MATCH (batch:LoadedBatch {root: $root})
  DELETE batch
}
RETURN mark.begun AS revision, COUNT { (:DoomedBatch {root: $root}) } AS doomed
