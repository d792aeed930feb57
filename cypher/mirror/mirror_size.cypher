// mirror_size.cypher: the size of a tenant, to choose how it is mirrored: counts at most $most entities, and the facts of these.
// $root  STRING   'metalake:ml'
// $most  INTEGER  200000, the maximum number of entities to count
// Returns one row: entities INTEGER, facts INTEGER (memberships, grants, ownerships and tags)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', most: 200000}
CALL () {
  MATCH (entity:Entity {root: $root})
  WHERE entity.ref >= '' // always true, so that the index on (root, ref) is used
  RETURN entity LIMIT toInteger($most)
}
RETURN count(entity) AS entities,
       sum(COUNT { (entity)-[:MEMBER_OF]->() } + COUNT { (entity)-[:HAS_ROLE]->() } + COUNT { (entity)-[:ALLOW]->() } +
           COUNT { (entity)-[:DENY]->() } + COUNT { (entity)-[:OWNS]->() } + COUNT { (entity)-[:TAGGED]->() }) AS facts
