// dropped_tenants.cypher: the dropped tenants, oldest first; drops that were interrupted too early to end the tenant are omitted.
// Returns rows: root STRING, policy STRING, revision INTEGER (the last one), head STRING (the hash of the log's newest entry,
// or null), at STRING (the time), by STRING (the operator, or null)
// In Neo4j Browser run the whole file; it has no parameters:
// :params {}
MATCH (note:DroppedRoot)
WHERE note.root >= '' // always true, so that the index is used
  AND NOT EXISTS { MATCH (mark:Revision {root: note.root}) WHERE coalesce(mark.made, '') = note.made }
RETURN note.root AS root, note.policy AS policy, note.revision AS revision, note.head AS head,
  toString(note.at) AS at, note.by AS by
ORDER BY note.at, root, revision
