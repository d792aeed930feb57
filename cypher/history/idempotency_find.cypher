// idempotency_find.cypher: the result of an earlier request, by the caller's id or by the id of a change.
// $root   STRING          'metalake:ml'
// $id     STRING          '5f0c'
// $parts  LIST OF STRING  ['5f0c.0', '5f0c.1'], the ids that the changes of a batch would get, or []
// Returns one row: said STRING (a digest of the request), ids LIST OF STRING (one per statement; '' if it changed
// nothing), revisions LIST OF INTEGER, hashes LIST OF STRING (of the entries; null if pruned), change MAP
// (revision, actor, as_role, statement, hash; null if there is none), taken LIST OF STRING (empty, or one of $parts, if
// another change or request already has this id)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', id: '5f0c', parts: []}
OPTIONAL MATCH (request:Request {root: $root, id: $id})
OPTIONAL MATCH (change:Change {root: $root, id: $id})
RETURN request.said AS said, request.ids AS ids, request.revisions AS revisions,
  [id IN request.ids | head(COLLECT { MATCH (done:Change {root: $root, id: id}) RETURN done.hash AS hash })] AS hashes,
  change {.revision, .actor, .as_role, .statement, .hash} AS change,
  COLLECT {
    MATCH (part:Change {root: $root}) WHERE part.id IN $parts RETURN part.id AS id
    UNION
    MATCH (part:Request {root: $root}) WHERE part.id IN $parts RETURN part.id AS id
  }[..1] AS taken
