// list_memberships.cypher: the groups and roles that a subject belongs to, in byte order: one page.
// Returns one row: known LIST OF STRING ($ref, if it is in the graph), answer LIST OF MAP (path: for each container a
// shortest path from the member to the container; until: the end of a direct membership, or null), revision, begun,
// revision_after, begun_after, due BOOLEAN (a fact has ended and must be removed first), policy STRING (the digest of
// the tenant's policy), made STRING (the creation id; it differs if the tenant was recreated)
// $root    STRING          'metalake:ml'
// $now     INTEGER         null for the server's clock, or the seconds since 1970
// $ref     STRING          'user:bob'
// $all     BOOLEAN         false: only direct ones; true: also those through other groups and roles
// $hidden  LIST OF STRING  [], references that answers omit
// $after   STRING          '', or the last container of the previous page
// $limit   INTEGER         1000
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', now: null, ref: 'user:bob', all: true, hidden: [], after: '', limit: 1000}
MATCH (before:Revision {root: $root})
WITH before.revision AS revision, before.begun AS begun
CALL () {
  MATCH (entity:Entity {root: $root, ref: $ref})
  RETURN collect(entity.ref) AS known
}
CALL () {
  MATCH (member:Entity {root: $root, ref: $ref})
  CALL (member) {
    // 1 the direct ones, or all: each entity is visited once
    WITH member WHERE NOT $all
    MATCH (member)-[:MEMBER_OF|HAS_ROLE]->(container)
    RETURN DISTINCT container
  UNION ALL
    WITH member WHERE $all
    MATCH (member)-[:MEMBER_OF|HAS_ROLE*1..]->(container)
    RETURN DISTINCT container
  }
  // 2 the page
  WITH member, container WHERE container.ref > $after AND coalesce(container.exists, true) AND NOT container.ref IN $hidden
  WITH member, container ORDER BY container.ref LIMIT toInteger($limit)
  CALL (member, container) {
    // 3 the shortest path; a direct membership is tested first, because in a wide group a search costs more
    WITH * WHERE EXISTS { (member)-[:MEMBER_OF|HAS_ROLE]->(container) }
    RETURN [member.ref, container.ref] AS path,
      head(COLLECT { MATCH (member)-[link:MEMBER_OF|HAS_ROLE]->(container) RETURN link.until }) AS until
  UNION ALL
    WITH * WHERE NOT EXISTS { (member)-[:MEMBER_OF|HAS_ROLE]->(container) }
    MATCH way = SHORTEST 1 (member)-[:MEMBER_OF|HAS_ROLE]->*(container)
    RETURN [entity IN nodes(way) | entity.ref] AS path, null AS until
  }
  WITH container.ref AS ref, path, until ORDER BY ref
  RETURN collect({path: path, until: until}) AS answer
}
MATCH (after:Revision {root: $root})
RETURN known, answer, revision, begun, after.revision AS revision_after, after.begun AS begun_after,
  coalesce(after.ends <= coalesce($now, datetime.realtime().epochSeconds), false) AS due,
  after.digest AS policy, after.made AS made
