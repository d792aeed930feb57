// leave.cypher: a subject leaves a group, or gives a role back.
// $root       STRING  'metalake:ml'
// $subject    STRING  'user:bob'
// $container  STRING  'role:analyst'
// Returns one row: left INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', subject: 'user:bob', container: 'role:analyst'}
MATCH (:Entity {root: $root, ref: $subject})-[link:MEMBER_OF|HAS_ROLE]->(:Entity {root: $root, ref: $container})
DELETE link
RETURN count(*) AS left
