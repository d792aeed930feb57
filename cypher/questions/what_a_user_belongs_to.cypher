// what_a_user_belongs_to.cypher: what does a subject belong to? Every group and role, direct or through others, with
// the shortest path.
// Leaves out: other paths to the same group or role; and what is granted to them.
// $subject  STRING  'user:bob', or a group or role
// $root     STRING  'metalake:ml'
// Returns rows: principal STRING, type STRING, direct BOOLEAN, path PATH, says STRING (why a row has no answer), due
// BOOLEAN (facts have ended, but are still stored; run `grantpath expire`)
// In Neo4j Browser run this line first, then the whole file:
// :params {subject: 'user:bob', root: 'metalake:ml'}
OPTIONAL MATCH (subject:Entity {root: $root, ref: $subject}) WHERE coalesce(subject.exists, true)
OPTIONAL CALL (subject) {
  // 1 every group and role, direct or through others
  MATCH (subject)-[:MEMBER_OF|HAS_ROLE*1..]->(principal)
  WITH DISTINCT subject, principal
  // 2 the shortest path to it
  CALL (subject, principal) {
    MATCH path = (subject)-[:MEMBER_OF|HAS_ROLE]->(principal) RETURN path
  UNION ALL
    WITH subject, principal WHERE NOT EXISTS { (subject)-[:MEMBER_OF|HAS_ROLE]->(principal) }
    MATCH path = SHORTEST 1 (subject)-[:MEMBER_OF|HAS_ROLE]->+(principal) RETURN path
  }
  RETURN principal, path
}
RETURN principal.ref AS principal, principal.type AS type, length(path) = 1 AS direct, path,
  CASE WHEN subject IS NULL THEN $subject + ' does not exist in ' + $root
    WHEN principal IS NULL THEN $subject + ' belongs to nothing' END AS says,
  EXISTS { (mark:Revision {root: $root}) WHERE mark.ends <= datetime.realtime().epochSeconds } AS due
ORDER BY principal
