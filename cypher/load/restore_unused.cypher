// restore_unused.cypher: tests whether a tenant is unchanged since its creation, so that a dump can be restored into it.
// $root  STRING  'metalake:ml'
// $top   STRING  'metalake:ml', the root object
// Returns one row: revision INTEGER, unused BOOLEAN (it has only built-in entities and no history)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', top: 'metalake:ml'}
MATCH (mark:Revision {root: $root})
RETURN mark.revision AS revision, NOT (
  EXISTS { MATCH (entity:Entity {root: $root}) WHERE entity.ref >= '' AND entity.ref <> $top AND NOT coalesce(entity.builtin, false) }
  OR EXISTS { MATCH (change:Change {root: $root}) WHERE change.revision >= 0 }
  OR EXISTS { MATCH (refusal:Refusal {root: $root}) WHERE refusal.revision >= 0 }
  OR EXISTS { MATCH (request:Request {root: $root}) WHERE request.id >= '' }) AS unused
