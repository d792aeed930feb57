// unlock.cypher: after a tenant was removed: removes the node of its writer lock, and the caller's claim on its name.
// $root  STRING  'metalake:ml'
// $by    STRING  '5f0c', the caller that claimed the name
// Returns nothing
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', by: '5f0c'}
CALL () {
  MATCH (writer:Writer {root: $root})
  DELETE writer
}
MATCH (lock:Gate {root: $root}) WHERE lock.by = $by
DELETE lock
