// idempotency_keep.cypher: stores the result of a request under the caller's id, so that repeating it does nothing.
// $root       STRING           'metalake:ml'
// $id         STRING           '5f0c'
// $said       STRING           '9f2c', a digest of the request
// $ids        LIST OF STRING   ['5f0c'], the changes; '' if a statement changed nothing
// $revisions  LIST OF INTEGER  [7], the revision of each change
// Returns one row: id STRING
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', id: '5f0c', said: '9f2c', ids: ['5f0c'], revisions: [7]}
CREATE (request:Request {root: $root, id: $id, said: $said, ids: $ids, revisions: $revisions, at: datetime()})
RETURN request.id AS id
