// lock.cypher: takes the writer lock of a tenant. The transaction holds it until it ends.
// $root  STRING  'metalake:ml'
// Returns nothing
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml'}
MERGE (writer:Writer {root: $root})
SET writer.turn = coalesce(writer.turn, 0) + 1
