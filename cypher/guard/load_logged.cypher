// load_logged.cypher: the revision of a completed load, from its entry in the log.
// $root  STRING  'metalake:ml'
// $load  STRING  '5f0c', the load's id
// Returns at most one row: revision INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', load: '5f0c'}
MATCH (change:Change {root: $root, id: $load})
RETURN change.revision AS revision
