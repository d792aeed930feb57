// load_begin.cypher: from now on nothing of a tenant can be read, until a load is settled or undone; if the marks are
// still those that it read.
// $root      STRING   'metalake:ml'
// $revision  INTEGER  11, as it was read
// $begun     INTEGER  11, as it was read
// $made      STRING   '5f0c', the tenant's creation id, as it was read
// $load      STRING   '5f0c', the load's id
// $what      STRING   'load tables', names it in the errors of others
// Returns at most one row, none where the marks have changed: begun INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', revision: 11, begun: 11, made: '5f0c', load: '5f0c', what: 'load tables'}
MATCH (mark:Revision {root: $root})
SET mark.locked = true // takes the node's lock even where nothing changes, before what follows reads it
WITH mark WHERE mark.revision = $revision AND mark.begun = $begun AND coalesce(mark.made, '') = $made
  AND mark.loading IS NULL
SET mark.begun = mark.revision + 1, mark.loading = $load, mark.loading_what = $what
RETURN mark.begun AS begun
