// log.cypher: the last accepted changes of a tenant, oldest first.
// $root   STRING   'metalake:ml'
// $limit  INTEGER  20, how many at most
// Returns one row: changes LIST OF MAP (revision, id, at, actor, statement), revision, begun, revision_after, begun_after
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', limit: 20}
MATCH (before:Revision {root: $root})
WITH before.revision AS revision, before.begun AS begun
CALL () {
  MATCH (change:Change {root: $root})
  WHERE change.revision > 0 // always true; lets the index on (root, revision) be used
  WITH change ORDER BY change.revision DESC LIMIT toInteger($limit)
  WITH change ORDER BY change.revision
  RETURN collect({revision: change.revision, id: change.id, at: toString(change.at), actor: change.actor,
                  statement: change.statement}) AS changes
}
MATCH (after:Revision {root: $root})
RETURN changes, revision, begun, after.revision AS revision_after, after.begun AS begun_after
