// join.cypher: makes subjects members of groups or holders of roles.
// $root  STRING       'metalake:ml'
// $rows  LIST OF MAP  subject, container (the group or role), until (null, or the end of the membership)
// $log   LIST OF MAP  the entries of the log about these rows, as audit_write.cypher takes them; [] if they are written apart
// Returns one row: joined INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', rows: [{subject: 'user:bob', container: 'role:analyst', until: null}], log: []}
UNWIND $rows AS row
MATCH (subject:Entity {root: $root, ref: row.subject})
MATCH (container:Entity {root: $root, ref: row.container})
FOREACH (group IN CASE WHEN container:Role THEN [] ELSE [container] END |
  MERGE (subject)-[link:MEMBER_OF]->(group)
  SET link.until = row.until, link.root = CASE WHEN row.until IS NOT NULL THEN $root END)
FOREACH (role IN CASE WHEN container:Role THEN [container] ELSE [] END |
  MERGE (subject)-[link:HAS_ROLE]->(role)
  SET link.until = row.until, link.root = CASE WHEN row.until IS NOT NULL THEN $root END)
WITH count(*) AS joined
FOREACH (entry IN $log | CREATE (change:Change {root: $root}) SET change += entry)
RETURN joined
