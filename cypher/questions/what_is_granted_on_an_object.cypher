// what_is_granted_on_an_object.cypher: what is granted on an object, by ALLOW, DENY and ownership, there and above it,
// and by grants on the tags there?
// Leaves out: whether a grant is in effect: in some policies grants are not inherited, and conditions and DENYs decide.
// Ask who_by_name for a decision.
// $object  STRING  'table:hr.public.staff'
// $root    STRING  'metalake:ml'
// Returns rows: effect STRING (ALLOW, DENY or OWNS), privilege STRING (null for OWNS), subject STRING, place STRING
// (where it is granted: an object or a tag), inherited BOOLEAN (by something above the object), path PATH, tree PATH
// (from the object to the place), says STRING (why a row has no answer), due BOOLEAN (facts have ended, but are still
// stored; run `grantpath expire`)
// In Neo4j Browser run this line first, then the whole file:
// :params {object: 'table:hr.public.staff', root: 'metalake:ml'}
OPTIONAL MATCH (object:Entity {root: $root, ref: $object})
OPTIONAL MATCH (fact:RuleFact:RulePart {root: $root}) WHERE fact.fact STARTS WITH 'ALLOW ' AND fact.fact CONTAINS '#'
WITH object, collect(fact.fact) AS by_tag
OPTIONAL CALL (object, by_tag) {
  // 1 the object and what is above it, and their tags
  MATCH tree = (object)-[:CHILD_OF*0..]->(above)-[:TAGGED*0..1]->(place)
  // 2 the grants and owners there; of those on a tag, the grants that count for what has it
  MATCH path = (subject)-[grant:ALLOW|DENY|OWNS]->(place)
  WHERE place = above OR 'ALLOW ' + grant.privilege + '#' + place.type + ' ' + above.type IN by_tag
  RETURN tree, above, place, path, subject, grant
}
RETURN type(grant) AS effect, grant.privilege AS privilege, subject.ref AS subject, place.ref AS place, above <> object AS inherited,
  path, tree, CASE WHEN object IS NULL THEN $object + ' does not exist in ' + $root
    WHEN grant IS NULL THEN 'nothing is granted on ' + $object + ', above it, or on a tag there' END AS says,
  EXISTS { (mark:Revision {root: $root}) WHERE mark.ends <= datetime.realtime().epochSeconds } AS due
ORDER BY length(tree), place, effect, privilege, subject
