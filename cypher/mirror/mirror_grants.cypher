// mirror_grants.cypher: every grant and ownership of a tenant, for the Spark snapshot.
// $root        STRING          'metalake:ml'
// Returns one row a subject that has any: ref STRING, facts LIST OF STRING ('ALLOW SELECT_TABLE', 'OWNS'),
//         objects LIST OF STRING (the object of each fact)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml'}
MATCH (subject:Entity {root: $root})
WHERE subject.ref >= '' // always true; lets the index on (root, ref) be used
MATCH (subject)-[grant:ALLOW|DENY|OWNS]->(object)
RETURN subject.ref AS ref,
       collect(type(grant) + coalesce(' ' + grant.privilege, '')) AS facts,
       collect(object.ref) AS objects
