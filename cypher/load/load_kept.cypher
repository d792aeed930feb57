// load_kept.cypher: the grants and memberships of names that a load is about to create. For bulk import.
// $root  STRING          'metalake:ml'
// $refs  LIST OF STRING  ['table:hr.public.staff']
// Returns one row: grants INTEGER (on these names), memberships INTEGER (of them in groups and roles)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', refs: ['table:hr.public.staff']}
UNWIND $refs AS ref
MATCH (name:Entity {root: $root, ref: ref})
RETURN sum(COUNT { (name)<-[:ALLOW|DENY]-() }) AS grants, sum(COUNT { (name)-[:MEMBER_OF|HAS_ROLE]->() }) AS memberships
