// grants_implied_by_another.cypher: which ALLOWs are not needed, because the same privilege is granted to the same
// subject, its groups or its roles, on the same object or above?
// Leaves out: privileges that imply others; ownership; policies in which grants are not inherited; and that a membership by
// which the subject has the other ALLOW can end. The other ALLOW itself does not end earlier.
// $root  STRING  'metalake:ml'
// Returns rows: subject STRING, privilege STRING, object STRING, granted_to STRING, granted_on STRING (of the other
// ALLOW), path PATH, implied_by PATH, says STRING (why a row has no answer), due BOOLEAN (facts have ended, but are
// still stored; run `grantpath expire`)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml'}
OPTIONAL MATCH (mark:Revision {root: $root})
OPTIONAL CALL (mark) {
  // 1 the subjects with an ALLOW, each with its groups and roles
  MATCH (subject:Entity {root: $root}) WHERE subject.ref >= '' AND EXISTS { (subject)-[:ALLOW]->() }
  CALL (subject) {
    MATCH (subject)-[:MEMBER_OF|HAS_ROLE*0..]->(principal)
    RETURN collect(DISTINCT principal) AS principals
  }
  // 2 the ALLOWs to these
  UNWIND principals AS other
  MATCH implied_by = (other)-[wide:ALLOW]->(place)
  // 3 the ALLOWs of the same privilege to the subject, there and below
  MATCH path = (subject)-[narrow:ALLOW {privilege: wide.privilege}]->(object)
  WHERE narrow <> wide AND (wide.until IS NULL OR wide.until >= narrow.until) AND EXISTS { (object)-[:CHILD_OF*0..]->(place) }
  RETURN subject, narrow, object, other, place, path, implied_by
}
RETURN subject.ref AS subject, narrow.privilege AS privilege, object.ref AS object, other.ref AS granted_to, place.ref AS granted_on,
  path, implied_by, CASE WHEN mark IS NULL THEN 'there is no root ' + $root
    WHEN narrow IS NULL THEN 'no ALLOW is implied by another' END AS says,
  coalesce(mark.ends <= datetime.realtime().epochSeconds, false) AS due
ORDER BY subject, object, privilege, granted_to, granted_on
