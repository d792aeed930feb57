// preconditions.cypher: the state of the graph that some changes depend on: the marks of the tenant, which are read
// first, the existing entities, and the state of each object.
// $root     STRING          'metalake:ml'
// $now      INTEGER         null for the server's clock, or the seconds since 1970
// $refs     LIST OF STRING  ['table:hr.public.staff', 'role:analyst'], all entities that the changes name
// $top      STRING          'metalake:ml', the reference of the root object
// $joining  LIST OF STRING  ['group:readers'], subjects that become members and can have members themselves
// $changes  LIST OF MAP     index (in this list), object, subject (which gains or loses something, or the tag; null for
//                           add and drop), edge ('ALLOW', 'DENY', 'OWNS', 'MEMBER' of a group or a role, 'TAGGED', 'NONE'),
//                           privilege (or null)
// Returns one row: existing LIST OF STRING, states LIST OF MAP (the state for each change: index, of the change; edge,
// whether it exists; until, when it ends, or null; owner, of the object; owning, something that the object owns; above,
// those of $joining that the object is, or is a member of, directly or through others), root_owner STRING (the owner of
// the root object, or null), revision INTEGER, begun INTEGER, made STRING, loading STRING, policy STRING (its digest;
// if the tenant does not exist, made is '' and the other four are null), due BOOLEAN (a fact has ended and must be
// removed first), now INTEGER (the time by the server's clock)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', now: null, refs: ['table:hr.public.staff', 'role:analyst'], top: 'metalake:ml', joining: [], changes: [{index: 0, object: 'table:hr.public.staff', subject: 'role:analyst', edge: 'ALLOW', privilege: 'SELECT_TABLE'}]}
OPTIONAL MATCH (mark:Revision {root: $root})
WITH mark.revision AS revision, mark.begun AS begun, coalesce(mark.made, '') AS made, mark.loading AS loading,
  mark.digest AS policy, coalesce(mark.ends <= coalesce($now, datetime.realtime().epochSeconds), false) AS due
CALL () {
  UNWIND $refs AS ref
  MATCH (entity:Entity {root: $root, ref: ref}) WHERE coalesce(entity.exists, true)
  RETURN collect(ref) AS existing
}
CALL () {
  OPTIONAL MATCH (:Entity {root: $root, ref: $top})<-[:OWNS]-(owner)
  RETURN owner.ref AS root_owner
}
CALL () {
  UNWIND $changes AS change
  OPTIONAL MATCH (object:Entity {root: $root, ref: change.object})
  OPTIONAL MATCH (subject:Entity {root: $root, ref: change.subject})
  // the closure is in its own subquery: inside COLLECT it would not be pruned, and would follow every path
  CALL (change, object) {
    WITH object WHERE change.edge = 'MEMBER' AND change.subject IN $joining
    MATCH (object)-[:MEMBER_OF|HAS_ROLE*0..]->(above)
    WITH DISTINCT above WHERE above.ref IN $joining
    RETURN collect(above.ref) AS above
  }
  RETURN collect({
    index: change.index,
    edge: CASE change.edge
      WHEN 'MEMBER' THEN EXISTS { (subject)-[:MEMBER_OF|HAS_ROLE]->(object) }
      WHEN 'ALLOW' THEN EXISTS { (subject)-[:ALLOW {privilege: change.privilege}]->(object) }
      WHEN 'TAGGED' THEN EXISTS { (object)-[:TAGGED]->(subject) }
      WHEN 'DENY' THEN EXISTS { (subject)-[:DENY {privilege: change.privilege}]->(object) }
      ELSE false END,
    until: CASE change.edge
      WHEN 'MEMBER' THEN head(COLLECT { MATCH (subject)-[link:MEMBER_OF|HAS_ROLE]->(object) RETURN link.until })
      WHEN 'ALLOW' THEN head(COLLECT { MATCH (subject)-[grant:ALLOW {privilege: change.privilege}]->(object) RETURN grant.until })
      WHEN 'DENY' THEN head(COLLECT { MATCH (subject)-[grant:DENY {privilege: change.privilege}]->(object) RETURN grant.until }) END,
    owner: CASE change.edge WHEN 'OWNS' THEN head(COLLECT { MATCH (owner:Subject)-[:OWNS]->(object) RETURN owner.ref }) END,
    owning: CASE change.edge WHEN 'NONE' THEN head(COLLECT { MATCH (object)-[:OWNS]->(owned) RETURN owned.ref LIMIT 1 }) END,
    above: above
  }) AS states
}
RETURN existing, states, root_owner, revision, begun, made, loading, policy, due,
  coalesce($now, datetime.realtime().epochSeconds) AS now
