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
WITH mark, head(COLLECT {
    MATCH (change:Change {root: $root}) WHERE change.revision >= 0
    RETURN change.revision AS revision ORDER BY change.root DESC, change.revision DESC LIMIT 1
  }) AS newest
// nothing has changed since the newest entry of the log, if this was so before; readers of the log then miss no entry
SET mark.unchanged = CASE WHEN newest = mark.revision OR [newest, mark.revision] = mark.unchanged THEN [newest, mark.begun] END
SET mark.revision = mark.begun, mark.loading = null, mark.loading_what = null
