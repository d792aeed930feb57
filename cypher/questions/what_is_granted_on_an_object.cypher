// what_is_granted_on_an_object.cypher: what is granted on an object, by ALLOW, DENY and ownership, there and above it?
// Leaves out: what is granted on tags; and whether a grant is in effect: in some policies grants are not inherited, and conditions and DENYs decide.
// Ask who_by_name for a decision.
// $object  STRING  'table:hr.public.staff'
// $root    STRING  'metalake:ml'
// Returns rows: effect STRING (ALLOW, DENY or OWNS), privilege STRING (null for OWNS), subject STRING, place STRING
// (where it is granted), inherited BOOLEAN (the place is above the object), path PATH, tree PATH, says STRING (why a
// row has no answer)
// In Neo4j Browser run this line first, then the whole file:
// :params {object: 'table:hr.public.staff', root: 'metalake:ml'}
OPTIONAL MATCH (object:Entity {root: $root, ref: $object})
OPTIONAL CALL (object) {
  // 1 the object and what is above it
  MATCH tree = (object)-[:CHILD_OF*0..]->(place)
  // 2 the grants and owners there
  MATCH path = (subject)-[grant:ALLOW|DENY|OWNS]->(place)
  RETURN tree, place, path, subject, grant
}
RETURN type(grant) AS effect, grant.privilege AS privilege, subject.ref AS subject, place.ref AS place, place <> object AS inherited,
  path, tree, CASE WHEN object IS NULL THEN $object + ' does not exist in ' + $root
    WHEN grant IS NULL THEN 'nothing is granted on ' + $object + ' or above it' END AS says
ORDER BY length(tree), effect, privilege, subject
