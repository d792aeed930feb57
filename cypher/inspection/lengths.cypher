// lengths.cypher: which numbers of segments do the references of the entities of a type have? They are the numbers of
// entities above them.
// Returns one row: lengths LIST OF INTEGER (ascending), revision, begun, revision_after, begun_after, due BOOLEAN (a
// fact has ended and must be removed first), policy STRING (the digest of the tenant's policy), made STRING (the
// creation id; it differs if the tenant was recreated)
// $root  STRING  'metalake:ml'
// $now   INTEGER  null for the server's clock, or the seconds since 1970
// $type  STRING  'table'
// :params {root: 'metalake:ml', now: null, type: 'table'}
MATCH (before:Revision {root: $root})
WITH before.revision AS revision, before.begun AS begun
CALL () {
  MATCH (entity:Entity {root: $root}) WHERE entity.ref STARTS WITH $type + ':' AND coalesce(entity.exists, true)
  WITH DISTINCT COUNT { (entity)-[:CHILD_OF*1..]->() } AS length ORDER BY length
  RETURN collect(length) AS lengths
}
MATCH (after:Revision {root: $root})
RETURN lengths, revision, begun, after.revision AS revision_after, after.begun AS begun_after,
  coalesce(after.ends <= coalesce($now, datetime.realtime().epochSeconds), false) AS due,
  after.digest AS policy, after.made AS made
