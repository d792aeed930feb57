// tag.cypher: tags objects.
// $root  STRING       'metalake:ml'
// $rows  LIST OF MAP  object, tag
// $log   LIST OF MAP  the entries of the log about these rows, as audit_write.cypher takes them; [] if they are written apart
// Returns one row: tagged INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', rows: [{object: 'table:hr.public.staff', tag: 'tag:pii'}], log: []}
UNWIND $rows AS row
MATCH (object:Entity {root: $root, ref: row.object})
MATCH (tag:Entity {root: $root, ref: row.tag})
MERGE (object)-[:TAGGED]->(tag)
WITH count(*) AS tagged
FOREACH (entry IN $log | CREATE (change:Change {root: $root}) SET change += entry)
RETURN tagged
