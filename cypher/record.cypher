// record.cypher: accepted changes are written to the history.
// $root  STRING       'metalake:ml'
// $rows  LIST OF MAP  revision, id (the change's own), actor (null for a fact), as_role (the actor's active role, or null),
//                     statement, object, subject (the references that the statement names, or null)
// Returns one row: recorded INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', rows: [{revision: 7, id: '5f0c', actor: 'user:ann', as_role: null, statement: 'add user:cas', object: 'user:cas', subject: null}]}
UNWIND $rows AS row
CREATE (change:Change {root: $root, at: datetime()})
SET change += row
RETURN count(*) AS recorded
