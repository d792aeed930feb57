// record.cypher: one accepted change is written to the history.
// $root       STRING   'metalake:ml'
// $revision   INTEGER  7
// $id         STRING   '5f0c', the change's own id
// $actor      STRING   'user:ann', or null for a fact
// $statement  STRING   'allow SELECT_TABLE on table:hr.public.staff to role:analyst'
// Returns one row: revision INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', revision: 7, id: '5f0c', actor: 'user:ann', statement: 'add user:cas'}
CREATE (change:Change {root: $root, revision: $revision, id: $id, at: datetime(), actor: $actor, statement: $statement})
RETURN change.revision AS revision
