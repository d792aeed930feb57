// restore_log.cypher: writes the history, refused attempts and request ids of a dump. For restoring a dump.
// $root      STRING       'metalake:ml'
// $load      STRING       '5f0c', the load in progress; otherwise nothing is written
// $lane      INTEGER      0, the lane in which the batch is written
// $number    INTEGER      1, higher than those of the batches that this one needs
// $history   LIST OF MAP  the properties of :Change nodes, without root
// $deltas    LIST OF MAP  the same of :Delta nodes
// $refusals  LIST OF MAP  the same of :Refusal nodes
// $requests  LIST OF MAP  the same of :Request nodes
// Returns one row, or none if the load is not in progress: written INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', load: '5f0c', lane: 0, number: 1, history: [{revision: 1, id: '5f0c', statement: 'add user:ann'}], deltas: [], refusals: [], requests: []}
MATCH (lane:LoadLane {root: $root, number: $lane})
SET lane.locked = true // no other caller can take the load over now, because that locks all lanes
WITH lane
MATCH (mark:Revision {root: $root}) WHERE mark.loading = $load
CALL () {
  UNWIND $history AS row
  CREATE (change:Change {root: $root})
  SET change += row
  RETURN collect(toInteger(substring(elementId(change), 39))) AS changes
}
CALL () {
  UNWIND $deltas AS row
  CREATE (delta:Delta {root: $root})
  SET delta += row
  RETURN collect(toInteger(substring(elementId(delta), 39))) AS parts
}
CALL () {
  UNWIND $refusals AS row
  CREATE (refusal:Refusal {root: $root})
  SET refusal += row
  RETURN collect(toInteger(substring(elementId(refusal), 39))) AS refused
}
CALL () {
  UNWIND $requests AS row
  CREATE (request:Request {root: $root})
  SET request += row
  RETURN collect(toInteger(substring(elementId(request), 39))) AS requested
}
CREATE (:LoadedBatch {root: $root, number: $number, nodes: changes + parts + refused + requested})
RETURN size(changes) + size(parts) + size(refused) + size(requested) AS written
