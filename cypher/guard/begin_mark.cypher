// begin_mark.cypher: before a commit: blocks readers until end_mark, if the marks are still those that the writer
// read.
// $root      STRING   'metalake:ml'
// $revision  INTEGER  11, as read by the caller
// $begun     INTEGER  11, as read by the caller
// $made      STRING   '5f0c', the tenant's creation id, as read by the caller
// $to        INTEGER  12, the revision that is about to be committed
// $ends      INTEGER  null, or the earliest end of the facts that are about to be committed, in seconds since 1970
// Returns at most one row, none if the marks have changed: begun INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', revision: 11, begun: 11, made: '5f0c', to: 12, ends: null}
MATCH (mark:Revision {root: $root})
SET mark.locked = true // locks the node, so that the following clauses read its latest state
WITH mark WHERE mark.revision = $revision AND mark.begun = $revision AND $begun = $revision
  AND coalesce(mark.made, '') = $made AND mark.loading IS NULL
SET mark.begun = $to, mark.ends = CASE WHEN $ends < coalesce(mark.ends, $ends + 1) THEN $ends ELSE mark.ends END
RETURN mark.begun AS begun
