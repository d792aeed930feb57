// add.cypher: an entity comes into being below its parent; grants that its name held before stay.
// $root    STRING          'metalake:ml'
// $ref     STRING          'table:hr.public.staff'
// $type    STRING          'table'
// $name    STRING          'staff'
// $labels  LIST OF STRING  ['Securable', 'Table']
// $parent  STRING          'schema:hr.public', or null for what is no object of the tree
// $exists  BOOLEAN         false: only the name, which holds grants before the entity is created
// $holds   LIST OF STRING  [], roles that it holds from the start
// Returns one row: ref STRING
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', ref: 'table:hr.public.extra', type: 'table', name: 'extra', labels: ['Securable', 'Table'], parent: 'schema:hr.public', exists: true, holds: []}
MERGE (entity:Entity {root: $root, ref: $ref})
  ON CREATE SET entity.type = $type, entity.name = $name, entity.exists = CASE WHEN $exists THEN null ELSE false END
  ON MATCH SET entity.exists = CASE WHEN $exists THEN null ELSE entity.exists END
SET entity:$($labels)
WITH entity
OPTIONAL MATCH (parent:Entity {root: $root, ref: $parent})
FOREACH (above IN CASE WHEN parent IS NULL THEN [] ELSE [parent] END | MERGE (entity)-[:CHILD_OF]->(above))
WITH entity
OPTIONAL MATCH (role:Entity {root: $root}) WHERE role.ref IN $holds
FOREACH (held IN CASE WHEN role IS NULL THEN [] ELSE [role] END | MERGE (entity)-[:HAS_ROLE]->(held))
RETURN DISTINCT entity.ref AS ref
