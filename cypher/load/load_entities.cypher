// load_entities.cypher: creates entities of one type below their parents. For bulk import.
// $root    STRING          'metalake:ml'
// $load    STRING          '5f0c', the load in progress; otherwise nothing is written
// $type    STRING          'table'
// $labels  LIST OF STRING  ['Securable', 'Table']
// $exists  BOOLEAN         null, or false: only names with grants on them
// $rows    LIST            [[1, 'table:hr.public.staff', 'staff']]: id of the parent in the database or null, ref, name
// Returns one row, or none if the load is not in progress: refs LIST OF STRING, nodes LIST OF INTEGER (their ids)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', load: '5f0c', type: 'table', labels: ['Securable', 'Table'], exists: null, rows: [[1, 'table:hr.public.staff', 'staff']]}
MATCH (mark:Revision {root: $root})
SET mark.batches = coalesce(mark.batches, 0) + 1
WITH mark WHERE mark.loading = $load
CALL () {
  UNWIND $rows AS row
  OPTIONAL MATCH (parent) WHERE id(parent) = row[0]
  CREATE (entity:Entity:$($labels) {root: $root, ref: row[1], type: $type, name: row[2], exists: $exists})
  FOREACH (above IN CASE WHEN parent IS NULL THEN [] ELSE [parent] END | CREATE (entity)-[:CHILD_OF]->(above))
  RETURN collect(entity.ref) AS refs, collect(id(entity)) AS nodes
}
CREATE (:LoadedBatch {root: $root, number: mark.batches, nodes: nodes})
RETURN refs, nodes
