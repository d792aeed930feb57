// own.cypher: sets the owners of objects, replacing earlier ones.
// $root  STRING       'metalake:ml'
// $rows  LIST OF MAP  owner, object
// Returns one row per object: object STRING, former LIST OF STRING (its owners until now)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', rows: [{owner: 'user:ann', object: 'table:hr.public.staff'}]}
UNWIND $rows AS row
MATCH (object:Entity {root: $root, ref: row.object})
MATCH (owner:Entity {root: $root, ref: row.owner})
OPTIONAL MATCH (one:Subject)-[before:OWNS]->(object)
WITH object, owner, collect(before) AS befores, collect(one.ref) AS former
FOREACH (each IN befores | DELETE each)
CREATE (owner)-[:OWNS]->(object)
RETURN object.ref AS object, former
