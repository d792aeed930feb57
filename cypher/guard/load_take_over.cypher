// load_take_over.cypher: takes over a load that died, to undo or complete it. Later batches of the dead load
// write nothing.
// $root  STRING  'metalake:ml'
// $dead  STRING  '5f0c', the dead load
// $load  STRING  '6a1d', the id of the caller
// Returns at most one row, none if another caller has taken it over: left INTEGER (written batches, to undo),
// removals INTEGER (batches to remove), done BOOLEAN (the dead load was committed)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', dead: '5f0c', load: '6a1d'}
MATCH (mark:Revision {root: $root})
SET mark.locked = true // locks the node, so that the following clauses read its latest state
WITH mark WHERE mark.loading = $dead
CALL () {
  MATCH (lane:LoadLane {root: $root})
  SET lane.locked = true // waits for batches that are still running, so that they are counted
}
SET mark.loading = $load
RETURN COUNT { (:LoadedBatch {root: $root}) } AS left, COUNT { (:DoomedBatch {root: $root}) } AS removals,
  coalesce(mark.loading_done, false) AS done
