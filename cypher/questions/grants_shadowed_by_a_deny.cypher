// grants_shadowed_by_a_deny.cypher: which ALLOWs have no effect for anyone, because a DENY overrides them? The
// DENY is of the same privilege, to the grantee, its groups or its roles, on the same object or above.
// Leaves out: DENYs that override an ALLOW only for some members of the grantee (see which_deny_stops_a_user); DENYs by
// another name of the privilege, or on a tag; policies in which grants are not inherited; and that the DENY can end.
// $root  STRING  'metalake:ml'
// Returns rows: subject STRING, privilege STRING, object STRING, denied_to STRING, denied_on STRING, path PATH (the
// ALLOW), deny PATH, says STRING (why a row has no answer), due BOOLEAN (facts have ended, but are still stored; run
// `grantpath expire`)
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
  // 2 the DENYs to these
  UNWIND principals AS denied
  MATCH deny = (denied)-[no:DENY]->(place)
  // 3 the ALLOWs of the same privilege there and below
  MATCH path = (subject)-[yes:ALLOW {privilege: no.privilege}]->(object)
  WHERE EXISTS { (object)-[:CHILD_OF*0..]->(place) }
  RETURN subject, yes, object, denied, place, path, deny
}
RETURN subject.ref AS subject, yes.privilege AS privilege, object.ref AS object, denied.ref AS denied_to, place.ref AS denied_on, path, deny,
  CASE WHEN mark IS NULL THEN 'there is no root ' + $root
    WHEN yes IS NULL THEN 'no ALLOW is shadowed by a DENY' END AS says,
  coalesce(mark.ends <= datetime.realtime().epochSeconds, false) AS due
ORDER BY subject, object, privilege, denied_to, denied_on
