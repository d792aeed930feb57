// grant.cypher: a subject is granted a privilege on an object, with ALLOW or DENY.
// $root       STRING  'metalake:ml'
// $effect     STRING  'ALLOW'
// $privilege  STRING  'SELECT_TABLE'
// $object     STRING  'table:hr.public.staff'
// $subject    STRING  'role:analyst'
// Returns one row: effect STRING
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', effect: 'ALLOW', privilege: 'SELECT_TABLE', object: 'table:hr.public.staff', subject: 'role:analyst'}
MATCH (subject:Entity {root: $root, ref: $subject})
MATCH (object:Entity {root: $root, ref: $object})
FOREACH (each IN CASE $effect WHEN 'ALLOW' THEN [1] ELSE [] END | MERGE (subject)-[:ALLOW {privilege: $privilege}]->(object))
FOREACH (each IN CASE $effect WHEN 'DENY' THEN [1] ELSE [] END | MERGE (subject)-[:DENY {privilege: $privilege}]->(object))
RETURN $effect AS effect
