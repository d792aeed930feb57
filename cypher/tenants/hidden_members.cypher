// hidden_members.cypher: the members of the groups and roles that answers omit, for the operator who sets them. A user that
// was dropped is still one.
// $root    STRING          'metalake:ml'
// $hidden  LIST OF STRING  ['role:service_admin']
// Returns rows: container STRING, member STRING
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', hidden: ['role:service_admin']}
UNWIND $hidden AS ref
MATCH (container:Entity {root: $root, ref: ref})<-[:MEMBER_OF|HAS_ROLE]-(member)
RETURN container.ref AS container, member.ref AS member
ORDER BY container, member
