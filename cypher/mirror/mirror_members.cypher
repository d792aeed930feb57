// mirror_members.cypher: every direct membership and held role of a tenant, for the Spark snapshot.
// $root        STRING          'metalake:ml'
// Returns one row a subject that is in something: ref STRING, groups LIST OF STRING, roles LIST OF STRING
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml'}
MATCH (subject:Entity {root: $root})
WHERE subject.ref >= '' // always true; lets the index on (root, ref) be used
MATCH (subject)-[held:MEMBER_OF|HAS_ROLE]->(holder)
RETURN subject.ref AS ref,
       collect(CASE WHEN held:MEMBER_OF THEN holder.ref END) AS groups,
       collect(CASE WHEN held:HAS_ROLE THEN holder.ref END) AS roles
