// load_grants.cypher: writes grants, with ALLOW or DENY, and ownerships. For bulk import.
// $root   STRING  'metalake:ml'
// $load   STRING  '5f0c', the load in progress; otherwise nothing is written
// $allow  LIST    [[1, 2, 'SELECT_TABLE']], ids in the database of the subject and the object, and the privilege
// $deny   LIST    [[1, 2, 'MODIFY_TABLE']], the same for DENY
// $owns   LIST    [[1, 2]], the owner and the object
// Returns one row, or none if the load is not in progress: written INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', load: '5f0c', allow: [[1, 2, 'SELECT_TABLE']], deny: [[1, 2, 'MODIFY_TABLE']], owns: [[1, 2]]}
MATCH (mark:Revision {root: $root})
SET mark.batches = coalesce(mark.batches, 0) + 1
WITH mark WHERE mark.loading = $load
CALL () {
  UNWIND $allow AS row
  MATCH (subject:Subject) WHERE id(subject) = row[0]
  MATCH (object:Securable) WHERE id(object) = row[1]
  CREATE (subject)-[edge:ALLOW {privilege: row[2]}]->(object)
  RETURN collect(id(edge)) AS allowed
}
CALL () {
  UNWIND $deny AS row
  MATCH (subject:Subject) WHERE id(subject) = row[0]
  MATCH (object:Securable) WHERE id(object) = row[1]
  CREATE (subject)-[edge:DENY {privilege: row[2]}]->(object)
  RETURN collect(id(edge)) AS denied
}
CALL () {
  UNWIND $owns AS row
  MATCH (owner:Subject) WHERE id(owner) = row[0]
  MATCH (object:Securable) WHERE id(object) = row[1]
  CREATE (owner)-[edge:OWNS]->(object)
  RETURN collect(id(edge)) AS owned
}
CREATE (:LoadedBatch {root: $root, number: mark.batches, edges: allowed + denied + owned})
RETURN size(allowed) + size(denied) + size(owned) AS written
