// join.cypher: a subject joins a group, or holds a role.
// $root       STRING  'metalake:ml'
// $subject    STRING  'user:bob'
// $container  STRING  'role:analyst'
// Returns one row: link STRING
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', subject: 'user:bob', container: 'role:analyst'}
MATCH (subject:Entity {root: $root, ref: $subject})
MATCH (container:Entity {root: $root, ref: $container})
FOREACH (group IN CASE WHEN container:Role THEN [] ELSE [container] END | MERGE (subject)-[:MEMBER_OF]->(group))
FOREACH (role IN CASE WHEN container:Role THEN [container] ELSE [] END | MERGE (subject)-[:HAS_ROLE]->(role))
RETURN CASE WHEN container:Role THEN 'HAS_ROLE' ELSE 'MEMBER_OF' END AS link
