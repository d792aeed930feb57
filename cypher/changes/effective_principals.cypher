// effective_principals.cypher: the effective principals of some subjects: themselves, their groups and their roles, direct or through others.
// $root      STRING          'metalake:ml'
// $subjects  LIST OF STRING  ['user:bob', 'user:ann']
// Returns one row: held LIST OF STRING
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', subjects: ['user:bob', 'user:ann']}
UNWIND $subjects AS subject
MATCH (:Entity {root: $root, ref: subject})-[:MEMBER_OF|HAS_ROLE*0..]->(holder)
RETURN collect(DISTINCT holder.ref) AS held
