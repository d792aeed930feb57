// load_record.cypher: a bulk import is written to the history, as one change.
// $root       STRING   'metalake:ml'
// $revision   INTEGER  7
// $id         STRING   '5f0c', the load's own id
// $statement  STRING   'load estate: 1,000 rows, 12 added'
// Returns one row: revision INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', revision: 7, id: '5f0c', statement: 'load estate: 1,000 rows, 12 added'}
CREATE (change:Change {root: $root, revision: $revision, id: $id, at: datetime(), statement: $statement})
RETURN change.revision AS revision
