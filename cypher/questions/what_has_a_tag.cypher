// what_has_a_tag.cypher: which objects have a tag, themselves or by an object above them?
// Leaves out: whether the policy inherits tags; if it does not, only the objects whose `place` is the object itself have it.
// $tag   STRING  'tag:pii'
// $type  STRING  'table', or '' for every type
// $root  STRING  'metalake:ml'
// Returns rows: object STRING, type STRING, place STRING (the object that is tagged: this one, or one above it), path
// PATH (from the object to the tag), says STRING (why a row has no answer), due BOOLEAN (facts have ended, but are
// still stored; run `grantpath expire`)
// In Neo4j Browser run this line first, then the whole file:
// :params {tag: 'tag:pii', type: '', root: 'metalake:ml'}
OPTIONAL MATCH (tag:Entity {root: $root, ref: $tag})
OPTIONAL CALL (tag) {
  MATCH (place)-[:TAGGED]->(tag)
  MATCH path = (object)-[:CHILD_OF*0..]->(place)-[:TAGGED]->(tag)
  WHERE (object.type = $type OR $type = '') AND coalesce(object.exists, true)
  RETURN object, place, path
}
RETURN object.ref AS object, object.type AS type, place.ref AS place, path,
  CASE WHEN tag IS NULL THEN $tag + ' does not exist in ' + $root WHEN object IS NULL THEN 'nothing has ' + $tag END AS says,
  EXISTS { (mark:Revision {root: $root}) WHERE mark.ends <= datetime.realtime().epochSeconds } AS due
ORDER BY object, place
