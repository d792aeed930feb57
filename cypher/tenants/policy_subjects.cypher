// policy_subjects.cypher: creates the built-in subjects of a new policy in an existing tenant.
// $root      STRING       'metalake:ml'
// $top       STRING       'metalake:ml', the root object
// $builtins  LIST OF MAP  ref, type, name, labels, securable, allow, owns, holds
// Returns one row: ref STRING
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', top: 'metalake:ml', builtins: []}
MATCH (top:Entity {root: $root, ref: $top})
CALL (top) {
  UNWIND $builtins AS builtin
  MERGE (entity:Entity {root: $root, ref: builtin.ref})
    ON CREATE SET entity.type = builtin.type, entity.name = builtin.name
  SET entity.builtin = true, entity.exists = null, entity:$(builtin.labels)
  FOREACH (parent IN CASE WHEN builtin.securable THEN [top] ELSE [] END | MERGE (entity)-[:CHILD_OF]->(parent))
  FOREACH (privilege IN builtin.allow |
    MERGE (entity)-[grant:ALLOW {privilege: privilege}]->(top) SET grant.until = null, grant.root = null)
  FOREACH (owned IN CASE WHEN builtin.owns THEN [top] ELSE [] END | MERGE (entity)-[:OWNS]->(owned))
}
CALL () {
  UNWIND $builtins AS builtin
  UNWIND builtin.holds AS held
  MATCH (entity:Entity {root: $root, ref: builtin.ref})
  MATCH (role:Entity {root: $root, ref: held})
  MERGE (entity)-[link:HAS_ROLE]->(role)
  SET link.until = null, link.root = null
}
RETURN top.ref AS ref
