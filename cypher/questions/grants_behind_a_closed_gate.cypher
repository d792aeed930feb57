// grants_behind_a_closed_gate.cypher: which ALLOWs have no effect for the grantee, because it does not pass the gate
// on the object or above it? The gate is a privilege on the objects of a type, e.g. USE_CATALOG on a catalog; the grantee passes it if it
// has the privilege there or above, itself or through its groups and roles, and no DENY of it.
// Leaves out: members of the grantee that pass the gate by another group or role, for whom the ALLOW has effect; and
// owners, who need no gate in some policies. Ask check_by_name for a decision.
// $gate  STRING  'USE_CATALOG', the privilege that opens the gate
// $type  STRING  'table', or 'catalog': the type of the objects that have the gate
// $root  STRING  'metalake:ml'
// Returns rows: subject STRING, privilege STRING, object STRING, gate_on STRING (the object with the gate), denied
// BOOLEAN (the gate is closed by a DENY), path PATH, tree PATH, says STRING (why a row has no answer), due BOOLEAN
// (facts have ended, but are still stored; run `grantpath expire`)
// In Neo4j Browser run this line first, then the whole file:
// :params {gate: 'USE_CATALOG', type: 'table', root: 'metalake:ml'}
OPTIONAL MATCH (mark:Revision {root: $root})
OPTIONAL CALL (mark) {
  // 1 the subjects with an ALLOW, each with its groups and roles
  MATCH (subject:Entity {root: $root}) WHERE subject.ref >= '' AND EXISTS { (subject)-[:ALLOW]->() }
  CALL (subject) {
    MATCH (subject)-[:MEMBER_OF|HAS_ROLE*0..]->(principal)
    RETURN collect(DISTINCT principal) AS principals
  }
  // 2 their ALLOWs on or below an object of the gate's type
  MATCH path = (subject)-[grant:ALLOW]->(object) WHERE grant.privilege <> $gate
  MATCH tree = (object)-[:CHILD_OF*0..]->(place {type: $type})
  // 3 their ALLOWs and DENYs of the gate's privilege, there or above
  WITH *, COLLECT {
    MATCH (place)-[:CHILD_OF*0..]->(above)<-[one:ALLOW|DENY {privilege: $gate}]-(principal) WHERE principal IN principals
    RETURN DISTINCT type(one) } AS effects
  WHERE 'DENY' IN effects OR NOT 'ALLOW' IN effects
  RETURN subject, grant, object, place, path, tree, 'DENY' IN effects AS denied
}
RETURN subject.ref AS subject, grant.privilege AS privilege, object.ref AS object, place.ref AS gate_on, denied, path, tree,
  CASE WHEN mark IS NULL THEN 'there is no root ' + $root
    WHEN grant IS NULL THEN 'no ALLOW is behind a closed gate ' + $gate + ' of a ' + $type END AS says,
  coalesce(mark.ends <= datetime.realtime().epochSeconds, false) AS due
ORDER BY subject, object, privilege
