// list_entities.cypher: the existing entities of a type, in byte order: one page.
// Returns one row: known LIST OF STRING (those of $needed that are in the graph), answer LIST OF STRING, revision,
// begun, revision_after, begun_after, due BOOLEAN (a fact has ended and must be removed first), policy STRING (the
// digest of the tenant's policy), made STRING (the creation id; it differs if the tenant was recreated)
// $root           STRING          'metalake:ml'
// $now            INTEGER         null for the server's clock, or the seconds since 1970
// $needed         LIST OF STRING  ['schema:hr.public'], the references that the filters name
// $type           STRING          'table'
// $under          STRING          '', or a place: only entities below it
// $owner          STRING          '', or a subject: only entities that it owns
// $without_owner  BOOLEAN         whether only those without an owner are listed
// $like           STRING          '', or a text: only entities with it in their reference, after the type, in upper or lower case
// $hidden         LIST OF STRING  [], references that answers omit
// $after          STRING          '', or the last reference of the previous page
// $limit          INTEGER         1000
// In Neo4j Browser run this first, without the slashes, then the whole file:
// :params {root: 'metalake:ml', now: null, needed: ['schema:hr.public'], type: 'table', under: 'schema:hr.public', owner: '',
//   without_owner: false, like: '', hidden: [], after: '', limit: 1000}
MATCH (before:Revision {root: $root})
WITH before.revision AS revision, before.begun AS begun
CALL () {
  UNWIND $needed AS ref MATCH (entity:Entity {root: $root, ref: ref})
  RETURN collect(ref) AS known
}
CALL () {
  CALL () {
    // 1 where to look: at what the owner owns; otherwise below the place
    UNWIND [ref IN [$owner] WHERE ref <> ''] AS ref
    MATCH (:Entity {root: $root, ref: ref})-[:OWNS]->(entity) WHERE entity.type = $type
      AND ($under = '' OR EXISTS { (entity)-[:CHILD_OF*1..]->(:Entity {root: $root, ref: $under}) })
    RETURN entity
  UNION ALL
    UNWIND [ref IN [$under] WHERE ref <> '' AND $owner = ''] AS ref
    MATCH (:Entity {root: $root, ref: ref})<-[:CHILD_OF*1..]-(entity) WHERE entity.type = $type
    RETURN entity
  UNION ALL
    // otherwise at all entities of the type, in the order of the index and no further than the page: the filters of
    // step 2 are here, too, because the limit counts only what is listed
    UNWIND [type IN [$type] WHERE $owner = '' AND $under = ''] AS type
    CALL (type) {
      MATCH (entity:Entity {root: $root}) WHERE entity.ref > $after AND type + ':' < entity.ref < type + ';'
        AND coalesce(entity.exists, true) AND NOT entity.ref IN $hidden
        AND toLower(substring(entity.ref, size(type) + 1)) CONTAINS toLower($like)
        AND NOT ($without_owner AND EXISTS { (entity)<-[:OWNS]-() })
      RETURN entity ORDER BY entity.root, entity.ref LIMIT toInteger($limit)
    }
    RETURN entity
  }
  // 2 the filters
  WITH entity WHERE entity.ref > $after AND coalesce(entity.exists, true) AND NOT entity.ref IN $hidden
    AND toLower(substring(entity.ref, size($type) + 1)) CONTAINS toLower($like)
    AND NOT ($without_owner AND EXISTS { (entity)<-[:OWNS]-() })
  // 3 the page
  WITH entity.ref AS ref ORDER BY ref LIMIT toInteger($limit)
  RETURN collect(ref) AS answer
}
MATCH (after:Revision {root: $root})
RETURN known, answer, revision, begun, after.revision AS revision_after, after.begun AS begun_after,
  coalesce(after.ends <= coalesce($now, datetime.realtime().epochSeconds), false) AS due,
  after.digest AS policy, after.made AS made
