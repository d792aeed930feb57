// nearest_common_role.cypher: which groups and roles do two subjects share, the nearest first?
// Leaves out: what is granted to them; and longer paths to the same group or role.
// $subject  STRING  'user:bob'
// $other    STRING  'user:ann', the other subject
// $root     STRING  'metalake:ml'
// Returns rows: principal STRING, type STRING, steps INTEGER (memberships on both paths), path PATH (from the subject),
// other_path PATH (from the other), says STRING (why a row has no answer), due BOOLEAN (facts have ended, but are still
// stored; run `grantpath expire`)
// In Neo4j Browser run this line first, then the whole file:
// :params {subject: 'user:bob', other: 'user:ann', root: 'metalake:ml'}
OPTIONAL MATCH (subject:Entity {root: $root, ref: $subject}) WHERE coalesce(subject.exists, true)
OPTIONAL MATCH (other:Entity {root: $root, ref: $other}) WHERE coalesce(other.exists, true)
OPTIONAL CALL (subject, other) {
  // 1 the groups and roles of the subject, and those of the other
  CALL (subject) { MATCH (subject)-[:MEMBER_OF|HAS_ROLE*0..]->(principal) RETURN collect(DISTINCT principal) AS own }
  CALL (other) { MATCH (other)-[:MEMBER_OF|HAS_ROLE*0..]->(principal) RETURN collect(DISTINCT principal) AS others }
  // 2 the common ones, with the shortest path from each
  UNWIND [principal IN own WHERE principal IN others] AS principal
  CALL (subject, principal) { MATCH path = SHORTEST 1 (subject)-[:MEMBER_OF|HAS_ROLE]->*(principal) RETURN path }
  CALL (other, principal) { MATCH other_path = SHORTEST 1 (other)-[:MEMBER_OF|HAS_ROLE]->*(principal) RETURN other_path }
  RETURN principal, path, other_path
}
RETURN principal.ref AS principal, principal.type AS type, length(path) + length(other_path) AS steps, path, other_path,
  CASE WHEN subject IS NULL THEN $subject + ' does not exist in ' + $root WHEN other IS NULL THEN $other + ' does not exist in ' + $root
    WHEN principal IS NULL THEN 'they have no group or role in common' END AS says,
  EXISTS { (mark:Revision {root: $root}) WHERE mark.ends <= datetime.realtime().epochSeconds } AS due
ORDER BY steps, principal
