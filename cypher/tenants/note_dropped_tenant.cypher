// note_dropped_tenant.cypher: writes a note that a tenant is dropped, outside the tenant, so that the note remains.
// $root  STRING  'metalake:ml'
// $by    STRING  'user:ann', the operator, or null
// Returns at most one row: revision INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', by: 'user:ann'}
MATCH (mark:Revision {root: $root})
MERGE (note:DroppedRoot {root: $root, made: coalesce(mark.made, '')})
SET note.policy = mark.policy, note.revision = mark.revision, note.at = datetime(), note.by = $by, note.head = head(COLLECT {
    MATCH (change:Change {root: $root}) WHERE change.revision >= 0 AND change.hash IS NOT NULL
    RETURN change.hash AS hash ORDER BY change.root DESC, change.revision DESC LIMIT 1
  })
RETURN note.revision AS revision
