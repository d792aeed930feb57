// disown.cypher: removes the owner of an object.
// $root    STRING  'metalake:ml'
// $owner   STRING  'user:ann'
// $object  STRING  'catalog:hr'
// Returns one row: disowned INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', owner: 'user:ann', object: 'catalog:hr'}
OPTIONAL MATCH (:Entity {root: $root, ref: $owner})-[owns:OWNS]->(:Entity {root: $root, ref: $object})
DELETE owns
RETURN count(owns) AS disowned
