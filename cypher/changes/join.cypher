// join.cypher: makes subjects members of groups or holders of roles.
// $root  STRING       'metalake:ml'
// $rows  LIST OF MAP  subject, container (the group or role)
// Returns one row: joined INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', rows: [{subject: 'user:bob', container: 'role:analyst'}]}
UNWIND $rows AS row
MATCH (subject:Entity {root: $root, ref: row.subject})
MATCH (container:Entity {root: $root, ref: row.container})
FOREACH (group IN CASE WHEN container:Role THEN [] ELSE [container] END | MERGE (subject)-[:MEMBER_OF]->(group))
FOREACH (role IN CASE WHEN container:Role THEN [container] ELSE [] END | MERGE (subject)-[:HAS_ROLE]->(role))
RETURN count(*) AS joined
