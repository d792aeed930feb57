// dump_edges.cypher: all memberships, grants, ownerships and tags of a tenant, by the entity where they begin. For a dump, and for an
// upgrade of the policy.
// $root  STRING  'metalake:ml'
// Returns one row per entity that has any: ref STRING, containers LIST OF LIST OF STRING (a group or a role, and the
// end or null), grants LIST OF LIST OF STRING (['ALLOW', 'SELECT_TABLE', 'table:hr.public.staff', null], with the end
// or null), owned LIST OF STRING, tags LIST OF STRING
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml'}
MATCH (subject:Entity {root: $root})
WHERE subject.ref >= '' // always true, so that the index on (root, ref) is used
WITH subject ORDER BY subject.root, subject.ref // the order of the index, so that no sort delays the rows
WHERE EXISTS { (subject)-[:MEMBER_OF|HAS_ROLE|ALLOW|DENY|OWNS|TAGGED]->() }
RETURN subject.ref AS ref,
  COLLECT { MATCH (subject)-[link:MEMBER_OF|HAS_ROLE]->(container) RETURN [container.ref, link.until] } AS containers,
  COLLECT { MATCH (subject)-[grant:ALLOW|DENY]->(object) RETURN [type(grant), grant.privilege, object.ref, grant.until] } AS grants,
  COLLECT { MATCH (subject)-[:OWNS]->(object) RETURN object.ref } AS owned,
  COLLECT { MATCH (subject)-[:TAGGED]->(tag) RETURN tag.ref } AS tags
