// affected_facts.cypher: the facts that an upgrade can add or remove. The upgrade's delta is the difference between these facts before it and after it.
// $root    STRING       'metalake:ml'
// $scopes  LIST OF MAP  at (a number), kind ('entity': one entity and its edges; 'inside': also its subtree; 'edge': the
//                       edges from one entity to another), object and subject (references, or null)
// Returns one row per fact: at INTEGER, fact STRING ('ENTITY', 'MEMBER', 'OWNS', 'TAGGED', 'ALLOW' or 'DENY'),
// privilege STRING (or null), subject STRING (null for an entity), object STRING, until STRING (its end, or null)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', scopes: [{at: 0, kind: 'inside', object: 'catalog:hr', subject: null}]}
UNWIND $scopes AS scope
CALL (scope) {
  CALL (scope) {
    WITH scope WHERE scope.kind = 'inside'
    MATCH (inner:Entity)-[:CHILD_OF*0..]->(:Entity {root: $root, ref: scope.object})
    RETURN inner
  UNION
    WITH scope WHERE scope.kind = 'entity'
    MATCH (inner:Entity {root: $root, ref: scope.object})
    RETURN inner
  }
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
  RETURN fact, privilege, subject, object, until
UNION
  WITH scope WHERE scope.kind = 'edge'
  MATCH (start:Entity {root: $root, ref: scope.subject})-[edge:MEMBER_OF|HAS_ROLE|OWNS|TAGGED|ALLOW|DENY]->(end:Entity {root: $root, ref: scope.object})
  RETURN CASE WHEN edge:MEMBER_OF OR edge:HAS_ROLE THEN 'MEMBER' ELSE type(edge) END AS fact, edge.privilege AS privilege,
    start.ref AS subject, end.ref AS object, edge.until AS until
}
RETURN scope.at AS at, fact, privilege, subject, object, until
