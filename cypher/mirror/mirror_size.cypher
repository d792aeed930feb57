// mirror_size.cypher: the number of entities and facts that a mirror of a tenant reads, as far as it is at most about a limit.
// $root  STRING   'metalake:ml'
// $most  INTEGER  200000, the number of entities to count; their facts are counted, too
// Returns one row: entities INTEGER, facts INTEGER (memberships, grants and ownerships)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', most: 200000}
CALL () {
  MATCH (entity:Entity {root: $root})
  WHERE entity.ref >= '' // always true, so that the index on (root, ref) is used
  RETURN entity LIMIT toInteger($most)
}
RETURN count(entity) AS entities,
       sum(COUNT { (entity)-[:MEMBER_OF]->() } + COUNT { (entity)-[:HAS_ROLE]->() } + COUNT { (entity)-[:ALLOW]->() } +
           COUNT { (entity)-[:DENY]->() } + COUNT { (entity)-[:OWNS]->() }) AS facts
