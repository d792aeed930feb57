// refusal_write.cypher: records a refused attempt. The newest attempts of each actor are kept: if
// there are a tenth more than $keep, the oldest are removed until $keep are left.
// $root       STRING   'metalake:ml'
// $revision   INTEGER  7, the root's revision when it was refused
// $id         STRING   '5f0c', the attempt's own id
// $request    STRING   'try 1', the caller's id of the change or the batch, or null
// $actor      STRING   'user:bob'
// $as_role    STRING   'role:analyst', the actor's active role, or null
// $statement  STRING   'allow SELECT_TABLE on table:hr.public.staff to role:analyst'
// $object     STRING   'table:hr.public.staff'
// $subject    STRING   'role:analyst', or null
// $reason     STRING   'SELECT_TABLE is not ...', the message for the actor
// $keep       INTEGER  1000
// Returns one row: id STRING
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', revision: 7, id: '5f0c', request: null, actor: 'user:bob', as_role: null, statement: 'add catalog:mine', object: 'catalog:mine', subject: null, reason: 'CREATE_CATALOG is not granted', keep: 1000}
CREATE (refusal:Refusal {root: $root, revision: $revision, id: $id, request: $request, at: datetime(),
                         actor: $actor, as_role: $as_role, statement: $statement, object: $object, subject: $subject, reason: $reason})
WITH refusal, COUNT { (:Refusal {root: $root, actor: $actor}) } AS kept
CALL (kept) {
  WITH kept WHERE kept * 10 > $keep * 11
  MATCH (old:Refusal {root: $root, actor: $actor})
  WITH old ORDER BY old.at DESC, old.id SKIP toInteger($keep)
  DELETE old
}
RETURN refusal.id AS id
