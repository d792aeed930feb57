// objects_without_any_grant.cypher: which objects have neither a grant nor an owner, there or above?
// Leaves out: grants on tags and below the object; and what the policy allows to everyone.
// $type  STRING  'table', or '' for every type
// $root  STRING  'metalake:ml'
// Returns rows: object STRING, path PATH (the object with everything above it), says STRING (why a row has no answer),
// due BOOLEAN (facts have ended, but are still stored; run `grantpath expire`)
// In Neo4j Browser run this line first, then the whole file:
// :params {type: 'table', root: 'metalake:ml'}
OPTIONAL MATCH (mark:Revision {root: $root})
OPTIONAL CALL (mark) {
  // 1 the objects of the type, each with everything above it
  MATCH (object:Entity:Securable {root: $root}) WHERE object.type IN [$type, CASE $type WHEN '' THEN object.type END] AND object.ref >= ''
    AND coalesce(object.exists, true)
  MATCH path = (object)-[:CHILD_OF*0..]->(top) WHERE NOT EXISTS { (top)-[:CHILD_OF]->() }
  // 2 without an ALLOW, a DENY or an owner on any of these
    AND none(place IN nodes(path) WHERE EXISTS { (place)<-[:ALLOW|DENY|OWNS]-() })
  RETURN object, path
}
RETURN object.ref AS object, path, CASE WHEN mark IS NULL THEN 'there is no root ' + $root
    WHEN object IS NULL THEN 'no such object is without grants and owners' END AS says,
  coalesce(mark.ends <= datetime.realtime().epochSeconds, false) AS due
ORDER BY object
