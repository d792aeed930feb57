// tenant_state.cypher: all entities and edges of a small tenant: everything on which its decisions depend.
// $root  STRING  'metalake:ml'
// Returns one row: entities LIST OF MAP (ref, type, exists, builtin), edges LIST OF MAP (kind, source, target,
// privilege), revision, begun, revision_after, begun_after
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml'}
MATCH (before:Revision {root: $root})
WITH before.revision AS revision, before.begun AS begun
CALL () {
  MATCH (entity:Entity {root: $root})
  RETURN collect({ref: entity.ref, type: entity.type, exists: coalesce(entity.exists, true),
                  builtin: coalesce(entity.builtin, false)}) AS entities
}
CALL () {
  MATCH (source:Entity {root: $root})-[edge:MEMBER_OF|HAS_ROLE|ALLOW|DENY|OWNS|TAGGED]->(target)
  RETURN collect({kind: type(edge), source: source.ref, target: target.ref, privilege: edge.privilege}) AS edges
}
MATCH (after:Revision {root: $root})
RETURN entities, edges, revision, begun, after.revision AS revision_after, after.begun AS begun_after
