// mirror_grants.cypher: the grants and ownerships of the subjects in a range of references, for the Spark snapshot.
// $root  STRING  'metalake:ml'
// $low   STRING  '', the first reference of the range
// $high  STRING  '~', the first reference after it; all references are between '' and '~'
// Returns one row per subject that has any: ref STRING, facts LIST OF STRING ('ALLOW SELECT_TABLE', 'OWNS'),
//         objects LIST OF STRING (the object of each fact)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', low: '', high: '~'}
MATCH (subject:Entity {root: $root})
WHERE $low <= subject.ref < $high
MATCH (subject)-[grant:ALLOW|DENY|OWNS]->(object)
RETURN subject.ref AS ref,
       collect(type(grant) + coalesce(' ' + grant.privilege, '')) AS facts,
       collect(object.ref) AS objects
