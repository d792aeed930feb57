// end_tenant.cypher: removes the revision of a tenant, so that it can no longer be read or changed. The caller claims its
// name, and removes the rest.
// $root      STRING   'metalake:ml'
// $by        STRING   '5f0c', the id of the caller
// $revision  INTEGER  7, the marks, as read by the caller
// $begun     INTEGER  7
// $made      STRING   '', the tenant's creation id
// $loading   STRING   null, or the id of a load that died
// Returns one row, or none if the tenant was changed since: ended BOOLEAN
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:gone', by: '5f0c', revision: 0, begun: 0, made: '', loading: null}
MATCH (mark:Revision {root: $root})
SET mark.locked = true // locks the mark, so that the following clauses read its latest state
WITH mark
WHERE mark.revision = $revision AND mark.begun = $begun AND coalesce(mark.made, '') = $made
  AND coalesce(mark.loading, '') = coalesce($loading, '')
MERGE (lock:Gate {root: $root})
SET lock.by = $by
DELETE mark
RETURN true AS ended
