// load_begin.cypher: blocks readers of a tenant until a load is settled or undone, if the marks are
// still those that the load read.
// $root      STRING   'metalake:ml'
// $revision  INTEGER  11, as read by the caller
// $begun     INTEGER  11, as read by the caller
// $made      STRING   '5f0c', the tenant's creation id, as read by the caller
// $load      STRING   '5f0c', the load's id
// $what      STRING   'load tables', its name in the errors of other callers
// $ends      INTEGER  null, or the earliest end of the facts of the load, in seconds since 1970
// $lanes     INTEGER  2, how many batches may be written at the same time
// Returns at most one row, none if the marks have changed: begun INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', revision: 11, begun: 11, made: '5f0c', load: '5f0c', what: 'load tables', ends: null, lanes: 2}
MATCH (mark:Revision {root: $root})
SET mark.locked = true // locks the node, so that the following clauses read its latest state
WITH mark WHERE mark.revision = $revision AND mark.begun = $begun AND coalesce(mark.made, '') = $made
  AND mark.loading IS NULL
SET mark.begun = mark.revision + 1, mark.loading = $load, mark.loading_what = $what,
  mark.ends = CASE WHEN $ends < coalesce(mark.ends, $ends + 1) THEN $ends ELSE mark.ends END
FOREACH (number IN range(0, $lanes - 1) | MERGE (:LoadLane {root: $root, number: number}))
RETURN mark.begun AS begun
