// leave.cypher: removes memberships in groups and roles.
// $root  STRING       'metalake:ml'
// $rows  LIST OF MAP  subject, container (the group or role)
// Returns one row: left INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', rows: [{subject: 'user:bob', container: 'role:analyst'}]}
UNWIND $rows AS row
MATCH (:Entity {root: $root, ref: row.subject})-[link:MEMBER_OF|HAS_ROLE]->(:Entity {root: $root, ref: row.container})
DELETE link
RETURN count(*) AS left
