// tenant_state.cypher: all entities and edges of a small tenant: everything on which its decisions depend.
// $root  STRING  'metalake:ml'
// $now   INTEGER  null for the server's clock, or the seconds since 1970
// Returns one row: entities LIST OF MAP (ref, type, exists, builtin), edges LIST OF MAP (kind, source, target,
// privilege), revision, begun, revision_after, begun_after, due BOOLEAN (a fact has ended and must be removed first)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', now: null}
MATCH (before:Revision {root: $root})
WITH before.revision AS revision, before.begun AS begun
CALL () {
  MATCH (entity:Entity {root: $root}) WHERE entity.ref >= '' // so that the index is used
  RETURN collect({ref: entity.ref, type: entity.type, exists: coalesce(entity.exists, true),
                  builtin: coalesce(entity.builtin, false)}) AS entities
}
CALL () {
  MATCH (source:Entity {root: $root})-[edge:MEMBER_OF|HAS_ROLE|ALLOW|DENY|OWNS|TAGGED]->(target) WHERE source.ref >= ''
  RETURN collect({kind: type(edge), source: source.ref, target: target.ref, privilege: edge.privilege}) AS edges
}
MATCH (after:Revision {root: $root})
RETURN entities, edges, revision, begun, after.revision AS revision_after, after.begun AS begun_after,
  coalesce(after.ends <= coalesce($now, datetime.realtime().epochSeconds), false) AS due
