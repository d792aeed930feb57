// tenant_sizes.cypher: the numbers of entities, edges and changes of a tenant.
// $root  STRING  'metalake:ml'
// Returns one row: subjects INTEGER, objects INTEGER, members INTEGER, owners INTEGER, tags INTEGER, grants INTEGER, changes INTEGER
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml'}
CALL () {
  MATCH (entity:Entity {root: $root})
  WHERE entity.ref >= '' // always true, so that the index on (root, ref) is used
  RETURN count(CASE WHEN entity:Subject THEN 1 END) AS subjects, count(CASE WHEN entity:Subject THEN null ELSE 1 END) AS objects,
    sum(COUNT { (entity)-[:MEMBER_OF|HAS_ROLE]->() }) AS members, sum(COUNT { (entity)-[:OWNS]->() }) AS owners,
    sum(COUNT { (entity)-[:TAGGED]->() }) AS tags,
    sum(COUNT { (entity)-[:ALLOW|DENY]->() }) AS grants
}
RETURN subjects, objects, members, owners, tags, grants, COUNT { MATCH (change:Change {root: $root}) WHERE change.revision > 0 } AS changes
