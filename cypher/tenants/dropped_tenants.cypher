// dropped_tenants.cypher: the tenants that were dropped, oldest first. A drop that was cut off before the tenant ended is none.
// Returns rows: root STRING, policy STRING, revision INTEGER (the last one), head STRING (the hash of the log's newest entry,
// or null), at STRING (when), by STRING (the operator, or null)
// In Neo4j Browser run the whole file; it has no parameters:
// :params {}
MATCH (note:DroppedRoot)
WHERE note.root >= '' // always true; lets the index be used
  AND NOT EXISTS { MATCH (mark:Revision {root: note.root}) WHERE coalesce(mark.made, '') = note.made }
RETURN note.root AS root, note.policy AS policy, note.revision AS revision, note.head AS head,
  toString(note.at) AS at, note.by AS by
ORDER BY note.at, root
