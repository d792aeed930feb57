// load_grants.cypher: writes grants, with ALLOW or DENY, ownerships and tags. For bulk import.
// $root        STRING          'metalake:ml'
// $load        STRING          '5f0c', the load in progress; otherwise nothing is written
// $lane        INTEGER         0, the lane in which the batch is written
// $number      INTEGER         1, higher than those of the batches that this one needs
// $privileges  LIST OF STRING  ['SELECT_TABLE', 'MODIFY_TABLE']
// $until       LIST OF STRING  [null, null], the ends of the grants with these privileges, or null
// $allow       MAP             {starts: [1], ends: [2], labels: [0]}: for each grant the ids of the subject and the object in the
//   database, and the place of the privilege and the end in the lists
// $deny        MAP             {starts: [1], ends: [2], labels: [1]}, the same for DENY
// $owns        MAP             {starts: [1], ends: [2]}, the ids of owners and objects
// $tags        MAP             {starts: [2], ends: [3]}, the ids of objects and their tags
// Returns one row, or none if the load is not in progress: written INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', load: '5f0c', lane: 0, number: 1, privileges: ['SELECT_TABLE', 'MODIFY_TABLE'], until: [null, null], allow: {starts: [1], ends: [2], labels: [0]}, deny: {starts: [1], ends: [2], labels: [1]}, owns: {starts: [1], ends: [2]}, tags: {starts: [], ends: []}}
MATCH (lane:LoadLane {root: $root, number: $lane})
SET lane.locked = true // no other caller can take the load over now, because that locks all lanes
WITH lane
MATCH (mark:Revision {root: $root}) WHERE mark.loading = $load
WITH left(elementId(mark), 39) AS node // before the number of a node in its elementId()
CALL (node) {
  UNWIND range(0, size($allow.starts) - 1) AS at
  MATCH (subject:Subject) WHERE elementId(subject) = node + $allow.starts[at]
  MATCH (object:Securable) WHERE elementId(object) = node + $allow.ends[at]
  CREATE (subject)-[edge:ALLOW {privilege: $privileges[$allow.labels[at]]}]->(object)
  SET edge.until = $until[$allow.labels[at]], edge.root = CASE WHEN $until[$allow.labels[at]] IS NOT NULL THEN $root END
  RETURN collect(toInteger(substring(elementId(edge), 39))) AS allowed
}
CALL (node) {
  UNWIND range(0, size($deny.starts) - 1) AS at
  MATCH (subject:Subject) WHERE elementId(subject) = node + $deny.starts[at]
  MATCH (object:Securable) WHERE elementId(object) = node + $deny.ends[at]
  CREATE (subject)-[edge:DENY {privilege: $privileges[$deny.labels[at]]}]->(object)
  SET edge.until = $until[$deny.labels[at]], edge.root = CASE WHEN $until[$deny.labels[at]] IS NOT NULL THEN $root END
  RETURN collect(toInteger(substring(elementId(edge), 39))) AS denied
}
CALL (node) {
  UNWIND range(0, size($owns.starts) - 1) AS at
  MATCH (owner:Subject) WHERE elementId(owner) = node + $owns.starts[at]
  MATCH (object:Securable) WHERE elementId(object) = node + $owns.ends[at]
  CREATE (owner)-[edge:OWNS]->(object)
  RETURN collect(toInteger(substring(elementId(edge), 39))) AS owned
}
CALL (node) {
  UNWIND range(0, size($tags.starts) - 1) AS at
  MATCH (object:Securable) WHERE elementId(object) = node + $tags.starts[at]
  MATCH (tag:Securable) WHERE elementId(tag) = node + $tags.ends[at]
  CREATE (object)-[edge:TAGGED]->(tag)
  RETURN collect(toInteger(substring(elementId(edge), 39))) AS tagged
}
CREATE (:LoadedBatch {root: $root, number: $number, edges: allowed + denied + owned + tagged})
RETURN size(allowed) + size(denied) + size(owned) + size(tagged) AS written
