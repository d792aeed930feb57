// effective_principals.cypher: the effective principals of a subject: itself, its groups and its roles, direct or through others.
// $root     STRING  'metalake:ml'
// $subject  STRING  'user:bob'
// Returns one row: held LIST OF STRING
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', subject: 'user:bob'}
OPTIONAL MATCH (:Entity {root: $root, ref: $subject})-[:MEMBER_OF|HAS_ROLE*0..]->(holder)
RETURN collect(DISTINCT holder.ref) AS held
