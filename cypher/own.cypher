// own.cypher: an object gets an owner, who replaces the one before.
// $root    STRING  'metalake:ml'
// $owner   STRING  'user:ann'
// $object  STRING  'table:hr.public.staff'
// Returns one row: owner STRING
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', owner: 'user:ann', object: 'table:hr.public.staff'}
MATCH (object:Entity {root: $root, ref: $object})
MATCH (owner:Entity {root: $root, ref: $owner})
OPTIONAL MATCH (:Subject)-[before:OWNS]->(object)
WITH object, owner, collect(before) AS befores
FOREACH (each IN befores | DELETE each)
CREATE (owner)-[:OWNS]->(object)
RETURN owner.ref AS owner
