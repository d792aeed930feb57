// create_tenant.cypher: creates the root of a new tenant, and the built-in subjects of its policy. It cannot be read
// until begin_tenant.cypher has run.
// $root      STRING          'metalake:ml'
// $by        STRING          '5f0c', the caller that claimed the name; nothing is written if another caller has claimed it since
// $ref       STRING          'metalake:ml'
// $type      STRING          'metalake'
// $name      STRING          'ml'
// $labels    LIST OF STRING  ['Securable', 'Metalake']
// $builtins  LIST OF MAP     ref, type, name, labels, securable, allow, owns, holds
// Returns one row, or none if the claim was lost: ref STRING
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:other', by: '5f0c', ref: 'metalake:other', type: 'metalake', name: 'other', labels: ['Securable', 'Metalake'], builtins: []}
MATCH (lock:Gate {root: $root})
SET lock.locked = true // locks the node, so that the following clauses read its latest state
WITH lock WHERE lock.by = $by
MERGE (top:Entity {root: $root, ref: $ref})
  ON CREATE SET top.type = $type, top.name = $name
SET top:$($labels)
WITH top
CALL (top) {
  UNWIND $builtins AS builtin
  MERGE (entity:Entity {root: $root, ref: builtin.ref})
    ON CREATE SET entity.type = builtin.type, entity.name = builtin.name, entity.builtin = true
  SET entity:$(builtin.labels)
  FOREACH (parent IN CASE WHEN builtin.securable THEN [top] ELSE [] END | MERGE (entity)-[:CHILD_OF]->(parent))
  FOREACH (privilege IN builtin.allow | MERGE (entity)-[:ALLOW {privilege: privilege}]->(top))
  FOREACH (owned IN CASE WHEN builtin.owns THEN [top] ELSE [] END | MERGE (entity)-[:OWNS]->(owned))
}
CALL () {
  UNWIND $builtins AS builtin
  UNWIND builtin.holds AS held
  MATCH (entity:Entity {root: $root, ref: builtin.ref})
  MATCH (role:Entity {root: $root, ref: held})
  MERGE (entity)-[:HAS_ROLE]->(role)
}
RETURN top.ref AS ref
