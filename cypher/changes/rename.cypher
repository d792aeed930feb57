// rename.cypher: gives an entity another reference, and everything below it the references that follow from it. With a new parent, it
// also moves the entity there. All edges stay. Names without edges that are in the way are removed.
// $root    STRING  'metalake:ml'
// $ref     STRING  'schema:hr.public'
// $to      STRING  'schema:hr.open', the new reference
// $name    STRING  'open', its last segment, unquoted
// $former  STRING  'hr.public', with which the paths below the entity begin, until now
// $path    STRING  'hr.open', with which they begin from now on
// $parent  STRING  the reference of the new parent, or null if the entity stays where it is
// Returns one row: renamed INTEGER (entities and names)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', ref: 'schema:hr.public', to: 'schema:hr.open', name: 'open', former: 'hr.public', path: 'hr.open', parent: null}
CALL () {
  MATCH (idle:Entity)-[:CHILD_OF*0..]->(:Entity {root: $root, ref: $to})
  DETACH DELETE idle
}
MATCH (top:Entity {root: $root, ref: $ref})
CALL (top) {
  MATCH (inner:Entity)-[:CHILD_OF*1..]->(top)
  SET inner.ref = inner.type + ':' + $path + substring(inner.ref, size(inner.type) + 1 + size($former))
  RETURN count(inner) AS below
}
SET top.ref = $to, top.name = $name
WITH top, below
CALL (top) {
  MATCH (parent:Entity {root: $root, ref: $parent})
  MATCH (top)-[edge:CHILD_OF]->()
  DELETE edge
  CREATE (top)-[:CHILD_OF]->(parent)
}
RETURN below + 1 AS renamed
