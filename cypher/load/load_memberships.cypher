// load_memberships.cypher: which groups and roles are these in, or do they hold? For finding circles before they are written.
// $root  STRING          'metalake:ml'
// $refs  LIST OF STRING  ['group:readers', 'role:analyst']
// Returns one row a membership: member STRING, of STRING
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', refs: ['group:readers', 'role:analyst']}
UNWIND $refs AS ref
MATCH (:Entity {root: $root, ref: ref})-[:MEMBER_OF|HAS_ROLE]->(above)
RETURN ref AS member, above.ref AS of
