// mirror_members.cypher: the direct memberships and held roles of the subjects in a range of references, for the Spark snapshot.
// $root  STRING  'metalake:ml'
// $low   STRING  '', the first reference of the range
// $high  STRING  '~', the first reference after it; all references are between '' and '~'
// Returns one row per subject that has any: ref STRING, groups LIST OF STRING, roles LIST OF STRING
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', low: '', high: '~'}
MATCH (subject:Entity {root: $root})
WHERE $low <= subject.ref < $high
MATCH (subject)-[held:MEMBER_OF|HAS_ROLE]->(holder)
RETURN subject.ref AS ref,
       collect(CASE WHEN held:MEMBER_OF THEN holder.ref END) AS groups,
       collect(CASE WHEN held:HAS_ROLE THEN holder.ref END) AS roles
