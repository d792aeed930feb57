// unlock.cypher: removes the node of the writer lock, and the caller's claim on the name, of a tenant that was removed.
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
