// standing.cypher: what stands before a change: which entities are there, and whether the edge is.
// $root       STRING          'metalake:ml'
// $refs       LIST OF STRING  ['table:hr.public.staff', 'role:analyst'], every entity that the change names
// $object     STRING          'table:hr.public.staff', what it is about
// $subject    STRING          'role:analyst', who gets or loses; null for add and drop
// $edge       STRING          'ALLOW', or DENY, OWNS, MEMBER (of a group or a role)
// $privilege  STRING          'SELECT_TABLE', or null
// Returns one row: there LIST OF MAP (ref, builtin), owner STRING, edge BOOLEAN, cycle BOOLEAN (joining would close a
// circle), owning STRING (something that the object owns)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', refs: ['table:hr.public.staff', 'role:analyst'], object: 'table:hr.public.staff', subject: 'role:analyst', edge: 'ALLOW', privilege: 'SELECT_TABLE'}
CALL () {
  UNWIND $refs AS ref
  MATCH (entity:Entity {root: $root, ref: ref}) WHERE coalesce(entity.exists, true)
  RETURN collect({ref: ref, builtin: coalesce(entity.builtin, false)}) AS there
}
OPTIONAL MATCH (object:Entity {root: $root, ref: $object})
OPTIONAL MATCH (subject:Entity {root: $root, ref: $subject})
OPTIONAL MATCH (owner:Subject)-[:OWNS]->(object)
RETURN there, owner.ref AS owner,
  CASE $edge
    WHEN 'MEMBER' THEN EXISTS { (subject)-[:MEMBER_OF|HAS_ROLE]->(object) }
    WHEN 'ALLOW' THEN EXISTS { (subject)-[:ALLOW {privilege: $privilege}]->(object) }
    WHEN 'DENY' THEN EXISTS { (subject)-[:DENY {privilege: $privilege}]->(object) }
    ELSE false END AS edge,
  $edge = 'MEMBER' AND (subject = object OR EXISTS {
    MATCH (object)-[:MEMBER_OF|HAS_ROLE*1..]->(above:Subject) WITH DISTINCT above WHERE above = subject RETURN above }) AS cycle,
  head(COLLECT { MATCH (object)-[:OWNS]->(owned) RETURN owned.ref LIMIT 1 }) AS owning
