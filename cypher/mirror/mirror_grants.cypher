// mirror_grants.cypher: all grants and ownerships of a tenant, for the Spark snapshot.
// $root        STRING          'metalake:ml'
// Returns one row per subject that has any: ref STRING, facts LIST OF STRING ('ALLOW SELECT_TABLE', 'OWNS'),
//         objects LIST OF STRING (the object of each fact)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml'}
MATCH (subject:Entity {root: $root})
WHERE subject.ref >= '' // always true, so that the index on (root, ref) is used
MATCH (subject)-[grant:ALLOW|DENY|OWNS]->(object)
RETURN subject.ref AS ref,
       collect(type(grant) + coalesce(' ' + grant.privilege, '')) AS facts,
       collect(object.ref) AS objects
