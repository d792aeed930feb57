// objects_without_an_owner.cypher: which objects have no owner? With the nearest owner above each.
// Leaves out: whether the policy gives objects of the type an owner at all.
// $type  STRING  'table', or '' for every type
// $root  STRING  'metalake:ml'
// Returns rows: object STRING, owner_above STRING (null if there is none), place STRING (the object above it with that
// owner), says STRING (why a row has no answer), due BOOLEAN (facts have ended, but are still stored; run `grantpath
// expire`)
// In Neo4j Browser run this line first, then the whole file:
// :params {type: 'table', root: 'metalake:ml'}
OPTIONAL MATCH (mark:Revision {root: $root})
OPTIONAL CALL (mark) {
  // 1 the objects of the type without an owner
  MATCH (object:Entity:Securable {root: $root}) WHERE object.type IN [$type, CASE $type WHEN '' THEN object.type END] AND object.ref >= ''
    AND coalesce(object.exists, true) AND NOT EXISTS { (object)<-[:OWNS]-() }
  // 2 the nearest owner above
  OPTIONAL CALL (object) {
    MATCH tree = (object)-[:CHILD_OF*1..]->(place)<-[:OWNS]-(owner)
    RETURN place, owner ORDER BY length(tree), owner.ref LIMIT 1
  }
  RETURN object, place, owner
}
RETURN object.ref AS object, owner.ref AS owner_above, place.ref AS place, CASE WHEN mark IS NULL THEN 'there is no root ' + $root
    WHEN object IS NULL THEN 'no such object is without an owner' END AS says,
  coalesce(mark.ends <= datetime.realtime().epochSeconds, false) AS due
ORDER BY object
