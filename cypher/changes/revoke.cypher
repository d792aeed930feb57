// revoke.cypher: removes grants. It also removes a name that was never created, if its last grant is removed.
// $root  STRING       'metalake:ml'
// $rows  LIST OF MAP  effect ('ALLOW' or 'DENY'), privilege, object, subject
// $kept  LIST OF STRING  ['role:service_admin'], the groups and roles whose members only the operator sets
// $log   LIST OF MAP  the entries of the log about these rows, as audit_write.cypher takes them; [] if they are written apart
// Returns one row: revoked INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', rows: [{effect: 'ALLOW', privilege: 'SELECT_TABLE', object: 'table:hr.public.staff', subject: 'role:analyst'}], kept: ['role:service_admin'], log: []}
CALL () {
  UNWIND $rows AS row
  MATCH (:Entity {root: $root, ref: row.subject})-[grant:ALLOW|DENY {privilege: row.privilege}]->(object:Entity {root: $root, ref: row.object})
  WHERE type(grant) = row.effect
  DELETE grant
  RETURN collect(object) AS objects
}
CALL (objects) {
  UNWIND objects AS object
  WITH DISTINCT object
  MATCH (object)-[:CHILD_OF*0..]->(name:Securable)
  WHERE name.exists = false AND NOT EXISTS {
    MATCH (name)<-[:CHILD_OF*0..]-(inner) WHERE coalesce(inner.exists, true) OR EXISTS { (inner)<-[:ALLOW|DENY]-() }
      OR EXISTS { MATCH (inner)-[:MEMBER_OF|HAS_ROLE]->(list) WHERE list.ref IN $kept } }
  WITH collect(DISTINCT name) AS gone
  FOREACH (each IN gone | DETACH DELETE each)
}
FOREACH (entry IN $log | CREATE (change:Change {root: $root}) SET change += entry)
RETURN size(objects) AS revoked
