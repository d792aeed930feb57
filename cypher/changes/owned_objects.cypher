// owned_objects.cypher: the objects that a subject owns, in byte order.
// $root     STRING  'metalake:ml'
// $subject  STRING  'user:ann'
// Returns one row: owned LIST OF STRING
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', subject: 'user:ann'}
RETURN COLLECT {
  MATCH (:Entity {root: $root, ref: $subject})-[:OWNS]->(object)
  RETURN object.ref ORDER BY object.ref
} AS owned
