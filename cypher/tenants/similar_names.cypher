// similar_names.cypher: the names of a type that are next to a name in byte order, for "did you mean" hints.
// $root   STRING   'metalake:ml'
// $type   STRING   'table'
// $ref    STRING   'table:hr.public.stuff'
// $limit  INTEGER  25, the number of names before it, and after it
// Returns one row: known LIST OF STRING (those that exist, with the name itself if it exists)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', type: 'table', ref: 'table:hr.public.stuff', limit: 25}
CALL () {
  MATCH (entity:Entity {root: $root}) WHERE entity.ref <= $ref AND $type + ':' < entity.ref < $type + ';'
  WITH entity ORDER BY entity.root DESC, entity.ref DESC LIMIT toInteger($limit)
  RETURN entity
UNION
  MATCH (entity:Entity {root: $root}) WHERE entity.ref > $ref AND $type + ':' < entity.ref < $type + ';'
  WITH entity ORDER BY entity.root, entity.ref LIMIT toInteger($limit)
  RETURN entity
}
WITH entity WHERE coalesce(entity.exists, true)
RETURN collect(entity.ref) AS known
