// leave.cypher: removes memberships in groups and roles.
// $root  STRING       'metalake:ml'
// $rows  LIST OF MAP  subject, container (the group or role)
// $log   LIST OF MAP  the entries of the log about these rows, as audit_write.cypher takes them; [] if they are written apart
// Returns one row: left INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', rows: [{subject: 'user:bob', container: 'role:analyst'}], log: []}
UNWIND $rows AS row
MATCH (:Entity {root: $root, ref: row.subject})-[link:MEMBER_OF|HAS_ROLE]->(:Entity {root: $root, ref: row.container})
DELETE link
WITH count(*) AS left
FOREACH (entry IN $log | CREATE (change:Change {root: $root}) SET change += entry)
RETURN left
