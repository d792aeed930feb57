// load_memberships.cypher: the groups and roles of these members, to find cycles before they are written. For bulk import.
// $root  STRING          'metalake:ml'
// $refs  LIST OF STRING  ['group:readers', 'role:analyst']
// Returns one row per membership: member STRING, of STRING
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', refs: ['group:readers', 'role:analyst']}
UNWIND $refs AS ref
MATCH (:Entity {root: $root, ref: ref})-[:MEMBER_OF|HAS_ROLE]->(above)
RETURN ref AS member, above.ref AS of
