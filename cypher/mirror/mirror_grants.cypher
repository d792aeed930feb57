// mirror_grants.cypher: the grants and ownerships of the subjects in a range of references, for snapshots and copies in memory.
// $root  STRING  'metalake:ml'
// $low   STRING  '', the first reference of the range
// $high  STRING  '~', the first reference after it; all references are between '' and '~'
// Returns one row per kind of fact: fact STRING ('ALLOW SELECT_TABLE', 'OWNS'), refs LIST OF STRING (the subject of each
//         fact), objects LIST OF STRING (its object)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', low: '', high: '~'}
MATCH (subject:Entity {root: $root})
WHERE $low <= subject.ref < $high
MATCH (subject)-[grant:ALLOW|DENY|OWNS]->(object)
RETURN type(grant) + coalesce(' ' + grant.privilege, '') AS fact, collect(subject.ref) AS refs,
       collect(object.ref) AS objects
