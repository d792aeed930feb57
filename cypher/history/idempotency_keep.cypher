// idempotency_keep.cypher: what was done under an id that a caller chose, so that asking again does nothing.
// $root       STRING           'metalake:ml'
// $id         STRING           '5f0c'
// $said       STRING           '9f2c', a digest of what was asked
// $ids        LIST OF STRING   ['5f0c'], the changes; '' for what changed nothing
// $revisions  LIST OF INTEGER  [7], from which each holds
// Returns one row: id STRING
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', id: '5f0c', said: '9f2c', ids: ['5f0c'], revisions: [7]}
CREATE (request:Request {root: $root, id: $id, said: $said, ids: $ids, revisions: $revisions, at: datetime()})
RETURN request.id AS id
