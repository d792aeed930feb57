// mirror_members.cypher: all direct memberships and held roles of a tenant, for the Spark snapshot.
// $root        STRING          'metalake:ml'
// Returns one row per subject that has any: ref STRING, groups LIST OF STRING, roles LIST OF STRING
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml'}
MATCH (subject:Entity {root: $root})
WHERE subject.ref >= '' // always true, so that the index on (root, ref) is used
MATCH (subject)-[held:MEMBER_OF|HAS_ROLE]->(holder)
RETURN subject.ref AS ref,
       collect(CASE WHEN held:MEMBER_OF THEN holder.ref END) AS groups,
       collect(CASE WHEN held:HAS_ROLE THEN holder.ref END) AS roles
