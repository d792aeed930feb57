// create_root.cypher: a tenant begins: its root, its revision with its policy, the subjects that come with the policy.
// Each making has an id of its own: one that is made again starts at the same revisions.
// $root      STRING          'metalake:ml'
// $ref       STRING          'metalake:ml'
// $type      STRING          'metalake'
// $name      STRING          'ml'
// $labels    LIST OF STRING  ['Securable', 'Metalake']
// $policy    STRING          'gravitino'
// $digest    STRING          '9f2c', changes when the policy does
// $source    STRING          '{}', the whole policy as JSON
// $builtins  LIST OF MAP     ref, type, name, labels, securable, allow, owns, holds
// Returns one row: ref STRING
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:other', ref: 'metalake:other', type: 'metalake', name: 'other', labels: ['Securable', 'Metalake'], policy: 'gravitino', digest: '', source: '{}', builtins: []}
MERGE (revision:Revision {root: $root})
  ON CREATE SET revision.revision = 0, revision.begun = 0, revision.policy = $policy, revision.digest = $digest,
    revision.source = $source, revision.made = randomUUID()
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
