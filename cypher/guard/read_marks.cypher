// read_marks.cypher: the marks of a tenant: its revision, the revision that a writer is about to commit, and the load in
// progress.
// $root  STRING  'metalake:ml'
// Returns at most one row: revision INTEGER, begun INTEGER, made STRING, loading STRING, what STRING, policy STRING
// (its digest)
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml'}
MATCH (mark:Revision {root: $root})
RETURN mark.revision AS revision, mark.begun AS begun, coalesce(mark.made, '') AS made, mark.loading AS loading,
  mark.loading_what AS what, mark.digest AS policy
