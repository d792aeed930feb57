// replica_proof.cypher: the marks of a tenant, and what has changed since the revision of a copy of its facts. They prove
// that the copy is current, or bring it up to date.
// $root   STRING   'metalake:ml'
// $now    INTEGER  null for the server's clock, or the seconds since 1970
// $after  INTEGER  11, the revision of the copy
// $limit  INTEGER  100, the maximum number of entries
// Returns at most one row: revision INTEGER, begun INTEGER, made STRING, chain STRING, policy STRING (its digest), due
// BOOLEAN (a fact has ended and must be removed first), entries LIST OF MAP (the log after that revision, oldest first:
// revision, facts (their number; null if they are not recorded), added, removed (LIST OF STRING, canonical statements,
// or null), parts (the number of :Delta nodes that hold them instead, or null), renamed (of a rename or a move, instead
// of facts: the former and the new reference; or null), upgrade BOOLEAN, pruned (of a pruning,
// the revision of the newest removed entry; otherwise null))
// In Neo4j Browser run this line first, then the whole file:
// :params {root: 'metalake:ml', now: null, after: 0, limit: 20}
MATCH (mark:Revision {root: $root})
// read the marks first: a change that was committed before this reading is then already in the log
WITH mark.revision AS revision, mark.begun AS begun, coalesce(mark.made, '') AS made, coalesce(mark.chain, '') AS chain,
  mark.digest AS policy, coalesce(mark.ends <= coalesce($now, datetime.realtime().epochSeconds), false) AS due
RETURN revision, begun, made, chain, policy, due,
  // nothing has changed since: the log is not searched, because that would take longer than all the rest
  CASE revision WHEN $after THEN [] ELSE COLLECT {
    MATCH (change:Change {root: $root}) WHERE change.revision > $after
    WITH change ORDER BY change.root, change.revision LIMIT toInteger($limit)
    RETURN {revision: change.revision, facts: change.facts, added: change.added, removed: change.removed,
      parts: change.parts, renamed: change.renamed, upgrade: change.policy_after IS NOT NULL, pruned: change.pruned_revision}
  } END AS entries
