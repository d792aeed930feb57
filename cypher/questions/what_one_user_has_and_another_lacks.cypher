// what_one_user_has_and_another_lacks.cypher: what is granted to one subject and not to another, each with its groups
// and roles? A grant is left out if the other has the same one on the same object or above.
// Leaves out: whether a grant is in effect; ownership; privileges that imply others; and policies in which grants are
// not inherited.
// $subject  STRING  'user:bob'
// $other    STRING  'user:ann', the other subject
// $root     STRING  'metalake:ml'
// Returns rows: effect STRING (ALLOW or DENY), privilege STRING, object STRING, principal STRING (the grantee),
// membership PATH, path PATH, says STRING (why a row has no answer)
// In Neo4j Browser run this line first, then the whole file:
// :params {subject: 'user:bob', other: 'user:ann', root: 'metalake:ml'}
OPTIONAL MATCH (subject:Entity {root: $root, ref: $subject}) WHERE coalesce(subject.exists, true)
OPTIONAL MATCH (other:Entity {root: $root, ref: $other}) WHERE coalesce(other.exists, true)
OPTIONAL CALL (subject, other) {
  // 1 the groups and roles of the subject, and those of the other
  CALL (subject) { MATCH (subject)-[:MEMBER_OF|HAS_ROLE*0..]->(principal) RETURN collect(DISTINCT principal) AS own }
  CALL (other) { MATCH (other)-[:MEMBER_OF|HAS_ROLE*0..]->(principal) RETURN collect(DISTINCT principal) AS others }
  // 2 the grants to the first, which the second has neither there nor above
  UNWIND [principal IN own WHERE NOT principal IN others] AS principal
  MATCH path = (principal)-[grant:ALLOW|DENY]->(object)
  WHERE NOT EXISTS {
    MATCH (object)-[:CHILD_OF*0..]->()<-[same:ALLOW|DENY {privilege: grant.privilege}]-(grantee)
    WHERE grantee IN others AND type(same) = type(grant) }
  CALL (subject, principal) { MATCH membership = SHORTEST 1 (subject)-[:MEMBER_OF|HAS_ROLE]->*(principal) RETURN membership }
  RETURN principal, grant, object, membership, path
}
RETURN type(grant) AS effect, grant.privilege AS privilege, object.ref AS object, principal.ref AS principal, membership, path,
  CASE WHEN subject IS NULL THEN $subject + ' does not exist in ' + $root WHEN other IS NULL THEN $other + ' does not exist in ' + $root
    WHEN grant IS NULL THEN $other + ' has every grant of ' + $subject END AS says
ORDER BY object, privilege, effect, principal
