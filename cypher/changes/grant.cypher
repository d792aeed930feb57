// grant.cypher: grants privileges on objects to subjects, with ALLOW or DENY.
// $root  STRING       'metalake:ml'
// $rows  LIST OF MAP  effect ('ALLOW' or 'DENY'), privilege, object, subject, until (null, or the end of the grant)
// $log   LIST OF MAP  the entries of the log about these rows, as audit_write.cypher takes them; [] if they are written apart
// Returns one row: granted INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', rows: [{effect: 'ALLOW', privilege: 'SELECT_TABLE', object: 'table:hr.public.staff', subject: 'role:analyst', until: null}], log: []}
UNWIND $rows AS row
MATCH (subject:Entity {root: $root, ref: row.subject})
MATCH (object:Entity {root: $root, ref: row.object})
FOREACH (each IN CASE row.effect WHEN 'ALLOW' THEN [1] ELSE [] END |
  MERGE (subject)-[grant:ALLOW {privilege: row.privilege}]->(object)
  SET grant.until = row.until, grant.root = CASE WHEN row.until IS NOT NULL THEN $root END)
FOREACH (each IN CASE row.effect WHEN 'DENY' THEN [1] ELSE [] END |
  MERGE (subject)-[grant:DENY {privilege: row.privilege}]->(object)
  SET grant.until = row.until, grant.root = CASE WHEN row.until IS NOT NULL THEN $root END)
WITH count(*) AS granted
FOREACH (entry IN $log | CREATE (change:Change {root: $root}) SET change += entry)
RETURN granted
