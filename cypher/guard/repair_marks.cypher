// repair_marks.cypher: lets readers in after a writer that is gone; only for the holder of the lock, who read these
// marks under it.
// $root      STRING   'metalake:ml'
// $revision  INTEGER  11, as it was read
// $begun     INTEGER  11, as it was read
// $made      STRING   '5f0c', the tenant's creation id, as it was read
// $to        INTEGER  12, the greater one of revision and begun
// Returns at most one row, none where the marks have changed: revision INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', revision: 11, begun: 11, made: '5f0c', to: 12}
MATCH (mark:Revision {root: $root})
SET mark.locked = true // takes the node's lock even where nothing changes, before what follows reads it
WITH mark WHERE mark.revision = $revision AND mark.begun = $begun AND coalesce(mark.made, '') = $made
  AND mark.loading IS NULL
SET mark.revision = $to, mark.begun = $to
RETURN mark.revision AS revision
