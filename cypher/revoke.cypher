// revoke.cypher: a grant is taken away; a name that was never created goes with its last grant.
// $root       STRING  'metalake:ml'
// $effect     STRING  'ALLOW'
// $privilege  STRING  'SELECT_TABLE'
// $object     STRING  'table:hr.public.staff'
// $subject    STRING  'role:analyst'
// Returns one row: revoked INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', effect: 'ALLOW', privilege: 'SELECT_TABLE', object: 'table:hr.public.staff', subject: 'role:analyst'}
MATCH (:Entity {root: $root, ref: $subject})-[grant:ALLOW|DENY {privilege: $privilege}]->(object:Entity {root: $root, ref: $object})
WHERE type(grant) = $effect
DELETE grant
WITH DISTINCT object
CALL (object) {
  MATCH (object)-[:CHILD_OF*0..]->(name:Securable)
  WHERE name.exists = false AND NOT EXISTS {
    MATCH (name)<-[:CHILD_OF*0..]-(inner) WHERE coalesce(inner.exists, true) OR EXISTS { (inner)<-[:ALLOW|DENY]-() } }
  DETACH DELETE name
}
RETURN count(object) AS revoked
