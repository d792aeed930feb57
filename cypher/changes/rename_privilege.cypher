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
FOREACH (each IN CASE type(grant) WHEN 'ALLOW' THEN [1] ELSE [] END | MERGE (holder)-[kept:ALLOW {privilege: name.new}]->(object)
  ON CREATE SET kept.until = grant.until, kept.root = grant.root
  ON MATCH SET kept.until = CASE WHEN kept.until < grant.until THEN grant.until WHEN grant.until IS NOT NULL THEN kept.until END,
    kept.root = CASE WHEN grant.until IS NOT NULL THEN kept.root END)
FOREACH (each IN CASE type(grant) WHEN 'DENY' THEN [1] ELSE [] END | MERGE (holder)-[kept:DENY {privilege: name.new}]->(object)
  ON CREATE SET kept.until = grant.until, kept.root = grant.root
  ON MATCH SET kept.until = CASE WHEN kept.until < grant.until THEN grant.until WHEN grant.until IS NOT NULL THEN kept.until END,
    kept.root = CASE WHEN grant.until IS NOT NULL THEN kept.root END)
DELETE grant
RETURN count(*) AS renamed
