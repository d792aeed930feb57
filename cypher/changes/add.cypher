// add.cypher: creates entities below their parents. The grants on a name that was not created yet are kept.
// $root  STRING       'metalake:ml'
// $rows  LIST OF MAP  ref, type, name (the last segment), labels, parent (its reference, or null if it is not an object of
//                     the tree), exists (false: only a name with grants on it), holds
//                     (roles that it holds from its creation)
// Returns one row for each of $rows: ref STRING, granted LIST ([ALLOW or DENY, privilege, grantee, end or null]: what
// was already on the name), held LIST ([role, end or null]: the roles that it held already)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', rows: [{ref: 'table:hr.public.extra', type: 'table', name: 'extra', labels: ['Securable', 'Table'], parent: 'schema:hr.public', exists: true, holds: []}]}
UNWIND $rows AS row
MERGE (entity:Entity {root: $root, ref: row.ref})
  ON CREATE SET entity.type = row.type, entity.name = row.name,
    entity.exists = CASE WHEN row.exists THEN null ELSE false END
  ON MATCH SET entity.exists = CASE WHEN row.exists THEN null ELSE entity.exists END
SET entity:$(row.labels)
WITH entity, row, COLLECT { MATCH (grantee)-[grant:ALLOW|DENY]->(entity) RETURN [type(grant), grant.privilege, grantee.ref, grant.until] } AS granted,
  COLLECT { MATCH (entity)-[link:HAS_ROLE]->(role) RETURN [role.ref, link.until] } AS held
CALL (entity, row) {
  MATCH (parent:Entity {root: $root, ref: row.parent})
  MERGE (entity)-[:CHILD_OF]->(parent)
}
CALL (entity, row) {
  UNWIND row.holds AS held
  MATCH (role:Entity {root: $root, ref: held})
  MERGE (entity)-[link:HAS_ROLE]->(role)
  SET link.until = null, link.root = null
}
RETURN row.ref AS ref, granted, held
