// load_members.cypher: writes memberships in groups and roles. For bulk import.
// $root    STRING   'metalake:ml'
// $load    STRING   '5f0c', the load in progress; otherwise nothing is written
// $lane    INTEGER  0, the lane in which the batch is written
// $number  INTEGER  1, higher than those of the batches that this one needs
// $until   LIST OF STRING  [null], the ends of memberships, or null
// $groups  MAP      {starts: [1], ends: [2], labels: [0]}, the ids of members and groups in the database, and the place of the end in the list
// $roles   MAP      {starts: [1], ends: [3], labels: [0]}, the same of holders and roles
// Returns one row, or none if the load is not in progress: written INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', load: '5f0c', lane: 0, number: 1, until: [null], groups: {starts: [1], ends: [2], labels: [0]}, roles: {starts: [1], ends: [3], labels: [0]}}
MATCH (lane:LoadLane {root: $root, number: $lane})
SET lane.locked = true // no other caller can take the load over now, because that locks all lanes
WITH lane
MATCH (mark:Revision {root: $root}) WHERE mark.loading = $load
WITH left(elementId(mark), 39) AS node // before the number of a node in its elementId()
CALL (node) {
  UNWIND range(0, size($groups.starts) - 1) AS at
  MATCH (member:Subject) WHERE elementId(member) = node + $groups.starts[at]
  MATCH (group:Subject) WHERE elementId(group) = node + $groups.ends[at]
  CREATE (member)-[edge:MEMBER_OF]->(group)
  SET edge.until = $until[$groups.labels[at]], edge.root = CASE WHEN $until[$groups.labels[at]] IS NOT NULL THEN $root END
  RETURN collect(toInteger(substring(elementId(edge), 39))) AS members
}
CALL (node) {
  UNWIND range(0, size($roles.starts) - 1) AS at
  MATCH (holder:Subject) WHERE elementId(holder) = node + $roles.starts[at]
  MATCH (role:Role) WHERE elementId(role) = node + $roles.ends[at]
  CREATE (holder)-[edge:HAS_ROLE]->(role)
  SET edge.until = $until[$roles.labels[at]], edge.root = CASE WHEN $until[$roles.labels[at]] IS NOT NULL THEN $root END
  RETURN collect(toInteger(substring(elementId(edge), 39))) AS holders
}
CREATE (:LoadedBatch {root: $root, number: $number, edges: members + holders})
RETURN size(members) + size(holders) AS written
