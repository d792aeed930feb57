// load_members.cypher: writes memberships in groups and roles. For bulk import.
// $root    STRING  'metalake:ml'
// $load    STRING  '5f0c', the load in progress; otherwise nothing is written
// $groups  LIST    [[1, 2]], ids in the database: the member and the group
// $roles   LIST    [[1, 3]], the holder and the role
// Returns one row, or none if the load is not in progress: written INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', load: '5f0c', groups: [[1, 2]], roles: [[1, 3]]}
MATCH (mark:Revision {root: $root})
SET mark.batches = coalesce(mark.batches, 0) + 1
WITH mark WHERE mark.loading = $load
CALL () {
  UNWIND $groups AS row
  MATCH (member:Subject) WHERE id(member) = row[0]
  MATCH (group:Subject) WHERE id(group) = row[1]
  CREATE (member)-[edge:MEMBER_OF]->(group)
  RETURN collect(id(edge)) AS members
}
CALL () {
  UNWIND $roles AS row
  MATCH (holder:Subject) WHERE id(holder) = row[0]
  MATCH (role:Role) WHERE id(role) = row[1]
  CREATE (holder)-[edge:HAS_ROLE]->(role)
  RETURN collect(id(edge)) AS holders
}
CREATE (:LoadedBatch {root: $root, number: mark.batches, edges: members + holders})
RETURN size(members) + size(holders) AS written
