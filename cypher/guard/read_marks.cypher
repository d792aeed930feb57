// read_marks.cypher: the marks of a tenant: its revision, the revision that a writer is about to commit, and the load in
// progress.
// $root  STRING   'metalake:ml'
// $now   INTEGER  null for the server's clock, or the seconds since 1970
// Returns at most one row: revision INTEGER, begun INTEGER, made STRING, loading STRING, what STRING, policy STRING
// (its digest), due BOOLEAN (a fact has ended and must be removed first)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', now: null}
MATCH (mark:Revision {root: $root})
RETURN mark.revision AS revision, mark.begun AS begun, coalesce(mark.made, '') AS made, mark.loading AS loading,
  mark.loading_what AS what, mark.digest AS policy,
  coalesce(mark.ends <= coalesce($now, datetime.realtime().epochSeconds), false) AS due
