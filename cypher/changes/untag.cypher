// untag.cypher: removes tags from objects.
// $root  STRING       'metalake:ml'
// $rows  LIST OF MAP  object, tag
// $log   LIST OF MAP  the entries of the log about these rows, as audit_write.cypher takes them; [] if they are written apart
// Returns one row: untagged INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', rows: [{object: 'table:hr.public.staff', tag: 'tag:pii'}], log: []}
UNWIND $rows AS row
MATCH (:Entity {root: $root, ref: row.object})-[link:TAGGED]->(:Entity {root: $root, ref: row.tag})
DELETE link
WITH count(*) AS untagged
FOREACH (entry IN $log | CREATE (change:Change {root: $root}) SET change += entry)
RETURN untagged
