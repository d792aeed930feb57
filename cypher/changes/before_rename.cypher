// before_rename.cypher: what must be known before an entity is renamed or moved: what is below it, the facts of all this, and whether the
// new reference is free.
// $root  STRING   'metalake:ml'
// $ref   STRING   'schema:hr.public'
// $to    STRING   'schema:hr.open', its new reference
// $most  INTEGER  100000, the maximum number of facts; one more is returned if there are more
// $long  INTEGER  400, the number of characters from which references are returned
// Returns one row: refs LIST OF STRING (the entity, and what is below it), facts LIST (for each fact: 'ENTITY', 'MEMBER', 'OWNS', 'TAGGED', 'ALLOW' or 'DENY', and its
// privilege, subject, object and end, or null; at most $most + 1), lengths LIST (the types of the entities, each with a
// number of entities above one), long LIST OF STRING (the references that have at least $long characters), taken
// BOOLEAN (something with the new reference, or below it, has an edge, perhaps a name that was never created)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', ref: 'schema:hr.public', to: 'schema:hr.open', most: 100000, long: 400}
MATCH (inner:Entity)-[:CHILD_OF*0..]->(:Entity {root: $root, ref: $ref})
WITH collect(inner) AS all
CALL (all) {
  UNWIND all AS inner
  CALL (inner) {
    WITH inner WHERE coalesce(inner.exists, true)
    RETURN 'ENTITY' AS fact, null AS privilege, null AS subject, inner.ref AS object, null AS until
  UNION
    MATCH (inner)-[edge:MEMBER_OF|HAS_ROLE|OWNS|TAGGED|ALLOW|DENY]->(end)
    RETURN CASE WHEN edge:MEMBER_OF OR edge:HAS_ROLE THEN 'MEMBER' ELSE type(edge) END AS fact, edge.privilege AS privilege,
      inner.ref AS subject, end.ref AS object, edge.until AS until
  UNION
    MATCH (start)-[edge:MEMBER_OF|HAS_ROLE|OWNS|TAGGED|ALLOW|DENY]->(inner)
    RETURN CASE WHEN edge:MEMBER_OF OR edge:HAS_ROLE THEN 'MEMBER' ELSE type(edge) END AS fact, edge.privilege AS privilege,
      start.ref AS subject, inner.ref AS object, edge.until AS until
  }
  WITH fact, privilege, subject, object, until LIMIT toInteger($most) + 1
  RETURN collect([fact, privilege, subject, object, until]) AS facts
}
CALL (all) {
  UNWIND all AS inner
  WITH DISTINCT inner.type AS type, COUNT { (inner)-[:CHILD_OF*1..]->() } AS length
  RETURN collect([type, length]) AS lengths
}
RETURN [inner IN all | inner.ref] AS refs, facts, lengths, [inner IN all WHERE size(inner.ref) >= $long | inner.ref] AS long,
  EXISTS { (:Entity {root: $root, ref: $to})<-[:CHILD_OF*0..]-()-[:MEMBER_OF|HAS_ROLE|OWNS|ALLOW|DENY]-() } AS taken
