// rename_privilege.cypher: replaces grants under another name of a privilege (`old`) by grants under its own name (`new`).
// $root   STRING       'metalake:ml'
// $names  LIST OF MAP  old, new
// Returns one row: renamed INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', names: [{old: 'READ', new: 'SELECT_TABLE'}]}
MATCH (holder:Entity {root: $root})
WHERE holder.ref >= '' // always true, so that the index on (root, ref) is used
MATCH (holder)-[grant:ALLOW|DENY]->(object)
UNWIND [name IN $names WHERE name.old = grant.privilege] AS name
FOREACH (each IN CASE type(grant) WHEN 'ALLOW' THEN [1] ELSE [] END | MERGE (holder)-[:ALLOW {privilege: name.new}]->(object))
FOREACH (each IN CASE type(grant) WHEN 'DENY' THEN [1] ELSE [] END | MERGE (holder)-[:DENY {privilege: name.new}]->(object))
DELETE grant
RETURN count(*) AS renamed
