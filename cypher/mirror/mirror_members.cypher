// mirror_members.cypher: the direct memberships and held roles of the subjects in a range of references, for snapshots and copies in memory.
// $root  STRING  'metalake:ml'
// $low   STRING  '', the first reference of the range
// $high  STRING  '~', the first reference after it; all references are between '' and '~'
// Returns one row per kind: kind STRING (MEMBER_OF, HAS_ROLE), refs LIST OF STRING (the subject of each membership),
//         containers LIST OF STRING (its group or role)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', low: '', high: '~'}
MATCH (subject:Entity {root: $root})
WHERE $low <= subject.ref < $high
MATCH (subject)-[held:MEMBER_OF|HAS_ROLE]->(container)
RETURN type(held) AS kind, collect(subject.ref) AS refs, collect(container.ref) AS containers
