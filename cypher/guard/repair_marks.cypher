// repair_marks.cypher: unblocks readers after a writer died. Only for the holder of the lock, after it has read these
// marks.
// $root      STRING   'metalake:ml'
// $revision  INTEGER  11, as read by the caller
// $begun     INTEGER  11, as read by the caller
// $made      STRING   '5f0c', the tenant's creation id, as read by the caller
// $to        INTEGER  12, the greater one of revision and begun
// Returns at most one row, none if the marks have changed: revision INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', revision: 11, begun: 11, made: '5f0c', to: 12}
MATCH (mark:Revision {root: $root})
SET mark.locked = true // locks the node, so that the following clauses read its latest state
WITH mark WHERE mark.revision = $revision AND mark.begun = $begun AND coalesce(mark.made, '') = $made
  AND mark.loading IS NULL
SET mark.revision = $to, mark.begun = $to
RETURN mark.revision AS revision
