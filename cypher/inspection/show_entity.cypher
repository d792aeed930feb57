// show_entity.cypher: one entity: its type, its owner, and how many edges of each kind it has.
// Returns one row: known LIST OF STRING ($ref, if it is in the graph), entity MAP (type, exists, builtin, owner; the
// numbers of its direct members, memberships, grants_on, grants_to, owns, tags and tagged; tag_refs and tagged_refs:
// the first 50 of its tags, and of what it is a tag of; children: a list of pairs of type and number), revision, begun,
// revision_after, begun_after, due BOOLEAN (a fact has ended and must be removed first), policy STRING (the digest of
// the tenant's policy), made STRING (the creation id; it differs if the tenant was recreated)
// $root    STRING          'metalake:ml'
// $now     INTEGER         null for the server's clock, or the seconds since 1970
// $ref     STRING          'table:hr.public.staff'
// $hidden  LIST OF STRING  [], references that answers omit
// $beside  LIST OF STRING  [], for the root: the types whose entities are not in the tree, such as user, and count as its children
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', now: null, ref: 'table:hr.public.staff', hidden: [], beside: []}
MATCH (before:Revision {root: $root})
WITH before.revision AS revision, before.begun AS begun
CALL () {
  CALL () {
    MATCH (child)-[:CHILD_OF]->(:Entity {root: $root, ref: $ref})
    RETURN child
  UNION ALL
    UNWIND $beside AS type
    MATCH (child:Entity {root: $root}) WHERE child.ref STARTS WITH type + ':'
    RETURN child
  }
  WITH child WHERE coalesce(child.exists, true) AND NOT child.ref IN $hidden
  WITH child.type AS type, count(*) AS number ORDER BY type
  RETURN collect([type, toString(number)]) AS children
}
CALL (children) {
  OPTIONAL MATCH (entity:Entity {root: $root, ref: $ref})
  RETURN collect(entity.ref) AS known, head(collect({
    type: entity.type, exists: coalesce(entity.exists, true), builtin: coalesce(entity.builtin, false),
    owner: head([(owner)-[:OWNS]->(entity) | owner.ref]),
    members: COUNT { (member)-[:MEMBER_OF|HAS_ROLE]->(entity) WHERE coalesce(member.exists, true) },
    memberships: COUNT { (entity)-[:MEMBER_OF|HAS_ROLE]->(container) WHERE NOT container.ref IN $hidden },
    grants_on: COUNT { (subject)-[:ALLOW|DENY]->(entity) WHERE NOT subject.ref IN $hidden },
    grants_to: COUNT { (entity)-[:ALLOW|DENY]->(object) WHERE NOT object.ref IN $hidden },
    owns: COUNT { (entity)-[:OWNS]->() },
    tags: COUNT { (entity)-[:TAGGED]->() },
    tagged: COUNT { (entity)<-[:TAGGED]-() },
    tag_refs: COLLECT { MATCH (entity)-[:TAGGED]->(tag) RETURN tag.ref ORDER BY tag.ref LIMIT 50 },
    tagged_refs: COLLECT { MATCH (entity)<-[:TAGGED]-(tagged) RETURN tagged.ref ORDER BY tagged.ref LIMIT 50 },
    children: children
  })) AS entity
}
MATCH (after:Revision {root: $root})
RETURN known, entity, revision, begun, after.revision AS revision_after, after.begun AS begun_after,
  coalesce(after.ends <= coalesce($now, datetime.realtime().epochSeconds), false) AS due,
  after.digest AS policy, after.made AS made
