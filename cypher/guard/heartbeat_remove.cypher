// heartbeat_remove.cypher: removes the heartbeat of a holder that has released its lock.
// $root    STRING  'metalake:ml'
// $holder  STRING  '5f0c'
// Returns nothing
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', holder: '5f0c'}
MATCH (beat:Heartbeat {root: $root, holder: $holder})
DELETE beat
