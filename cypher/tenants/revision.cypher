// revision.cypher: the revision of a tenant.
// $root  STRING   'metalake:ml'
// $now   INTEGER  null for the server's clock, or the seconds since 1970
// Returns one row: revision INTEGER, begun INTEGER, revision_after INTEGER, begun_after INTEGER (the same two values,
// because it is a single read), due BOOLEAN (a fact has ended and must be removed first), ends INTEGER (the seconds since
// 1970 before which no fact ends; null if none has an end), policy STRING (the digest of the tenant's policy), made STRING
// (the creation id; it differs if the tenant was recreated)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', now: null}
MATCH (mark:Revision {root: $root})
RETURN mark.revision AS revision, mark.begun AS begun, mark.revision AS revision_after, mark.begun AS begun_after,
  coalesce(mark.ends <= coalesce($now, datetime.realtime().epochSeconds), false) AS due,
  mark.ends AS ends, mark.digest AS policy, mark.made AS made
