// join.cypher: makes subjects members of groups or holders of roles.
// $root  STRING       'metalake:ml'
// $rows  LIST OF MAP  subject, container (the group or role)
// $log   LIST OF MAP  the entries of the log about these rows, as audit_write.cypher takes them; [] if they are written apart
// Returns one row: joined INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', rows: [{subject: 'user:bob', container: 'role:analyst'}], log: []}
UNWIND $rows AS row
MATCH (subject:Entity {root: $root, ref: row.subject})
MATCH (container:Entity {root: $root, ref: row.container})
FOREACH (group IN CASE WHEN container:Role THEN [] ELSE [container] END | MERGE (subject)-[:MEMBER_OF]->(group))
FOREACH (role IN CASE WHEN container:Role THEN [container] ELSE [] END | MERGE (subject)-[:HAS_ROLE]->(role))
WITH count(*) AS joined
FOREACH (entry IN $log | CREATE (change:Change {root: $root}) SET change += entry)
RETURN joined
