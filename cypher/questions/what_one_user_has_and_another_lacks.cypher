// what_one_user_has_and_another_lacks.cypher: what is granted to one subject and not to another, each with its groups
// and roles? A grant is left out if the other has the same one on the same object or above.
// Leaves out: whether a grant is in effect; ownership; privileges that imply others; and policies in which grants are
// not inherited.
// $subject  STRING  'user:bob'
// $other    STRING  'user:ann', the other subject
// $root     STRING  'metalake:ml'
// Returns rows: effect STRING (ALLOW or DENY), privilege STRING, object STRING, principal STRING (the grantee),
// membership PATH, path PATH, says STRING (why a row has no answer), due BOOLEAN (facts have ended, but are still
// stored; run `grantpath expire`)
// In Neo4j Browser run this line first, then the whole file:
// :params {subject: 'user:bob', other: 'user:ann', root: 'metalake:ml'}
OPTIONAL MATCH (subject:Entity {root: $root, ref: $subject}) WHERE coalesce(subject.exists, true)
OPTIONAL MATCH (other:Entity {root: $root, ref: $other}) WHERE coalesce(other.exists, true)
OPTIONAL CALL (subject, other) {
  // 1 the groups and roles of the subject, and those of the other
  CALL (subject) { MATCH (subject)-[:MEMBER_OF|HAS_ROLE*0..]->(principal) RETURN collect(DISTINCT principal) AS own }
  CALL (other) { MATCH (other)-[:MEMBER_OF|HAS_ROLE*0..]->(principal) RETURN collect(DISTINCT principal) AS others }
  // 2 the objects of grants to the first, and what the second has there or above: read once for each place
  CALL (own, others) {
    UNWIND own AS principal
    MATCH (principal)-[:ALLOW|DENY]->(object) WHERE NOT principal IN others
    WITH DISTINCT others, object
    MATCH (object)-[:CHILD_OF*0..]->(place)
    WITH others, place, collect(object) AS objects
    CALL (others, place) {
      MATCH (place)<-[grant:ALLOW|DENY]-(grantee) WHERE grantee IN others
      RETURN collect(DISTINCT type(grant) + ' ' + grant.privilege) AS granted
    }
    UNWIND objects AS object
    RETURN object, collect(granted) AS also
  }
  // 3 the grants that the second does not have
  MATCH path = (principal)-[grant:ALLOW|DENY]->(object)
  WHERE principal IN own AND NOT principal IN others AND none(granted IN also WHERE type(grant) + ' ' + grant.privilege IN granted)
  CALL (subject, principal) {
    MATCH membership = (subject)-[:MEMBER_OF|HAS_ROLE]->(principal) RETURN membership
  UNION ALL
    WITH subject, principal WHERE NOT EXISTS { (subject)-[:MEMBER_OF|HAS_ROLE]->(principal) }
    MATCH membership = SHORTEST 1 (subject)-[:MEMBER_OF|HAS_ROLE]->*(principal) RETURN membership
  }
  RETURN principal, grant, object, membership, path
}
RETURN type(grant) AS effect, grant.privilege AS privilege, object.ref AS object, principal.ref AS principal, membership, path,
  CASE WHEN subject IS NULL THEN $subject + ' does not exist in ' + $root WHEN other IS NULL THEN $other + ' does not exist in ' + $root
    WHEN grant IS NULL THEN $other + ' has every grant of ' + $subject END AS says,
  EXISTS { (mark:Revision {root: $root}) WHERE mark.ends <= datetime.realtime().epochSeconds } AS due
ORDER BY object, privilege, effect, principal
